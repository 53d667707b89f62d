"""The package sdk/typescript: its types are made of the documents of a running agent and a running server, and it is compiled and
packed without a bundler. It needs a node, and the node_modules of tests/clients/sdk_typescript.

    .ci/sdk_typescript.py NODE_MODULES DIRECTORY    packs skiff-sandbox-VERSION.tgz into the directory"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = TOP / "sdk/typescript"
SCHEMAS = PACKAGE / "src/schemas.ts"
# What the package uses of the server's document; all else there is E2B's, or for operators.
OF_THE_SERVER = ("CreateSandbox", "ExtendSandbox", "MakePreview", "Preview", "Sandbox", "SandboxList", "StopSandbox")
HEAD = "// Generated from /openapi.json of skiffd and `skiff serve`: SKIFF_UPDATE_DOCS=1 and tests/clients/sdk_typescript rewrite it.\n"


def run(command, directory, environment=None):
    done = subprocess.run([str(word) for word in command], cwd=directory, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, f"{command}:\n{done.stdout[-6000:]}"
    return done.stdout


def with_node(node):
    """An environment in which programs of npm find that node."""
    return {**os.environ, "PATH": f"{pathlib.Path(node).parent}:{os.environ.get('PATH', os.defpath)}",
            "NODE_DISABLE_COMPILE_CACHE": "1"}


def schemas(node, modules, agent, server):
    """The text of src/schemas.ts, from both documents."""
    both = dict(agent["components"]["schemas"])
    for name in OF_THE_SERVER:
        assert name not in both, f"{name} is a schema of the agent, too"
        both[name] = server["components"]["schemas"][name]
    document = {"openapi": agent["openapi"], "info": agent["info"], "paths": {}, "components": {"schemas": both}}
    with tempfile.TemporaryDirectory() as work:
        (pathlib.Path(work) / "openapi.json").write_text(json.dumps(document))
        run([node, modules / "openapi-typescript/bin/cli.js", "openapi.json", "--alphabetize", "--output", "schemas.ts"], work,
            with_node(node))
        text = (pathlib.Path(work) / "schemas.ts").read_text()
    # The comment at the top, and what an empty list of paths leaves behind, say nothing.
    components = re.search(r"export interface components \{.*?^\}$", text, re.S | re.M)[0]
    return HEAD + re.sub(r"^( +)", lambda match: match[1][: len(match[1]) // 2], components, flags=re.M) + "\n"


def version():
    return re.search(r"^project\(\w+ VERSION (\d+\.\d+\.\d+)", (TOP / "CMakeLists.txt").read_text(), re.M)[1]


def pack(node, modules, directory, **about):
    """Compiles the sources, and packs them with the version of CMakeLists.txt: the path of the tarball. `about`: more for package.json."""
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        shutil.copytree(PACKAGE, work / "package")
        (work / "package/node_modules").symlink_to(modules)
        run([node, modules / "typescript/bin/tsc", "--project", work / "package"], work, with_node(node))
        (work / "package/node_modules").unlink()
        shutil.copy(TOP / "LICENSE", work / "package")
        about = json.loads((PACKAGE / "package.json").read_text()) | {"version": version(), **about}
        (work / "package/package.json").write_text(json.dumps(about, indent=2) + "\n")
        npm = pathlib.Path(node).parent.parent / "lib/node_modules/npm/bin/npm-cli.js"
        command = [node, npm] if npm.exists() else ["npm"]
        environment = {**with_node(node), "HOME": str(work), "npm_config_cache": str(work / "cache"), "npm_config_update_notifier": "false"}
        run([*command, "pack", "--silent", "--pack-destination", pathlib.Path(directory).resolve()], work / "package", environment)
    return pathlib.Path(directory).resolve() / f"skiff-sandbox-{version()}.tgz"


if __name__ == "__main__":
    print(pack(shutil.which("node"), pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]))
