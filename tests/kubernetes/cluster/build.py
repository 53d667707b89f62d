"""Builds Kubernetes and what comes beside it out of the Go module proxy, once: `build.py` prints where it is;
`build.py --built` builds nothing and fails when there is something to build.

Three modules, because they want other versions of the same libraries: `kube`, Kubernetes' own parts in one program; the
add-ons, kwok (simulated nodes) and agent-sandbox's controller with its manifests; and the same of an older agent-sandbox,
which has v1alpha1 alone. agent-sandbox's router is a Python program in its module: its libraries, in the versions that it
pins, come from PyPI. Each stays in the cache (as in .ci/lib.sh) in a folder named by what it was built from, so that nothing
is built as long as that is the same. The first time takes about eight minutes of two cores, 4 GB of compiled packages and
1 GB of modules; both may be deleted afterwards."""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
KUBERNETES = "v1.34.4"  # as go.mod has it
KWOK, AGENT_SANDBOX = "sigs.k8s.io/kwok", "sigs.k8s.io/agent-sandbox"


class Missing(Exception):
    pass


def cache():
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "skiff"


def place(name, sources):
    stamp = hashlib.sha256()
    for source in sources:
        stamp.update((HERE / source).read_bytes())
    return cache() / f"{name}-{stamp.hexdigest()[:12]}"


def kube_folder():
    return place(f"kubernetes-{KUBERNETES}", ("go.mod", "go.sum", "main.go"))


def addons_folder():
    return place("kubernetes-addons", ("addons/go.mod", "addons/go.sum"))


def v1alpha1_folder():
    return place("agent-sandbox-v1alpha1", ("v1alpha1/go.mod", "v1alpha1/go.sum"))


def router_folder():
    return place("agent-sandbox-router", ("addons/go.mod", "addons/go.sum"))


def built(folder):
    if not folder.exists():
        raise Missing(f"{folder} is not there: run tests/kubernetes/cluster/build.py (about eight minutes)")
    return folder


def kube():
    """The program that every part of Kubernetes is, kubectl too."""
    return built(kube_folder()) / "kube"


def addons():
    """The folder with kwok, agent-sandbox-controller, stages/ (kwok's) and agent-sandbox/ (manifests)."""
    return built(addons_folder())


def v1alpha1():
    """The folder with agent-sandbox-controller and agent-sandbox/ of a release before v1beta1."""
    return built(v1alpha1_folder())


def router():
    """The folder with sandbox_router.py and the libraries/ that it imports."""
    return built(router_folder())


def go(module, *arguments):
    environment = dict(os.environ, CGO_ENABLED="0", GOFLAGS="-mod=readonly", GOMODCACHE=str(cache() / "go-modules"),
                       GOCACHE=str(cache() / "go-build"))
    # Politely: whatever else runs here goes first.
    done = subprocess.run(["nice", "-n", "15", "go", *arguments], cwd=module, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def compile_kube(folder):
    # What /version and the nodes show.
    version = "k8s.io/component-base/version"
    major, minor = KUBERNETES[1:].split(".")[:2]
    values = {"gitVersion": KUBERNETES, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean",
              "buildDate": "1970-01-01T00:00:00Z"}
    flags = " ".join(["-s", "-w", *(f"-X {version}.{name}={value}" for name, value in values.items())])
    go(HERE, "build", "-p", "2", "-trimpath", "-tags", "grpcnotrace", "-ldflags", flags, "-o", str(folder / "kube"), ".")


def compile_addons(folder):
    module = HERE / "addons"
    go(module, "build", "-p", "2", "-trimpath", "-ldflags", "-s -w", "-o", f"{folder}/",
       f"{KWOK}/cmd/kwok", f"{AGENT_SANDBOX}/cmd/agent-sandbox-controller")
    copy_out(module, KWOK, "kustomize/stage", folder / "stages")
    copy_out(module, AGENT_SANDBOX, "k8s", folder / "agent-sandbox")


def compile_v1alpha1(folder):
    module = HERE / "v1alpha1"
    go(module, "build", "-p", "2", "-trimpath", "-ldflags", "-s -w", "-o", f"{folder}/", f"{AGENT_SANDBOX}/cmd/agent-sandbox-controller")
    copy_out(module, AGENT_SANDBOX, "k8s", folder / "agent-sandbox")


def copy_out(module, source, part, target):
    """A folder of one of a module's requirements, which is fetched for that if need be."""
    where = json.loads(go(module, "mod", "download", "-json", source))["Dir"]
    shutil.copytree(pathlib.Path(where) / part, target)
    # The files of a module can't be written to, nor removed.
    subprocess.run(["chmod", "-R", "u+w", target], check=True)


def install_router(folder):
    source = folder / "source"
    copy_out(HERE / "addons", AGENT_SANDBOX, "clients/python/agentic-sandbox-client/sandbox-router", source)
    (source / "sandbox_router.py").rename(folder / "sandbox_router.py")
    with tempfile.TemporaryDirectory(prefix="skiff-pip-") as environment:
        subprocess.run(["/usr/bin/python3", "-m", "venv", environment], check=True)
        subprocess.run([f"{environment}/bin/pip", "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir", "--require-hashes",
                        "--requirement", source / "requirements.txt", "--target", folder / "libraries"],
                       stdin=subprocess.DEVNULL, check=True)
    shutil.rmtree(source)


def build(folder, fill):
    if folder.exists():
        return
    unfinished = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    fill(unfinished)
    unfinished.rename(folder)


def main():
    if sys.argv[1:] == ["--built"]:
        kube(), addons(), v1alpha1(), router()
        return
    build(kube_folder(), compile_kube)
    build(addons_folder(), compile_addons)
    build(v1alpha1_folder(), compile_v1alpha1)
    build(router_folder(), install_router)
    print(kube(), addons(), v1alpha1(), router(), sep="\n")


if __name__ == "__main__":
    try:
        main()
    except (OSError, subprocess.CalledProcessError, Missing) as error:
        sys.exit(f"error: {error}")
