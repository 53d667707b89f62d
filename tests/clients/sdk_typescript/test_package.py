"""The package skiff-sandbox: its types are those of the running programs, each program of docs/sdk-typescript.md compiles and
prints what the page says, and a page in Chromium uses it."""

import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import tarfile
import threading

import pytest

import installed
import sdk_typescript
from client_fixtures import run_program

HERE = installed.HERE / "sdk_typescript"
PAGE = installed.HERE.parents[1] / "docs/sdk-typescript.md"
BLOCK = re.compile(r"^## (.+?)\n(?:(?!^## ).)*?^```ts\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", re.S | re.M)
STRICT = ["--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--module", "nodenext", "--moduleResolution",
          "nodenext"]
ON_NODE = ["--types", "node", "--lib", "es2023", "--target", "es2022"]
IN_BROWSERS = ["--typeRoots", "nowhere", "--lib", "es2023,dom", "--target", "es2022"]
COMPILERS = {"5": "typescript", "7": "typescript-7"}


def programs():
    """{heading: (program, what it prints)} of the page; what prints nothing is for browsers."""
    return {heading: (program, printed) for heading, program, printed in BLOCK.findall(PAGE.read_text())}


def tsc(compiler, folder, *words):
    """Compiles; it has nothing to say."""
    program = installed.node_modules(HERE) / COMPILERS[compiler] / "bin/tsc"
    assert sdk_typescript.run([installed.node(), program, *words], folder, installed.with_node()) == ""


@pytest.fixture(scope="module")
def written(package):
    """The programs of the page, beside the installed package, compiled by TypeScript 5: {heading: file}."""
    files = {heading: package / f"program_{index}.ts" for index, heading in enumerate(programs())}
    for heading, path in files.items():
        path.write_text(programs()[heading][0])
    types = package / "node_modules/@types"
    types.mkdir(exist_ok=True)
    for name in ("@types/node", "undici-types"):
        target = package / "node_modules" / name
        if not target.exists():
            target.symlink_to(installed.node_modules(HERE) / name)
    tsc("5", package, *STRICT, *ON_NODE, *[path.name for path in files.values()])
    return files


def of_machines(written):
    return [written[heading].name for heading, (_, printed) in programs().items() if printed]


def test_the_types_are_those_of_the_programs(agent, server):
    documents = [agent.request("GET", "/openapi.json").json(), server.request("GET", "/openapi.json").json()]
    made = sdk_typescript.schemas(installed.node(), installed.node_modules(HERE), *documents)
    if os.environ.get("SKIFF_UPDATE_DOCS") == "1":
        sdk_typescript.SCHEMAS.write_text(made)
    assert sdk_typescript.SCHEMAS.read_text() == made, "SKIFF_UPDATE_DOCS=1 rewrites sdk/typescript/src/schemas.ts"


def test_the_tarball_has_what_people_need(package):
    with tarfile.open(next(package.parent.glob("skiff-sandbox-*.tgz"))) as tar:
        names = set(tar.getnames())
    assert {"package/package.json", "package/README.md", "package/LICENSE", "package/dist/index.js",
            "package/dist/index.d.ts", "package/dist/launcher.js", "package/bin/skiff.js", "package/bin/skiffd.js"} <= names
    assert not [name for name in names if "/src/" in name or "node_modules" in name]
    about = json.loads((package / "node_modules/skiff-sandbox/package.json").read_text())
    assert about["version"] == sdk_typescript.version()
    assert "dependencies" not in about
    assert sorted(path.name for path in (package / "node_modules").iterdir() if path.name not in ("@types", "undici-types")) == [
        ".bin", ".package-lock.json", "skiff-sandbox"]


def test_the_page_has_eleven_programs_and_one_for_browsers():
    assert len([1 for _, printed in programs().values() if printed]) == 11
    assert len(programs()) == 12


def test_the_programs_have_whole_types(package, written):
    """With the types of Node and without those of browsers, and the other way round, by TypeScript 5 (ON_NODE: above) and 7."""
    in_browsers = written["In a browser"].name
    tsc("7", package, *STRICT, *ON_NODE, "--noEmit", *of_machines(written))
    tsc("5", package, *STRICT, *IN_BROWSERS, "--noEmit", in_browsers)
    tsc("7", package, *STRICT, *IN_BROWSERS, "--noEmit", in_browsers)


def test_the_sources_have_whole_types_for_typescript_7(tmp_path):
    shutil.copytree(sdk_typescript.PACKAGE, tmp_path / "package")
    (tmp_path / "package/node_modules").symlink_to(installed.node_modules(HERE))
    tsc("7", tmp_path, "--project", "package", "--noEmit")


def printed_by(package, path, tmp_path, variables):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SKIFF")}
    done = run_program([installed.node(), path.with_suffix(".js").name], package,
                       {**kept, "HOME": str(tmp_path), "NODE_DISABLE_COMPILE_CACHE": "1", **variables})
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    return done.stdout


def test_the_programs_print_what_the_page_says(package, written, server_place, tmp_path):
    for heading, (_, printed) in programs().items():
        if printed:
            assert printed_by(package, written[heading], tmp_path, server_place) == printed, heading


@pytest.mark.parametrize("name", ["agent_place", "launcher_place", "box_place"])
def test_the_first_program_at_another_place(package, written, request, name, tmp_path):
    heading = "Run a command"
    assert printed_by(package, written[heading], tmp_path, request.getfixturevalue(name)) == programs()[heading][1]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def site(package, tmp_path):
    """Serves pages: one imports the modules of the package as they are, one is made by Vite. (address, directory)"""
    folder = tmp_path / "site"
    shutil.copytree(package / "node_modules/skiff-sandbox", folder / "node_modules/skiff-sandbox")
    shutil.copy(HERE / "page.js", folder)
    imports = {"imports": {"skiff-sandbox": "/node_modules/skiff-sandbox/dist/index.js"}}
    script = '<script type="module" src="/page.js"></script>'
    (folder / "plain.html").write_text(f'<script type="importmap">{json.dumps(imports)}</script>{script}')
    (folder / "index.html").write_text(script)
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", folder
        server.shutdown()
        thread.join()


@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no chromium: run .ci/setup --clients")
def test_a_page_in_a_browser(site, start_agent, tmp_path):
    address, folder = site
    agent = start_agent("--allowed-origin", address)
    modules = installed.node_modules(installed.HERE / "browser")
    told = subprocess.run([installed.node(), modules / "vite/bin/vite.js", "build", folder, "--base", "/dist/", "--logLevel", "warn"], cwd=folder,
                          env={**installed.with_node(), "HOME": str(tmp_path)}, capture_output=True, text=True, timeout=120)
    assert told.returncode == 0 and "externalized" not in told.stderr, told.stderr
    made = "".join(path.read_text() for path in (folder / "dist").rglob("*.js"))
    assert "child_process" not in made and "a browser cannot start the program skiff" in made
    browser = tmp_path / "browser"
    browser.mkdir()
    done = run_program([installed.node(), HERE / "browser.mjs", browser, f"{address}/plain.html", f"{address}/dist/index.html"],
                       tmp_path, {"PATH": os.environ["PATH"], "HOME": str(browser), "TMPDIR": str(browser),
                                  "MODULES": str(modules), "CHROMIUM": shutil.which("chromium"),
                                  "URL": agent.url, "TOKEN": agent.token})
    assert done.stdout == "done\ndone\n", done.stdout[-2000:] + done.stderr[-6000:]
