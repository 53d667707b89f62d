"""The linters share this: the tree's files, and how findings are printed."""

import pathlib
import sys

LAYERS = ("base", "protocol", "fs", "sessions", "runtime", "container")
SOURCES = (".cpp", ".hpp", ".c", ".h")


def files(root, folders, suffixes):
    """The tree's files below `folders` whose names end so, as paths relative to `root`, sorted."""
    found = []
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in suffixes and path.is_file():
                found.append(path.relative_to(root))
    return found


def run(check):
    """Calls `check(root)`, prints what it found, one finding a line, and makes it the exit status."""
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    findings = list(check(root))
    for finding in findings:
        print(finding)
    print(f"{pathlib.Path(sys.argv[0]).stem}: {len(findings)} findings")
    sys.exit(1 if findings else 0)
