"""One concept a file: a source file ends within 500 lines, a header shows its interface within 300. One protocol a dialect: beside what
its protocol consists of it has at most 1,200 lines of code (docs/adr/0021-dialects.md)."""

import tree

LIMITS = {".cpp": 500, ".c": 500, ".hpp": 300, ".py": 500, ".ts": 500}
DIALECT = 1200
GENERATED = "sdk/typescript/src/schemas.ts"
# Tables and forms of a protocol, by the beginnings of their files' names.
FORMS = {
    "e2b": ("access", "connect_error", "entry_info", "gunzip", "messages", "rpc", "user_context"),
    "sandboxd": ("command_line", "descriptors", "grpc_health", "process_messages", "reflection"),
}
# Rooms of a dialect that are a protocol by themselves: E2B's code interpreter is another server than its agent.
PROTOCOLS = {("e2b", "code")}


def code_lines(text):
    """Blank lines and comments do not count."""
    return sum(1 for line in text.splitlines() if line.strip() and not line.lstrip().startswith("//"))


def check(root):
    folders = [*tree.LAYERS, "bench", "sdk", "tests", ".ci"]
    dialects = {}
    for path in tree.files(root, folders, LIMITS):
        text = (root / path).read_text(errors="replace")
        lines = text.count("\n")
        if lines > LIMITS[path.suffix] and str(path) != GENERATED:
            yield f"{path}: {lines} lines, more than {LIMITS[path.suffix]}: more than one concept?"
        if path.parts[:2] == ("runtime", "dialects") and len(path.parts) > 3:
            if not path.name.startswith(FORMS.get(path.parts[2], ())):
                name = "/".join(path.parts[2:4]) if path.parts[2:4] in PROTOCOLS else path.parts[2]
                dialects[name] = dialects.get(name, 0) + code_lines(text)
    for name, lines in dialects.items():
        if lines > DIALECT:
            yield f"runtime/dialects/{name}: {lines} lines of code, more than {DIALECT}: what of it belongs below?"


if __name__ == "__main__":
    tree.run(check)
