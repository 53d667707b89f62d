"""Texts for people have one word for a thing: `directory`, as the man pages have it; and they say `is not a file`, never the short form. In
the documents, in the strings of the product (help, messages, descriptions), and in its comments. A comment begins with its subject or
with a verb, in the directories where all do, and in all tests in Python."""

import ast
import io
import re
import tokenize

import tree

RULES = (
    (re.compile(r"(?<!--)\b[Ff]olders?\b"), "directory"),
    (re.compile(r"(?<!\bthere )(?<!\bThere )\b(?:is|are) no (?!longer\b|more\b|such\b)\w+"), "is not a ..."),
)
# The names of fields and flags stay as clients know them.
NAMES = {'"folder"'}
CODE = re.compile(r'`[^`]*`|"folder"')

# A comment begins with its subject or a verb, in every directory.
HEADLESS = re.compile(r"(///<|///|//|/\*\*)\s*((?:Of|Who|Whoever|Whose|Whom|Those|One that|What is|The same)\b)")
HEADLESS_PYTHON = re.compile(r"(?:Of|Who|Whoever|Those|One that|What)\b")

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


def headless(text):
    """(its line, how it begins) of each comment that begins without a subject; further lines of a comment may begin as they like."""
    lines, above = text.splitlines(), (0, "")
    for number, sentence in sentences(text):
        marker = re.match("/*<?", sentence)[0]
        goes_on = above == (number - 1, marker) and lines[number - 1].lstrip() == sentence
        above = (number, marker if sentence != marker else "")
        found = HEADLESS.match(sentence)
        if found and not goes_on:
            yield number, found[2]


def python_sentences(text):
    """(its line, text) of each docstring and comment of Python; the lines of a comment are one text."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(node):
            yield node.body[0].lineno, ast.get_docstring(node)
    comments = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            number, alone = token.start[0], token.line.lstrip().startswith("#")
            if alone and comments and comments[-1][1] == number - 1:
                comments[-1][1:] = [number, f"{comments[-1][2]} {token.string.lstrip('# ')}"]
            else:
                comments.append([number, number if alone else None, token.string.lstrip("# ")])
    for number, _, comment in comments:
        yield number, comment


def breaches(text):
    for rule, better in RULES:
        for match in rule.finditer(text):
            yield f'"{match[0]}": better "{better}"'


def check(root):
    documents = [path.relative_to(root) for path in sorted(root.glob("*.md"))]
    for path in [*documents, *tree.files(root, ["docs", "deploy", "examples", "sdk"], (".md",))]:
        for number, line in enumerate((root / path).read_text().splitlines(), 1):
            for breach in breaches(line):
                yield f"{path}:{number}: {breach}"
    for path in tree.files(root, tree.LAYERS, tree.SOURCES):
        for number, sentence in sentences((root / path).read_text()):
            if sentence not in NAMES:
                for breach in breaches(sentence):
                    yield f"{path}:{number}: {breach}"
    commented = tree.files(root, [*tree.LAYERS, "bench", "tests"], tree.SOURCES) + tree.files(root, ["sdk"], (".ts",))
    for path in commented:
        for number, start in headless((root / path).read_text()):
            yield f'{path}:{number}: a comment begins with "{start}": begin with its subject or a verb'
    for path in tree.files(root, ["tests", "sdk"], (".py",)):
        for number, sentence in python_sentences((root / path).read_text()):
            for breach in breaches(" ".join(CODE.sub("", sentence).split())):
                yield f"{path}:{number}: {breach}"
            if found := HEADLESS_PYTHON.match(sentence):
                yield f'{path}:{number}: a comment begins with "{found[0]}": begin with its subject or a verb'


if __name__ == "__main__":
    tree.run(check)
