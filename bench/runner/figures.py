"""The results that are kept (docs/figures/*.json), and what is made of them: the tables of docs/figures.md and the plots beside
them. `bench/run --keep NAME` keeps a run, `bench/run --publish` makes the rest; tests/lint/figures.py compares."""

import json
import re
from pathlib import Path

from . import table
from .svg import Bar, Bars, bars

PAGE = Path("docs/figures.md")
KEPT = Path("docs/figures")
PLACE = re.compile(r"(<!-- run: ([a-z_]+) -->\n)(.*?)(<!-- end of run -->\n)", re.S)


def read(root: Path, name: str) -> dict:
    return json.loads((root / KEPT / f"{name}.json").read_text())


def keep(root: Path, name: str, result: dict):
    """Keeps a run without its samples."""
    kept = {"machine": result["machine"], "rows": result["rows"]}
    (root / KEPT / f"{name}.json").write_text(json.dumps(kept, indent=1) + "\n")


def as_text(kept: dict) -> str:
    if "columns" not in kept:
        return table.markdown(kept)
    lines = [kept["columns"], ["---"] * len(kept["columns"]), *kept["cells"]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines).replace("| --- ", "|---").replace("|--- |", "|---|")


def page(root: Path) -> str:
    """docs/figures.md with the tables of the kept runs."""
    return PLACE.sub(lambda found: found[1] + as_text(read(root, found[2])) + "\n" + found[4], (root / PAGE).read_text())


def number(cell: str) -> float:
    """The first number of a cell."""
    return float(re.match(r"[\d.,]+", cell)[0].replace(",", ""))


def beside_bare(kept: dict, title: str, more_is_better: bool) -> list[Bar]:
    """Each program's figure as a multiple of the bare server's of its run; programs that lack it are left out."""
    line = next(cells for cells in kept["cells"] if cells[0] == title)
    runs = next(cells for cells in kept["cells"] if cells[0] == "run")
    bare = {run: number(cell) for name, run, cell in zip(kept["columns"], runs, line) if name == "bare server"}
    found = [Bar(name, number(cell) / bare[run]) for name, run, cell in zip(kept["columns"][1:], runs[1:], line[1:])
             if name != "bare server" and cell[:1].isdigit()]
    return sorted(found, key=lambda bar: bar.value, reverse=more_is_better)


def plots(root: Path) -> dict[str, str]:
    """The SVG texts by the name of their files."""
    peers, launcher, requests = (read(root, name) for name in ("peers", "launcher", "requests"))
    of = {row["title"]: row for row in launcher["rows"]}
    idle = next(cells for cells in peers["cells"] if cells[0].startswith("memory, idle"))
    memory = [Bar(name, number(cell)) for name, cell in zip(peers["columns"], idle) if name not in ("", "bare server")]
    copies = [Bar(title.replace("`", "").replace("a large file", "1 GiB").replace("many small files", "a tree"), of[title]["ratio"])
              for title in of if of[title]["ratio"] and ("cp` of" in title or "exec" in title)]
    return {
        "commands.svg": bars(Bars("Time of one short command: multiples of a bare server's", "x",
                                  beside_bare(peers, "`sh -c true`, one client, p50 (ms)", False), most=5)),
        "output.svg": bars(Bars("Output of a command, streamed: share of a bare server's rate", "x",
                                beside_bare(peers, "streamed output (MB/s)", True))),
        "memory.svg": bars(Bars("Memory of an idle agent in MB", "MB", sorted(memory, key=lambda bar: bar.value))),
        "launcher.svg": bars(Bars("The launcher: time beside curl, or curl and tar", "x", copies)),
        "requests.svg": bars(Bars("Requests to the API server for a sandbox from a pool and its first command", "",
                                  [Bar(row["title"], row["requests"]) for row in requests["rows"]])),
    }


def publish(root: Path):
    (root / PAGE).write_text(page(root))
    for name, text in plots(root).items():
        (root / KEPT / name).write_text(text)
