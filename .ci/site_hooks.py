"""Pages of docs/ link to other files of the tree, as one does in a repository. In the site these files stand below `repository/`. mkdocs calls
the functions `on_...`; a warning ends the build (.ci/site)."""

import logging
import pathlib
import posixpath
import re

from markdown_it import MarkdownIt
from mkdocs.structure.files import File

TREE = pathlib.Path(__file__).resolve().parent.parent
ELSEWHERE = "repository"
# `[text](target#anchor)`, and `[name]: target#anchor` in a line of its own.
LINK = re.compile(r"(!?\[[^\]]*\]\(|^\[[^\]]+\]: )([^)\s#:]+)((?:#[^)\s]*)?(?:\)|$))", re.M)
FENCED = re.compile(r"(^[ ]*```.*?^[ ]*```[ ]*$)", re.M | re.S)
# A list directly below a paragraph: the forge makes a list of it, Python-Markdown goes on with the paragraph.
LIST_BELOW_TEXT = re.compile(r"^(?!\s*(?:[-*]|\d+\.) |\|)(\S.*)\n(?=(?:[-*]|\d+\.) )", re.M)
COUNTED = {"table": "table_open", "tr": "tr_open", "ul": "bullet_list_open", "ol": "ordered_list_open", "li": "list_item_open", "pre": "fence",
           "a": "link_open", "img": "image"}
FORGE = MarkdownIt("commonmark").enable("table")
log = logging.getLogger("mkdocs.hooks.site")


def place(path):
    """Where a file of the tree stands in the site."""
    if (TREE / path).is_dir():
        path = path / "README.md"
    return str(path.relative_to("docs")) if path.parts[0] == "docs" else f"{ELSEWHERE}/{path}"


def origin(place_of_page):
    """The file of the tree that a page is made of."""
    inside, _, rest = place_of_page.partition(f"{ELSEWHERE}/")
    return pathlib.PurePosixPath(rest) if rest and not inside else pathlib.PurePosixPath("docs", place_of_page)


def aim(page, target):
    """The file of the tree that a link of a page leads to, or None."""
    path = pathlib.PurePosixPath(posixpath.normpath(posixpath.join(origin(page).parent, target)))
    return path if path.parts[0] != ".." and (TREE / path).exists() else None


def outside_fences(text, change):
    return "".join(part if part.lstrip().startswith("```") else change(part) for part in FENCED.split(text))


def counted(tokens):
    """{tag: how many of it}."""
    kinds = [token.type for token in tokens]
    return {tag: kinds.count(kind) for tag, kind in COUNTED.items()}


def on_config(config):
    """The directory `adr` of the nav: its README, and a page for each decision."""
    decisions = [f"adr/{path.name}" for path in sorted((TREE / "docs/adr").glob("[0-9]*.md"))]
    for section in config.nav:
        for pages in section.values():
            if isinstance(pages, list) and "adr" in pages:
                pages[pages.index("adr")] = {"Decisions": ["adr/README.md", *decisions]}


def on_files(files, config):
    """Adds each file that a page links to, and those that these link to."""
    waiting = [file.src_uri for file in files.documentation_pages()]
    while waiting:
        page = waiting.pop()
        for _, target, _ in LINK.findall(FENCED.sub("", (TREE / origin(page)).read_text())):
            path = aim(page, target)
            if path is None or files.get_file_from_path(place(path)):
                continue
            if not (TREE / origin(place(path))).is_file():
                log.warning("%s links to a directory without a README.md: %s", page, target)
                continue
            files.append(File.generated(config, place(path), content=(TREE / origin(place(path))).read_bytes()))
            if path.suffix == ".md" or (TREE / path).is_dir():
                waiting.append(place(path))


def on_page_markdown(markdown, page, **_):
    def link(match):
        path = aim(page.file.src_uri, match[2])
        return match[0] if path is None else match[1] + posixpath.relpath(place(path), posixpath.dirname(page.file.src_uri)) + match[3]

    if page.file.src_uri == "adr/README.md":
        names = [path.name for path in sorted((TREE / "docs/adr").glob("[0-9]*.md"))]
        titles = [(TREE / "docs/adr" / name).read_text().partition("\n")[0].lstrip("# ") for name in names]
        markdown += "\n" + "".join(f"- [{title}]({name})\n" for name, title in zip(names, titles))
    page.on_the_forge = counted([each for token in FORGE.parse(markdown) for each in [token, *(token.children or [])]])
    return outside_fences(markdown, lambda text: LIST_BELOW_TEXT.sub(r"\1\n\n", LINK.sub(link, text)))


def on_page_content(html, page, **_):
    """The site has as many tables, rows, items of lists, blocks of code and links as the forge shows."""
    shown = re.sub(r'<a class="headerlink"', "", html)
    for tag, there in page.on_the_forge.items():
        here = len(re.findall(rf"<{tag}[ >]", shown))
        if there != here:
            log.warning("%s: the forge shows %d <%s>, the site %d", page.file.src_uri, there, tag, here)
