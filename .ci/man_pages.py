"""Writes the manual pages skiff(1) and skiffd(8) from the programs' own help: `man_pages.py DIRECTORY SKIFF SKIFFD DATE`.

The help comes from the tables of commands and settings, so the pages say what the programs do."""

import pathlib
import re
import subprocess
import sys

ENTRY = re.compile(r"^  (?! )(\S.*?)(?:  +(\S.*))?$")  # a flag, a command or an example, and what is said of it on the same line


def escaped(text):
    return re.sub(r"^([.'])", r"\\&\1", text.replace("\\", "\\e").replace("-", "\\-"))


def help_of(program, *command):
    return subprocess.run([program, *command, "--help"], capture_output=True, text=True, check=True).stdout


def paragraphs(text):
    """The help in roff: headings, entries with their indented texts, examples, and plain paragraphs."""
    out, lines = [], text.splitlines()
    for number, line in enumerate(lines):
        before = lines[number - 1] if number else ""
        if not line.strip():
            continue
        entry = ENTRY.match(line)
        if re.match(r"^\S.*:$", line) and not line.startswith("usage"):
            out.append(f".SS {escaped(line[:-1])}")
        elif line.startswith("usage: ") or re.match(r"^ {7}skiff", line):
            out += [".nf", escaped(line.removeprefix("usage: ").strip()), ".fi"]
        elif entry and entry[2]:
            out += [".TP", f"\\fB{escaped(entry[1])}\\fR", escaped(entry[2])]
        elif entry and number + 1 < len(lines) and lines[number + 1].startswith(" " * 10):
            out += [".TP", f"\\fB{escaped(entry[1])}\\fR"]
        elif entry:
            out += [".RS", ".nf", escaped(line.strip()), ".fi", ".RE"]
        else:
            out += [".PP"] if not before.strip() and not line.startswith(" ") else []
            out.append(escaped(line.strip()))
    return out


def page(name, section, what, date, version, parts):
    head = [f'.TH {name.upper()} {section} "{date}" "{version}"', ".SH NAME", f"{name} \\- {escaped(what)}"]
    return "\n".join([*head, *parts]) + "\n"


def commands_of(text):
    """The names of the subcommands, from the general help."""
    groups = text.partition("usage:")[2].partition("\n\nOther names")[0]
    return [match[1] for match in re.finditer(r"^  ([a-z]+(?: [a-z]+)?)  +\S", groups, re.M)]


def launcher(program, date):
    general = help_of(program)
    common = "\nFlags of every command:"
    version = subprocess.run([program, "version"], capture_output=True, text=True, check=True).stdout.strip()
    parts = [".SH DESCRIPTION", *paragraphs(general)]
    last = ""
    for command in commands_of(general):
        last = help_of(program, *command.split())
        parts += [f".SH {escaped(f'skiff {command}').upper()}", *paragraphs(last.partition(common)[0])]
    parts += [".SH FLAGS OF EVERY COMMAND", *paragraphs("Flags of every command:" + last.partition(common)[2])]
    return page("skiff", 1, "sandboxes for AI agents", date, version, [*parts, ".SH SEE ALSO", ".BR skiffd (8)"])


def agent(program, date):
    version = subprocess.run([program, "version"], capture_output=True, text=True, check=True).stdout.strip()
    parts = [".SH DESCRIPTION", *paragraphs(help_of(program)), ".SH SEE ALSO", ".BR skiff (1)"]
    return page("skiffd", 8, "runs commands for AI agents in a sandbox", date, version, parts)


if __name__ == "__main__":
    directory, skiff, skiffd, when = pathlib.Path(sys.argv[1]), *sys.argv[2:]
    for name, text in ("man1/skiff.1", launcher(skiff, when)), ("man8/skiffd.8", agent(skiffd, when)):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
