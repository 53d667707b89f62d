"""glob and grep over a large tree, compared with ripgrep; both must find the same."""

import json
import subprocess
from functools import cached_property
from pathlib import Path

from .processes import Failed, Folder, Server, run_tool

GLOB = "**/*.py"
GREP = r"needle_[0-9]+5\b"
# Options for the same search as skiffd's: two threads, and the tree's own ignore files, with or without a .git.
ALIKE = ("--no-config", "--no-require-git", "--no-ignore-global", "--no-messages", "--threads", "2")
IN_FOLDER = 100
KINDS = ("py", "c", "md", "txt", "log")  # the last is ignored
LINES = ("def work(self, value):", "    return value * 31 + 7", "# what the next lines do, and why",
         "for item in items:", "    total += item.size", "", "class Record(Base):", "    name = 'record'")


def make_tree(top: Path, count: int):
    """Creates the same tree each time: sources with a needle in every fiftieth, and in each tenth directory an ignored build/."""
    top.mkdir()
    (top / ".gitignore").write_text("build/\n*.log\n!keep.log\n")
    for number in range(count):
        folder = number // IN_FOLDER
        if number % IN_FOLDER == 0:
            last = "build" if folder % 10 == 9 else f"module{folder % 10}"
            place = top / f"package{folder // 10:03}" / last / f"part{folder % 7}"
            place.mkdir(parents=True)
        lines = [f"{LINES[(number + line) % len(LINES)]}  # {number * 131 + line}" for line in range(4 + number % 23)]
        if number % 50 == 7:
            lines.insert(len(lines) // 2, f"    needle_{number}5 = {number}")
        with open(f"{place}/file{number}.{KINDS[number % len(KINDS)]}", "w") as file:
            file.write("\n".join(lines) + "\n")


class Search:
    def __init__(self, folder: Folder, count: int):
        self.folder = folder
        self.count = count

    @cached_property
    def tree(self) -> Path:
        top = self.folder.files / "tree"
        make_tree(top, self.count)
        return top

    def _ripgrep(self, what: str) -> list[str]:
        asked = ("--files", "-g", GLOB) if what == "glob" else ("-n", "--no-heading", "-e", GREP)
        return [self.folder.installed("rg"), *ALIKE, *asked, str(self.tree)]

    @cached_property
    def _answers(self) -> dict[str, set[str]]:
        """Returns PATH for a glob, PATH:LINE:TEXT for a grep."""
        found = {}
        for what in ("glob", "grep"):
            out = subprocess.run(self._ripgrep(what), capture_output=True, text=True, check=True).stdout
            found[what] = {line.removeprefix(f"{self.tree.parent}/") for line in out.splitlines()}
        return found

    def ripgrep(self, what: str) -> dict:
        return {"ms": run_tool(self.folder, "bare_pipe", "--", *self._ripgrep(what))["seconds"] * 1e3}

    def skiff(self, what: str, server: Server) -> dict:
        pattern = "".join(f"%{byte:02X}" for byte in (GLOB if what == "glob" else GREP).encode())
        kept = self.folder.scratch / what
        path = f"/v1/sessions/default/files:{what}?path={self.tree.name}&limit=1000000&pattern={pattern}"
        took = server.load("fetch", path=path, file=kept)
        *records, summary = [json.loads(line) for line in kept.read_text().splitlines()]
        found = {one["path"] if what == "glob" else f"{one['path']}:{one['line_number']}:{one['text']}"
                 for one in records}
        wanted = self._answers[what]
        if not wanted or found != wanted or summary["truncated"] or len(found) != len(records):
            raise Failed(f"{what}: {len(found)} found, by ripgrep {len(wanted)}, for example "
                         f"{next(iter(found ^ wanted), 'all the same, but some twice')}")
        return {"ms": took["seconds"] * 1e3, "found": len(found)}
