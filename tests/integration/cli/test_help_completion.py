"""`skiff help`, `skiff completion` and `skiff licenses`."""

import os
import pathlib
import shutil
import subprocess

import pytest

NOTICE = pathlib.Path(__file__).resolve().parents[3] / "NOTICE"


def bash_completes(skiff, line):
    """The words that bash offers for `line`, by the script as a user sources it."""
    script = f"""source <(skiff completion bash) || exit 1
        COMP_LINE={line!r}; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=($COMP_LINE); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
        compopt() {{ :; }}; _skiff; printf '%s\\n' "${{COMPREPLY[@]}}"; complete -p skiff >&2"""
    path = f"{os.path.dirname(skiff.program)}:{os.environ['PATH']}"
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, timeout=60, cwd=skiff.work,
                          env=skiff.environment(PATH=path))
    assert done.returncode == 0 and "-F _skiff skiff" in done.stderr, done
    return done.stdout.split()


def test_bash_completes_commands_flags_names_and_paths(skiff, box):
    (skiff.root() / "folder").mkdir()
    (skiff.root() / "folder/file").touch()
    (skiff.work / "local").touch()
    skiff("exec", "box", "--mode", "background", "--id", "job", "--", "true")
    assert bash_completes(skiff, "skiff des") == ["describe"]
    assert bash_completes(skiff, "skiff files l") == ["ls"]
    assert bash_completes(skiff, "skiff exec b") == ["box"]
    assert bash_completes(skiff, "skiff up --idle") == ["--idle-ttl"]
    assert bash_completes(skiff, "skiff ps -o y") == ["yaml"]
    assert bash_completes(skiff, "skiff logs box ") == ["job"]
    assert bash_completes(skiff, "skiff files cat box folder/") == ["folder/file"]
    assert bash_completes(skiff, "skiff cp box:fo") == ["folder/"]
    assert bash_completes(skiff, "skiff cp lo") == ["local"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_take_their_script(skiff, box, shell):
    script = skiff("completion", shell)[0]
    assert "skiff __complete" in script
    if shutil.which(shell):
        done = subprocess.run([shell, "-n"] if shell == "zsh" else [shell, "--no-execute"], input=script, text=True,
                              capture_output=True, timeout=60)
        assert done.returncode == 0, done


def test_help_reads_well(skiff, box):
    overview = skiff("--help")[0]
    names = [line.split("  ")[1] for line in overview.splitlines() if line.startswith("  ") and line[2] != " "]
    assert {"up", "exec", "files ls", "completion"} <= set(names)
    for name in names:
        text = skiff(*name.split(), "--help")[0]
        assert text.startswith(f"usage: skiff {name} [flags]"), text
        assert max(map(len, text.splitlines())) <= 110, text
        assert "--output FORMAT" in text
        assert skiff("help", *name.split())[0] == text


def test_the_help_lists_each_group_once(skiff):
    headings = [line for line in skiff("--help")[0].splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert "Access:" in headings and len(headings) == len(set(headings))


def test_it_prints_its_license_and_the_notices(skiff):
    out, _ = skiff("licenses")
    assert out.startswith("Licensed under the Apache License, Version 2.0") and out.endswith("\n" + NOTICE.read_text())
