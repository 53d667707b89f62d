"""The version stands in CMakeLists.txt alone, whence the build takes it: no other file repeats it but CHANGELOG.md, which must
have a heading for it or for what is not released yet."""

import re

import tree

PROJECT = re.compile(r"^project\(\w+ VERSION (\d+\.\d+\.\d+)\b", re.M)
SUFFIXES = (".cpp", ".hpp", ".c", ".py", ".md", ".txt", ".yaml", ".json", ".ts", ".sh", "")
FOLDERS = (*tree.LAYERS, "deploy", "docs", "examples", "sdk", "tests", "bench", ".ci")


def check(root):
    found = PROJECT.search((root / "CMakeLists.txt").read_text())
    if not found:
        yield "CMakeLists.txt: project() has no VERSION"
        return
    version = found[1]
    copy = re.compile(rf"(?<![\d.])v?{re.escape(version)}(?!\.?\d)")
    top = [path.relative_to(root) for path in sorted(root.iterdir()) if path.is_file() and path.suffix in SUFFIXES]
    for path in [*top, *tree.files(root, FOLDERS, SUFFIXES)]:
        if path.name in ("CHANGELOG.md", "CMakeLists.txt") and len(path.parts) == 1:
            continue
        if path.name == "package-lock.json":  # the versions of others
            continue
        for number, line in enumerate((root / path).read_text(errors="replace").splitlines(), 1):
            if copy.search(line):
                yield f"{path}:{number}: repeats the version {version}"
    changes = root / "CHANGELOG.md"
    heading = re.compile(rf"^## .*(?:Unreleased|(?<![\d.]){re.escape(version)}(?!\.?\d))", re.M)
    if changes.exists() and not heading.search(changes.read_text()):
        yield f"CHANGELOG.md: has no heading for {version}"


if __name__ == "__main__":
    tree.run(check)
