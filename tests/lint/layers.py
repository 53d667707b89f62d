"""A file may include only what stands to the left of its folder:

    base < protocol,  base < fs < sessions,  {protocol, sessions} < runtime,  protocol < container

(container/kube, a library of its own, uses nothing else of container/) and the heavy or foreign libraries only where they
belong. And a source file includes its own header first: that it compiles shows that its header compiles by itself, so the
build checks only the headers without one (CMakeLists.txt)."""

import re

import tree

MAY_USE = {
    "base": {"base"},
    "protocol": {"base", "protocol"},
    "fs": {"base", "fs"},
    "sessions": {"base", "fs", "sessions"},
    "runtime": {"base", "protocol", "fs", "sessions", "runtime"},
    "container": {"base", "protocol", "container"},
}

# Beast's templates are most of the build time: few files may pay for them, and no header outside protocol/.
BEAST = re.compile(r"boost/beast[/.]")
MAX_BEAST_FILES = 10

# Processes and files know nothing of how they are spoken to.
FOREIGN = {
    "fs": re.compile(r"boost/beast[/.]|nlohmann/|openssl/ssl\.h"),
    "sessions": re.compile(r"boost/beast[/.]|nlohmann/|openssl/ssl\.h"),
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def includes(path):
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def check(root):
    beast_files = []
    for path in tree.files(root, tree.LAYERS, tree.SOURCES):
        layer = path.parts[0]
        uses_beast = False
        own = str(path.with_suffix(".hpp"))
        first = next(includes(root / path), (1, "", ""))
        if path.suffix == ".cpp" and (root / own).exists() and first[2] != own:
            yield f'{path}:{first[0]}: include "{own}" first'
        for number, quote, included in includes(root / path):
            at = f"{path}:{number}"
            target = included.split("/")[0]
            if target in MAY_USE and target not in MAY_USE[layer]:
                yield f"{at}: {layer}/ may not use {target}/ ({included})"
            if path.is_relative_to("container/kube") and target == "container" and not included.startswith("container/kube/"):
                yield f"{at}: container/kube/ may not use {included}"
            if target == "tests" or included.startswith(".."):
                yield f"{at}: the product includes from its own folders, named from the top ({included})"
            if quote == '"' and target not in MAY_USE:
                yield f'{at}: include "{included}" from the top of the tree ("folder/file.hpp")'
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


if __name__ == "__main__":
    tree.run(check)
