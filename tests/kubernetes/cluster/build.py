"""Builds Kubernetes and what comes beside it out of the Go module proxy, once, and prints where it is: `build.py` what the
gate needs, `build.py --nightly` all; with `--built` it builds nothing, and fails when there is something to build.

`kube` is Kubernetes' own parts in one program; beside it, agent-sandbox's controller and manifests. At night also kwok
(simulated nodes), an older agent-sandbox, which has v1alpha1 alone, kube-router (network policies), Traefik (Ingress, Gateway
API) and Helm. These are modules of their own, because they want other versions of the same libraries. agent-sandbox's router
is a Python program in its module: its libraries, in the versions that it pins, come from PyPI. Each stays in the cache (as in .ci/lib.sh) in a directory named by what it was built from, so that
nothing is built as long as that is the same. The compiled packages and the modules there may be deleted afterwards."""

import argparse
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
KUBE_ROUTER = "github.com/cloudnativelabs/kube-router/v2"
TRAEFIK, GATEWAY_API, LEGO = "github.com/traefik/traefik/v3", "sigs.k8s.io/gateway-api", "github.com/go-acme/lego/v5@v5.4.1"
HELM = HERE.parents[1] / "clients/helm"  # also of the tests that need no cluster


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


def agent_sandbox_folder():
    return place("agent-sandbox", ("addons/go.mod", "addons/go.sum"))


def kwok_folder():
    return place("kwok", ("addons/go.mod", "addons/go.sum"))


def v1alpha1_folder():
    return place("agent-sandbox-v1alpha1", ("v1alpha1/go.mod", "v1alpha1/go.sum"))


def kube_router_folder():
    return place("kube-router", ("kube_router/go.mod", "kube_router/go.sum"))


def traefik_folder():
    return place("traefik", ("traefik/go.mod", "traefik/go.sum", "traefik/dns/none.go", "traefik/ext/ext.go"))


def helm_folder():
    return place("helm", (HELM / "go.mod", HELM / "go.sum"))


def router_folder():
    return place("agent-sandbox-router", ("addons/go.mod", "addons/go.sum"))


def built(folder):
    if not folder.exists():
        raise Missing(f"{folder} is not there: run .ci/setup --cluster or, for what runs at night, --nightly")
    return folder


def kube():
    """The program that every part of Kubernetes is, kubectl too."""
    return built(kube_folder()) / "kube"


def agent_sandbox():
    """The directory with agent-sandbox-controller and agent-sandbox/ (manifests)."""
    return built(agent_sandbox_folder())


def kwok():
    """The directory with kwok and its stages/."""
    return built(kwok_folder())


def v1alpha1():
    """As agent_sandbox(), of a release before v1beta1."""
    return built(v1alpha1_folder())


def kube_router():
    """The controller that enforces network policies."""
    return built(kube_router_folder()) / "kube-router"


def traefik():
    """The directory with traefik, the roles/ that it needs and the definitions of the gateway-api/."""
    return built(traefik_folder())


def helm():
    return built(helm_folder()) / "helm"


def router():
    """The directory with sandbox_router.py and the libraries/ that it imports."""
    return built(router_folder())


def go(module, *arguments):
    # The build omits debugging data, inlining, and garbage collection in the compiler. That saves 40 % of its time.
    environment = dict(os.environ, CGO_ENABLED="0", GOFLAGS="-mod=readonly -trimpath '-gcflags=all=-dwarf=false -l'", GOGC="400",
                       GOMODCACHE=str(cache() / "go-modules"), GOCACHE=str(cache() / "go-build"))
    # Before the compilers beside it: in the gate others wait for this.
    done = subprocess.run(["nice", "-n", "5", "go", *arguments], cwd=module, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def compile_kube(folder):
    # The version that /version and the nodes show.
    version = "k8s.io/component-base/version"
    major, minor = KUBERNETES[1:].split(".")[:2]
    values = {"gitVersion": KUBERNETES, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean",
              "buildDate": "1970-01-01T00:00:00Z"}
    flags = " ".join(["-s", "-w", *(f"-X {version}.{name}={value}" for name, value in values.items())])
    go(HERE, "build", "-p", "2", "-tags", "grpcnotrace", "-ldflags", flags, "-o", str(folder / "kube"), ".")


def compile_agent_sandbox(folder, module=HERE / "addons"):
    compile_program(module, folder, f"{AGENT_SANDBOX}/cmd/agent-sandbox-controller")
    copy_out(module, AGENT_SANDBOX, "k8s", folder / "agent-sandbox")


def compile_kwok(folder):
    module = HERE / "addons"
    compile_program(module, folder, f"{KWOK}/cmd/kwok")
    copy_out(module, KWOK, "kustomize/stage", folder / "stages")


def compile_v1alpha1(folder):
    compile_agent_sandbox(folder, HERE / "v1alpha1")


def compile_kube_router(folder):
    compile_program(HERE / "kube_router", folder, f"{KUBE_ROUTER}/cmd/kube-router")


def compile_traefik(folder):
    """Compiles Traefik without its clients of clouds' name services (traefik/dns)."""
    source = folder / "source"
    shutil.copytree(HERE / "traefik", source)
    copy_out(folder, LEGO, ".", source / "lego")
    shutil.rmtree(source / "lego/providers/dns")
    shutil.copytree(source / "dns", source / "lego/providers/dns")
    compile_program(source, folder, f"{TRAEFIK}/cmd/traefik")
    copy_out(source, TRAEFIK, "docs/content/reference/dynamic-configuration", folder / "roles")
    copy_out(source, GATEWAY_API, "config/crd/standard", folder / "gateway-api")
    shutil.rmtree(source)


def compile_helm(folder):
    compile_program(HELM, folder, "helm.sh/helm/v3/cmd/helm")


def compile_program(module, folder, package):
    go(module, "build", "-p", "2", "-ldflags", "-s -w", "-o", f"{folder}/", package)


def copy_out(module, source, part, target):
    """A directory of one of a module's requirements, which is fetched for that if need be."""
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


GATE = {kube_folder: compile_kube, agent_sandbox_folder: compile_agent_sandbox, router_folder: install_router}
NIGHTLY = {**GATE, kwok_folder: compile_kwok, v1alpha1_folder: compile_v1alpha1, kube_router_folder: compile_kube_router,
           traefik_folder: compile_traefik, helm_folder: compile_helm}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nightly", action="store_true")
    parser.add_argument("--built", action="store_true")
    options = parser.parse_args()
    for folder, fill in (NIGHTLY if options.nightly else GATE).items():
        if not options.built:
            build(folder(), fill)
        print(built(folder()))


if __name__ == "__main__":
    try:
        main()
    except (OSError, subprocess.CalledProcessError, Missing) as error:
        sys.exit(f"error: {error}")
