"""Runs the code on stdin as a notebook does: with `await` outside of functions."""

import pathlib
import sys

# At the end: a module there has the name of a package, `e2b`.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "integration"))

import documented  # noqa: E402

print(documented.run(sys.stdin.read())[0], end="")
