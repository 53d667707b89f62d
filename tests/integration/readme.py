"""The blocks of commands in the README, as a newcomer pastes them."""

import pathlib
import re
import subprocess

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"


def lines_after(comment):
    return re.search(rf"<!-- {comment}:.*?```sh\n(.*?)```", README.read_text(), re.S).group(1).splitlines()


def run_each(lines, prelude, folder, **options):
    for line in lines:
        command, _, expected = line.partition("# prints ")
        script = "\n".join([*prelude, command])
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, cwd=folder, **options)
        assert done.returncode == 0, (line, done)
        assert expected.strip() in done.stdout, (line, done.stdout, done.stderr)
