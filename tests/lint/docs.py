"""The documents do not drift: each relative link leads to a file (and its #anchor to a heading), each `make` target that
they name exists, and each file named in code or documents as `directory/name.ext` is there."""

import re

import tree

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+\s+(.*?)\s*$", re.M)
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
MAKE = re.compile(r"(?:^|`|&& )make ([a-z][a-z-]*)", re.M)
TARGET = re.compile(r"^([a-z][a-z -]*):", re.M)
# A file of ours named in running text or a comment: only below directories that are ours, so that /etc/passwd is not meant.
NAMED = re.compile(r"(?<![\w/.-])((?:base|protocol|fs|sessions|runtime|container|tests|docs|deploy|examples|bench|sdk|\.ci)/"
                   r"[\w./-]*\w\.(?:cpp|hpp|c|py|md|sh|ts|yaml|json|proto))(?![\w/*])")
ADR = re.compile(r"docs/adr/(\d{4})(?![\w-]*\.md)")


def anchors(text):
    """The names that GitHub gives to the headings."""
    names = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        while name in names:
            name += "-1"
        names.add(name)
    return names


def broken_links(root, path, text):
    for target in LINK.findall(FENCE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        aim = (root / path.parent / file).resolve() if file else root / path
        if not aim.exists():
            yield f"{path}: the link {target} leads nowhere"
        elif anchor and aim.suffix == ".md" and anchor not in anchors(aim.read_text()):
            yield f"{path}: the link {target} names no heading"


def check(root):
    makefile = root / "Makefile"
    targets = set(" ".join(TARGET.findall(makefile.read_text())).split()) if makefile.exists() else set()
    documents = [path.relative_to(root) for path in sorted(root.glob("*.md"))]
    documents += tree.files(root, ["docs", "deploy", "examples", "bench", "sdk", "tests"], (".md",))
    for path in documents:
        text = (root / path).read_text()
        yield from broken_links(root, path, text)
        for name in MAKE.findall(text):
            if name not in targets:
                yield f"{path}: `make {name}`: there is no such target"
    code = tree.files(root, [*tree.LAYERS, "tests", "bench", "deploy", "examples", "sdk"], (".cpp", ".hpp", ".c", ".py", ".ts", ".yaml", ".txt"))
    for path in [*documents, *code]:
        if path.parts[:2] == ("tests", "lint"):
            continue
        for number, line in enumerate((root / path).read_text(errors="replace").splitlines(), 1):
            for named in NAMED.findall(LINK.sub("", line) if path.suffix == ".md" else line):
                if not (root / named).exists():
                    yield f"{path}:{number}: there is no {named}"
            for adr in ADR.findall(line):
                if not list((root / "docs/adr").glob(f"{adr}-*.md")):
                    yield f"{path}:{number}: there is no docs/adr/{adr}-*.md"


if __name__ == "__main__":
    tree.run(check)
