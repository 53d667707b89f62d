"""NOTICE names each library of CMakeLists.txt, each whose headers a source includes, and each package of npm in the console's page."""

import json
import re

import tree

ARCHIVE = re.compile(r"\blib([\w+-]+)\.a\b")
ARCHIVES = re.compile(r"foreach\(archive ([\w\s-]+)\)")
PARTS = re.compile(r"\bOpenSSL::(\w+)")
LINKED = re.compile(r"(?:target_link_libraries|skiff_layer)\(([^)]*)\)")
HEADERS = re.compile(r"^#include <([\w-]+)/", re.M)
# The kernel's and the C library's own; and those of libraries that are linked under another name.
OF_THE_SYSTEM = {"sys", "linux", "netinet", "net", "arpa", "asm", "bits"}
LIBRARY_OF = {"openssl": "libssl", "boost": "headers boost/", "nlohmann": "headers nlohmann/"}


def linked(cmake):
    """The names of libraries, as in libNAME."""
    names = {name for name in ARCHIVE.findall(cmake)}
    for listed in ARCHIVES.findall(cmake):
        names |= set(listed.split())
    names |= {part.lower() for part in PARTS.findall(cmake)}
    for arguments in LINKED.findall(cmake):
        names |= {word for word in arguments.split()[1:] if re.fullmatch(r"[a-z][a-z0-9-]*", word)}
    return names


def check(root):
    notice = (root / "NOTICE").read_text()
    for name in sorted(linked((root / "CMakeLists.txt").read_text())):
        if not re.search(rf"\blib{re.escape(name)}\b", notice):
            yield f"CMakeLists.txt: lib{name} is linked, and NOTICE does not name it"
    for path in tree.files(root, tree.LAYERS, tree.SOURCES):
        for folder in HEADERS.findall((root / path).read_text()):
            wanted = LIBRARY_OF.get(folder, f"lib{folder}")
            if folder not in OF_THE_SYSTEM and wanted not in notice:
                yield f"{path}: includes <{folder}/...>, and NOTICE does not name {wanted}"
    page = root / "container/console/page/package.json"
    for name in json.loads(page.read_text())["dependencies"] if page.exists() else ():
        if not re.search(rf"(?<![\w@/-]){re.escape(name)}(?![\w/-])", notice):
            yield f"{page.relative_to(root)}: {name} is in the page, and NOTICE does not name it"


if __name__ == "__main__":
    tree.run(check)
