"""Unmodified applications, used in Chromium by a preview of `skiff serve` and by a port of the agent: their forms, their
WebSockets, their hot reload."""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

import pytest

import installed
from client_fixtures import run_program

HERE = pathlib.Path(__file__).resolve().parent
APPS = HERE / "apps"
DOMAIN = "sandboxes.localhost"
SECONDS = 60  # that an application may take to listen

pytestmark = pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no chromium: run .ci/setup --clients")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


@contextlib.contextmanager
def running(command, port, folder, **variables):
    """A program that listens on the port, with a home of its own."""
    log = folder / "app.log"
    environment = {**installed.with_node(), "HOME": str(folder), "TMPDIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **variables}
    with open(log, "wb") as output:
        process = subprocess.Popen(list(map(str, command)), cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                   env=environment, start_new_session=True)
    try:
        wait_for(port, process, log)
        yield
    except BaseException:
        print(log.read_text(errors="replace")[-4000:])
        raise
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for(port, process, log):
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        assert process.poll() is None, log.read_text(errors="replace")[-4000:]
        for host in "127.0.0.1", "::1":
            with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=5):
                return
        time.sleep(0.05)
    raise AssertionError(log.read_text(errors="replace")[-4000:])


def preview_of(server, key, port):
    """A link that opens the port in a browser."""
    sandbox = server.request("POST", "/v1/sandboxes", {}, key).json()["id"]
    made = server.request("POST", f"/v1/sandboxes/{sandbox}/previews", {"port": port}, key)
    assert made.status == 201, made.body
    return made.json()["url"]


both_ways = pytest.mark.parametrize("url_of", ["preview", "port"], indirect=True)
# Its base path would have to be in what it is asked for.
by_a_preview = pytest.mark.parametrize("url_of", ["preview"], indirect=True)


@pytest.fixture
def url_of(request, serving, start_agent):
    """A function that gives the address of a port in a browser, and the path below which that is."""
    if request.param == "preview":
        key = serving.key()
        server = serving.start("--domain", DOMAIN)
        return lambda port: (preview_of(server, key, port), "")
    agent = start_agent("--allow-unauthenticated", credential=False)
    return lambda port: (f"http://{agent.host}/v1/ports/{port}/", f"/v1/ports/{port}")


@pytest.fixture
def visit(tmp_path):
    def visit(scenario, url, sources=""):
        directory = tmp_path / "browser"
        directory.mkdir()
        done = run_program([installed.node(), HERE / "pages.mjs", scenario, url, directory], tmp_path,
                           {"PATH": os.environ["PATH"], "HOME": str(directory), "TMPDIR": str(directory), "SOURCES": str(sources),
                            "MODULES": str(installed.node_modules(HERE)), "CHROMIUM": shutil.which("chromium"),
                            "PICTURE": os.environ.get("PICTURE", "")})
        assert done.stdout == "done\n", (done.stdout[-2000:], done.stderr[-6000:])
    return visit


def python():
    return installed.python_of(HERE / "apps.txt")


def copied(name, folder, modules, copy_modules=False):
    """The sources of an application that a dev server watches."""
    shutil.copytree(APPS / name, folder / name)
    if copy_modules:
        shutil.copytree(modules, folder / name / "node_modules", symlinks=True)
    else:
        (folder / name / "node_modules").symlink_to(modules)
    return folder / name


@both_ways
def test_streamlit(url_of, visit, tmp_path):
    port = free_port()
    url, _ = url_of(port)
    with running([python(), "-m", "streamlit", "run", APPS / "streamlit_app.py", f"--server.port={port}", "--server.address=127.0.0.1",
                  "--server.headless=true", "--browser.gatherUsageStats=false"], port, tmp_path):
        visit("streamlit", url)


@both_ways
def test_django(url_of, visit, tmp_path):
    port = free_port()
    url, path = url_of(port)
    with running([python(), APPS / "django_app.py", port], port, tmp_path, SCRIPT_NAME=path):
        visit("django", url)


@by_a_preview
def test_jupyter(url_of, visit, tmp_path):
    port = free_port()
    url, _ = url_of(port)
    with running([python(), "-m", "jupyter", "notebook", "--no-browser", "--allow-root", f"--port={port}", "--port-retries=0",
                  "--IdentityProvider.token=secret"], port, tmp_path, JUPYTER_RUNTIME_DIR=str(tmp_path / "runtime")):
        visit("jupyter", url)


@by_a_preview
def test_vite(url_of, visit, tmp_path):
    port = free_port()
    url, _ = url_of(port)
    sources = copied("vite", tmp_path, installed.node_modules(HERE))
    with running([installed.node(), sources / "node_modules/vite/bin/vite.js", sources, f"--port={port}", "--strictPort"], port, sources):
        visit("vite", url, sources)


@by_a_preview
@pytest.mark.skipif(not installed.all_versions(), reason="SKIFF_CLIENTS=newest")
def test_next(url_of, visit, tmp_path):
    port = free_port()
    url, _ = url_of(port)
    sources = copied("next", tmp_path, installed.node_modules(HERE / "next"), copy_modules=True)  # it reads nothing outside of there
    with running([installed.node(), sources / "node_modules/next/dist/bin/next", "dev", "--port", port], port, sources,
                 NEXT_TELEMETRY_DISABLED="1"):
        visit("next", url, sources)
