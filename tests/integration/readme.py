"""The blocks of commands in the documents, and a shell to paste them into as a newcomer does."""

import pathlib
import re
import subprocess

from terminal import Terminal

TREE = pathlib.Path(__file__).resolve().parents[2]
README = TREE / "README.md"
CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b\][^\x07]*\x07|\x1b[=>]|\x07|.\x08")


def blocks_after(name, document=README):
    """For each place marked `<!-- name... -->`: the lines of its `sh` block, and those of the `text` block that may follow,
    which says what they print."""
    pattern = rf"<!-- {name}\b[^\n]*-->\s*```sh\n(.*?)```(?:\s*```text\n(.*?)```)?"
    found = [(commands.splitlines(), printed.splitlines()) for commands, printed in re.findall(pattern, document.read_text(), re.S)]
    assert found, f"{document} has no block {name}"
    return found


def check_printed(expected, printed, commands):
    """Each expected line is one that was printed, in that order; `...` in it stands for anything."""
    lines = iter(printed)
    for line in expected:
        pattern = re.compile(".*".join(map(re.escape, line.split("..."))))
        assert not any(pattern.fullmatch(command) for command in commands), f"{line!r} is also what is typed"
        assert any(pattern.fullmatch(candidate) for candidate in lines), (line, printed)


def run_block(commands, expected, folder, **options):
    """Runs a block without a terminal, as a script that ends with the first failure."""
    done = subprocess.run(["bash", "-ec", "\n".join(commands)], capture_output=True, text=True, timeout=200, cwd=folder, **options)
    assert done.returncode == 0, done
    check_printed(expected, done.stdout.splitlines(), [])


class Pasting:
    """An interactive shell on a terminal. Its prompt tells how many lines it has taken, and the last one's status."""

    SHELLS = {"bash": (["bash", "--norc", "--noprofile", "-i"], r"PS1='<\#:$?> ' PS2='<more> '"),
              "zsh": (["zsh", "-f", "-i"], "PS1='<%h:%?> ' PS2='<more> '")}
    PROMPT = re.compile(r"<(\d+):(\d+)> ")

    def __init__(self, shell, folder, environment):
        program, prompt = self.SHELLS[shell]
        self.terminal = Terminal(subprocess.Popen, program, cols=1000, cwd=folder,
                                 env={**environment, "TERM": "xterm", "HISTFILE": "/dev/null"})
        self.number = 0
        self.type_line(prompt)

    def shown(self):
        return CONTROL.sub("", self.terminal.output.decode(errors="replace"))

    def prompted(self):
        """(number, status) of the newest prompt, or one that continues the line."""
        prompts = self.PROMPT.findall(self.shown())
        return tuple(map(int, prompts[-1])) if prompts else (0, 0)

    def type_line(self, line):
        """Types one line and waits until the shell wants another; its status."""
        self.terminal.type(line.encode() + b"\r")
        self.terminal.until(lambda: self.prompted()[0] > self.number, f"a prompt after {line!r}")
        self.number, status = self.prompted()
        return status

    def paste(self, lines):
        """Pastes them at once, as a terminal does that knows of bracketed paste, and types Enter."""
        return self.type_line("\x1b[200~" + "\r".join(lines) + "\x1b[201~")

    def lines(self, start):
        """The text that was shown after the first `start` characters."""
        return [line.strip() for line in re.split(r"[\r\n]+", self.shown()[start:])]

    def try_block(self, commands, expected, at_once):
        start = len(self.shown())
        if at_once:
            assert self.paste(commands) == 0, self.shown()[start:]
        else:
            for line in commands:
                assert self.type_line(line) == 0, (line, self.shown()[start:])
        shown = self.lines(start)
        for complaint in ("command not found", "no matches found", "curl: (", "parse error", "syntax error"):
            assert not any(complaint in line for line in shown), shown
        check_printed(expected, shown, commands)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.terminal.__exit__(*error)
