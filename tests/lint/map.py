"""docs/map.md is what tests/lint/rooms.py says and the tree holds: `SKIFF_UPDATE_DOCS=1 tests/lint/map.py` writes it."""

import os

import rooms
import tree

PAGE = "docs/map.md"
HEAD = """# Where everything is

Each layer is a directory at the top of the tree, and each room a directory in it. This page is generated from the plan in
`tests/lint/rooms.py`; the linter checks every `#include` against it. Run `SKIFF_UPDATE_DOCS=1 python3 tests/lint/map.py` after a change.

A layer may use the layers below it. A room may use the rooms that its row names. In the picture, what a room uses stands on lower
lines, except rooms inside it. Files directly in a layer's directory are its *top*; the picture leaves tops out.
`runtime` is skiffd, `container` is skiff. Tests mirror the tree: `tests/fs/content/write_test.cpp` tests
`fs/content/write.cpp`.

"""
WIDTH = 100  # columns of the picture
RUNTIME = 60  # of these
SESSIONS = 38


def present(root):
    """The rooms that the tree has, in the order of the plan; those of a `*` by name."""
    there = {rooms.room_of(str(path)) for path in tree.files(root, tree.LAYERS, tree.SOURCES)}
    order = list(rooms.ARROWS)
    return sorted(there, key=lambda room: (order.index(room if room in order else f"{room.rpartition('/')[0]}/*"), room))


def below(room, others):
    """The rooms that it stands on: those it may use but those that are inside it, and those that may use it as well."""
    allowed = rooms.row_of(room)[0]
    return [other for other in others if other != room and not other.startswith(room + "/")
            and (rooms.is_one_of(other, allowed) or (rooms.ALL in allowed and rooms.ALL not in rooms.row_of(other)[0]))]


def height(room, others):
    return 1 + max((height(other, others) for other in below(room, others)), default=-1)


def lines_of(layer, all_rooms):
    """The rooms of a layer, the highest first, a line for those of one height."""
    inner = [room for room in all_rooms if room.startswith(layer + "/")]
    by_height = {}
    for room in inner:
        by_height.setdefault(height(room, inner), []).append(room.removeprefix(layer + "/"))
    return ["   ".join(by_height[each]) for each in sorted(by_height, reverse=True)]


def wrapped(line, width):
    """A line of names, in as many as it takes."""
    lines = [""]
    for name in line.split("   "):
        longer = f"{lines[-1]}   {name}" if lines[-1] else name
        if len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(name)
    return lines


def box(layer, width, all_rooms):
    inside = width - 4
    text = [part for line in lines_of(layer, all_rooms) for part in wrapped(line, inside)]
    return [f"┌ {layer} {'─' * (width - len(layer) - 4)}┐", *(f"│ {line.ljust(inside)} │" for line in text)]


def end(width):
    return "└" + "─" * (width - 2) + "┘"


def picture(all_rooms):
    """runtime and container on top; below them protocol, under both, and sessions on fs; base under all."""
    high = beside(box("runtime", RUNTIME, all_rooms), box("container", WIDTH - RUNTIME - 1, all_rooms))
    sessions, fs = box("sessions", SESSIONS, all_rooms), box("fs", SESSIONS, all_rooms)
    low = beside([*sessions, end(SESSIONS), *fs], box("protocol", WIDTH - SESSIONS - 1, all_rooms))
    return "\n".join([*high, *low, *box("base", WIDTH, all_rooms), end(WIDTH)])


def beside(one, other):
    """Two boxes, both closed, of the same height."""
    most = max(len(one), len(other))
    filled = [[*lines, *["│" + " " * (len(lines[0]) - 2) + "│"] * (most - len(lines)), end(len(lines[0]))] for lines in (one, other)]
    return [" ".join(pair) for pair in zip(*filled)]


def used(room):
    """The rooms that its row names, as they stand in the table."""
    layer = room.split("/")[0]
    allowed = rooms.row_of(room)[0]
    if rooms.ALL in allowed:
        return "the rest of the layer"
    return ", ".join("its top" if other == layer else f"`{other.removeprefix(layer + '/')}`" for other in allowed)


def table(layer, all_rooms):
    lower = ", ".join(f"`{each}`" for each in rooms.LAYERS[layer])
    title = f"## {layer}\n\n" + (f"`{layer}` may use {lower}.\n\n" if lower else "")
    rows = [f"| `{room}` | {rooms.row_of(room)[1]} | {used(room)} |" for room in all_rooms if room.split("/")[0] == layer]
    return title + "| room | contains | may use |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def page(root):
    all_rooms = present(root)
    exceptions = "\n".join(f"- `{path}` uses `{included}`: {why}" for (path, included), why in rooms.EXCEPTIONS.items()
                           if (root / included).exists())
    return (HEAD + "```\n" + picture(all_rooms) + "\n```\n\n" + "\n".join(table(layer, all_rooms) for layer in rooms.LAYERS) +
            "\n## Exceptions\n\n" + exceptions + "\n")


def check(root):
    made = page(root)
    file = root / PAGE
    if os.environ.get("SKIFF_UPDATE_DOCS") == "1":
        file.write_text(made)
    if not file.exists() or file.read_text() != made:
        yield f"{PAGE}: not what tests/lint/rooms.py says: SKIFF_UPDATE_DOCS=1 python3 tests/lint/map.py"


if __name__ == "__main__":
    tree.run(check)
