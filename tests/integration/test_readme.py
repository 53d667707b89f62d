"""The quick start of the README, line by line as a newcomer pastes it."""
import pathlib
import re
import subprocess

import tools

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"


def quick_start():
    text = README.read_text()
    return re.search(r"<!-- quick start.*?```sh\n(.*?)```", text, re.S).group(1).splitlines()


def test_every_line_of_the_quick_start_prints_what_it_says(agent, tmp_path):
    lines = quick_start()
    assert lines[0].startswith("export URL=") and len(lines) > 10
    program = tools.websocat()
    prelude = [f"export URL={agent.url} TOKEN={agent.token}", f'PATH="$PATH:{pathlib.Path(program).parent}"', lines[1]]
    for line in lines[2:]:
        command, _, expected = line.partition("# prints ")
        script = "\n".join([*prelude, command])
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, cwd=tmp_path)
        assert done.returncode == 0, (line, done)
        assert expected.strip() in done.stdout, (line, done.stdout, done.stderr)
