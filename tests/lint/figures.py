"""The tables and pictures of docs/figures.md are those of the results that are kept: `bench/run --publish` makes them."""

import json
import sys
from pathlib import Path

import tree

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from runner import figures  # noqa: E402


def check(root):
    if not (root / figures.PAGE).exists():
        return
    try:
        made = figures.page(root)
        plots = figures.plots(root)
    except (OSError, ValueError, KeyError, json.JSONDecodeError) as error:
        yield f"{figures.KEPT}: {type(error).__name__}: {error}"
        return
    again = "`bench/run --publish` makes it again"
    if (root / figures.PAGE).read_text() != made:
        yield f"{figures.PAGE}: not what is kept in {figures.KEPT}: {again}"
    for name, text in plots.items():
        file = root / figures.KEPT / name
        if not file.exists() or file.read_text() != text:
            yield f"{figures.KEPT}/{name}: not what is kept beside it: {again}"
    for file in sorted((root / figures.KEPT).glob("*.svg")):
        if file.name not in plots:
            yield f"{figures.KEPT}/{file.name}: nothing makes it"


if __name__ == "__main__":
    tree.run(check)
