"""The site of the documents: each page has a place in it, each link leads somewhere, and it shows what the forge shows."""

import html
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "tests/integration"))

from tools import tool  # noqa: E402

PARTS = (".ci", "docs", "examples", "deploy", "sdk", "LICENSE", "Dockerfile")


@pytest.fixture
def tree(tmp_path):
    """A copy of what the site is made of."""
    for part in [*PARTS, *(path.name for path in TREE.glob("*.md"))]:
        copy = shutil.copytree if (TREE / part).is_dir() else shutil.copy
        copy(TREE / part, tmp_path / part)
    return tmp_path


def build(tree):
    """The directory of the site, or what mkdocs says why there is none."""
    mkdocs = tool("mkdocs", "python-tools-*/bin/mkdocs")
    done = subprocess.run([mkdocs, "build", "--config-file", tree / ".ci/mkdocs.yml"], capture_output=True, text=True, timeout=100,
                          env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "NO_COLOR": "1"})
    return tree / "build/site" if done.returncode == 0 else done.stderr


def links_of(page):
    return set(re.findall(r'<a [^>]*href="([^"#:]+)(?:#[^"]*)?"', page.read_text()))


# Questions of a newcomer as the home page has them: a text that answers each.
ANSWERS = {
    "start": "installs what it needs with sudo",
    "connect from Python, TypeScript or another language": "openapi-python-client generate --url",
    "connect with curl": 'curl -sSN -H "Authorization: Bearer $SKIFF_TOKEN"',
    "run it on Kubernetes": "export SKIFF_DRIVER=pod SKIFF_AGENT_IMAGE=",
    "run my E2B program": "from e2b import Sandbox",
    "give out rights": "skiff token any --driver direct",
    "operate it": "The agent writes why it ends into",
    "upgrade it": "Replicas are replaced one after the other",
    "know its limits": "--max-commands",
    "trust it with hostile code": "The container is the boundary",
    "find out what is wrong": "skiff doctor --serve",
}


def article(page):
    return re.search(r"<article.*?</article>", page.read_text(), re.S)[0]


def find_answers(site):
    """Each question is a row of the home page. Its answer is on a page that the row links to: one click, where two are allowed."""
    rows = re.findall(r"<tr>\s*<td>(.*?)</td>\s*<td>(.*?)</td>", article(site / "index.html"), re.S)
    links = {question: re.findall(r'href="([^"#]+)', cell) for question, cell in rows}
    for question, answer in ANSWERS.items():
        texts = [html.unescape(re.sub(r"<[^>]+>", "", article(site / page))) for page in links[question]]
        assert any(answer in text for text in texts), (question, links[question])


def test_the_site_is_made_without_a_warning_and_each_of_its_links_leads_to_a_file(tree):
    site = build(tree)
    assert isinstance(site, pathlib.Path), site
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 70
    find_answers(site)
    for page in pages:
        if page.name != "404.html":
            for link in links_of(page):
                assert (page.parent / link).exists(), (page, link)
        outside = re.findall(r'<(?:script|link|img)[^>]* (?:src|href)="(https?:[^"]*)', page.read_text())
        assert not outside, f"{page} loads {outside}"


BROKEN = {  # what a page has, and what mkdocs says about it
    "[gone](gone.md)": "'gone.md'",
    "[gone](serve.md#gone)": "'serve.md#gone'",
    "[gone](../deploy/gone.yaml)": "'../deploy/gone.yaml'",
    "[gone]\n\n[gone]: ../deploy/absent.yaml": "'../deploy/absent.yaml'",
    "[a directory](../deploy/base)": "without a README.md: ../deploy/base",
    "[one] [two]\n\n[one]: serve.md\n\n[two]: e2b.md": "the forge shows 7 <a>, the site",
    "- outer\n  - inner below two spaces": "the forge shows 2 <ul>, the site 1",
}


def test_each_flaw_of_a_page_ends_the_build_and_is_named(tree):
    (tree / "docs/roadmap.md").write_text("# One\n\n" + "\n\n".join(BROKEN) + "\n")
    (tree / "docs" / "lost.md").write_text("# A page without a place\n")
    said = build(tree)
    assert isinstance(said, str)
    assert [complaint for complaint in [*BROKEN.values(), "- lost.md"] if complaint not in said] == [], said


def test_the_index_of_the_repository_leads_to_each_page():
    """docs/README.md, for those who read on the forge."""
    index = (TREE / "docs/README.md").read_text()
    pages = {str(path.relative_to(TREE / "docs")) for path in (TREE / "docs").rglob("*.md") if path.parent.name != "adr"} - {"README.md"}
    assert pages <= set(re.findall(r"\]\(([^)#]*)", index)), pages - set(re.findall(r"\]\(([^)#]*)", index))


def test_what_looks_like_a_code_in_troubleshooting_is_one():
    codes = set(re.findall(r"^\| `([a-z_]+)`", (TREE / "docs/errors.md").read_text(), re.M))
    rows = re.findall(r"^\| (.*?) \|", (TREE / "docs/troubleshooting.md").read_text(), re.M)
    named = {word for row in rows for word in re.findall(r"`([a-z]+(?:_[a-z]+)+|unauthenticated)`", row)} - {"egress_not_installed", "image_pull", "not_ready", "oom_guard", "was_broken"}
    assert len(named) > 20 and named <= codes, named - codes


def test_each_cell_of_the_comparison_names_its_source():
    """But those of skiff's that say no, and dashes."""
    page = (TREE / "docs/comparison.md").read_text()
    table = page[page.index("| **what isolates**"):page.index("skiff's own strength")]
    for row in table.strip().splitlines():
        name, skiff, *others = row.strip("| ").split(" | ")
        for cell in others:
            assert cell == "-" or re.search(r"\[[EAOMT]\d\]", cell), (name, cell)
    used, defined = set(re.findall(r"\[([SEAOMTD]\d)\](?!:)", page)), set(re.findall(r"^\[([SEAOMTD]\d)\]:", page, re.M))
    assert used == defined, used ^ defined
