"""One concept a file: a .cpp ends within 500 lines, a header shows its interface within 300."""

import tree

LIMITS = {".cpp": 500, ".c": 500, ".hpp": 300, ".py": 500}


def check(root):
    folders = [*tree.LAYERS, "bench", "tests", ".ci"]
    for path in tree.files(root, folders, LIMITS):
        lines = (root / path).read_text(errors="replace").count("\n")
        if lines > LIMITS[path.suffix]:
            yield f"{path}: {lines} lines, more than {LIMITS[path.suffix]}: more than one concept?"


if __name__ == "__main__":
    tree.run(check)
