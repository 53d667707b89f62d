"""The quick starts of the README, line by line as a newcomer pastes them."""

import os
import pathlib

import tools
from launcher import Skiff
from readme import lines_after, run_each

def test_every_line_of_the_quick_start_prints_what_it_says(agent, tmp_path):
    lines = lines_after("quick start")
    assert lines[0].startswith("export URL=") and len(lines) > 10
    program = tools.websocat()
    prelude = [f"export URL={agent.url} TOKEN={agent.token}", f'PATH="$PATH:{pathlib.Path(program).parent}"', lines[1]]
    run_each(lines[2:], prelude, tmp_path)


def test_every_line_about_the_companion_prints_what_it_says(tmp_path):
    lines = lines_after("companion")
    assert lines[0].startswith("export PATH=") and len(lines) > 8
    skiff = Skiff(tmp_path)
    try:
        path = f"{pathlib.Path(skiff.program).parent}:{os.environ['PATH']}"
        run_each(lines[1:], [], skiff.work, env=skiff.environment(PATH=path))
    finally:
        skiff.finish()
