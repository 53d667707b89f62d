"""What people read has one word for a thing: `directory`, as the man pages have it; and it says `is not a file`, never `is no file`. In
the documents, in the strings of the product (help, messages, descriptions), and in its comments."""

import re

import tree

RULES = (
    (re.compile(r"(?<!--)\b[Ff]olders?\b"), "directory"),
    (re.compile(r"(?<!\bthere )(?<!\bThere )\b(?:is|are) no (?!longer\b|more\b|such\b)\w+"), "is not a ..."),
)
# The names of fields and flags stay as clients know them.
NAMES = {'"folder"'}

TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/                              # comments
                       |\#\s*include[^\n]*
                       |R"(?P<end>[^()\\\s]*)\(.*?\)(?P=end)"          # raw strings
                       |"(?:[^"\\\n]|\\.)*"
                       |'(?:[^'\\\n]|\\.)+'
                       |[\w.][\w.']*                                   # 1'000 is no character""", re.S | re.X)


def sentences(text):
    """(its first line, text) of each string and comment of C or C++."""
    for match in TOKEN.finditer(text):
        if match[0].startswith(('"', 'R"', "//", "/*")):
            yield text.count("\n", 0, match.start()) + 1, match[0]


def breaches(text):
    for rule, better in RULES:
        for match in rule.finditer(text):
            yield f'"{match[0]}": better "{better}"'


def check(root):
    documents = [path.relative_to(root) for path in sorted(root.glob("*.md"))]
    for path in [*documents, *tree.files(root, ["docs", "deploy", "examples"], (".md",))]:
        for number, line in enumerate((root / path).read_text().splitlines(), 1):
            for breach in breaches(line):
                yield f"{path}:{number}: {breach}"
    for path in tree.files(root, tree.LAYERS, tree.SOURCES):
        for number, sentence in sentences((root / path).read_text()):
            if sentence not in NAMES:
                for breach in breaches(sentence):
                    yield f"{path}:{number}: {breach}"


if __name__ == "__main__":
    tree.run(check)
