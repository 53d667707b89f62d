"""A file may include only what its layer and its room may use (tests/lint/rooms.py):

    base < protocol,  base < fs < sessions,  {protocol, sessions} < runtime,  protocol < container

and the heavy or foreign libraries only where they belong. And a source file includes its own header first: that it compiles
shows that its header compiles by itself, so the build checks only the headers without one (CMakeLists.txt)."""

import collections
import re

import rooms
import tree

# Beast's templates are most of the build time: few files may pay for them, and no header outside protocol/.
BEAST = re.compile(r"boost/beast[/.]")
MAX_BEAST_FILES = 10

# Processes and files know nothing of how they are spoken to.
FOREIGN = {
    "fs": re.compile(r"boost/beast[/.]|nlohmann/|openssl/ssl\.h"),
    "sessions": re.compile(r"boost/beast[/.]|nlohmann/|openssl/ssl\.h"),
}

MAX_FILES = 25  # in a room; one with more holds two concepts

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def includes(path):
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def misplaced(root, path):
    """Each directory of a layer is a room, but base, which is one."""
    if len(path.parts) > 2 and rooms.room_of(str(path)) == path.parts[0]:
        yield f"{path}: tests/lint/rooms.py has no row for {path.parent}/"


def crowded(root):
    """Each room holds few enough files to read their names at one glance."""
    counts = collections.Counter(path.parent for path in tree.files(root, tree.LAYERS, tree.SOURCES))
    for directory, count in sorted(counts.items()):
        if count > MAX_FILES:
            yield f"{directory}/: {count} files, more than {MAX_FILES}: split it by noun"


def check(root):
    yield from crowded(root)
    beast_files = []
    needed = set()
    for path in tree.files(root, tree.LAYERS, tree.SOURCES):
        layer, room = path.parts[0], rooms.room_of(str(path))
        uses_beast = False
        own = str(path.with_suffix(".hpp"))
        first = next(includes(root / path), (1, "", ""))
        yield from misplaced(root, path)
        if path.suffix == ".cpp" and (root / own).exists() and first[2] != own:
            yield f'{path}:{first[0]}: include "{own}" first'
        for number, quote, included in includes(root / path):
            at = f"{path}:{number}"
            target = included.split("/")[0]
            other = rooms.room_of(included) if target in rooms.LAYERS else None
            if (str(path), included) in rooms.EXCEPTIONS:
                needed.add((str(path), included))
            elif other and not rooms.may_use(room, other):
                yield f"{at}: {room}/ may not use {other}/ ({included})"
            if target == "tests" or included.startswith(".."):
                yield f"{at}: the product includes from its own directories, named from the top ({included})"
            if quote == '"' and target not in rooms.LAYERS:
                yield f'{at}: include "{included}" from the top of the tree ("directory/file.hpp")'
            if layer in FOREIGN and FOREIGN[layer].search(included):
                yield f"{at}: {layer}/ may not use {included}"
            if BEAST.search(included):
                uses_beast = True
                if layer != "protocol" and path.suffix != ".cpp":
                    yield f"{at}: Boost.Beast in a header outside protocol/ ({included})"
        if uses_beast:
            beast_files.append(path)
    if len(beast_files) > MAX_BEAST_FILES:
        names = ", ".join(map(str, beast_files))
        yield f"Boost.Beast is included by {len(beast_files)} files, more than {MAX_BEAST_FILES}: {names}"
    for path, included in rooms.EXCEPTIONS.keys() - needed:
        if (root / path).exists() and (root / included).exists():
            yield f"tests/lint/rooms.py: {path} does not include {included}"


if __name__ == "__main__":
    tree.run(check)
