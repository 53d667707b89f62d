"""A release is installed in each root in each way that its users have; it runs a sandbox there, and goes without a trace."""

import contextlib
import functools
import http.server
import threading

import pytest

import roots
from made import VERSION, one

pytestmark = pytest.mark.skipif(roots.why_not() is not None, reason=str(roots.why_not()))

NAME = f"skiff-{VERSION}-linux-amd64"


@pytest.fixture(scope="module", params=list(roots.MADE_BY))
def root(request, dist, tmp_path_factory):
    made = roots.Root(request.param, tmp_path_factory.mktemp("roots") / request.param)
    made.copy(one(dist, f"{NAME}.tar.gz"), dist / "install.sh", dist / "SHA256SUMS", *dist.glob("*_amd64.deb"))
    yield made
    made.remove()


@pytest.fixture
def untouched(root):
    """The test leaves everything in the root as it was."""
    before = root.holds()
    yield
    assert root.holds() == before


def works(root, **options):
    """Both programs say their version, a command runs in a sandbox of this machine's, and what skiff keeps is removed."""
    for name in "skiff", "skiffd":
        assert root(name, "version", **options).stdout == f"{name} {VERSION}\n"
    done = root("skiff", "run", "--driver", "local", "--", "sh", "-c", "echo $((40 + 2)); exit 3", **options)
    assert (done.returncode, done.stdout) == (3, "42\n"), done.stderr
    succeeds(root("sh", "-c", "rm -r ~/.local/state/skiff && rmdir ~/.local/state && { rmdir ~/.local 2>/dev/null || :; }", **options))


def succeeds(done):
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done


def test_the_archive(root, untouched):
    succeeds(root("sh", "-c", f"tar -xzf /tmp/{NAME}.tar.gz -C /opt && ln -s /opt/{NAME}/bin/skiff* /usr/local/bin/"))
    works(root)
    succeeds(root("sh", "-c", f"rm -r /opt/{NAME} /usr/local/bin/skiff /usr/local/bin/skiffd"))


def test_the_debian_packages(root, untouched):
    if not root.name.startswith("debian"):
        pytest.skip("no dpkg there")
    succeeds(root("sh", "-c", "cp -a /var/lib/dpkg /var/log /tmp && dpkg --install /tmp/skiff_*.deb /tmp/skiffd_*.deb"))
    works(root)
    succeeds(root("dpkg", "--purge", "skiff", "skiffd"))
    assert root("dpkg", "--audit").stdout == "" and root("dpkg-query", "--show", "skiff").returncode == 1
    # dpkg keeps a log of what it did, and its lists in another order.
    succeeds(root("sh", "-c", "rm -r /var/lib/dpkg /var/log && mv /tmp/dpkg /var/lib/ && mv /tmp/log /var/"))


def uninstall(root):
    """As docs/install.md says it, of a user who has nothing else below ~/.local."""
    succeeds(root("sh", "-c", "cd ~/.local && rm bin/skiff bin/skiffd && rm -r share && rmdir bin && cd && rmdir .local", as_user=True))


def test_the_installer_of_files(root, untouched):
    succeeds(root("sh", "/tmp/install.sh", as_user=True, SKIFF_FROM="file:///tmp"))
    works(root, as_user=True, PATH=f"/home/agent/.local/bin:{roots.PATH}")
    uninstall(root)


@contextlib.contextmanager
def served(directory):
    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=directory)) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def test_the_installer_of_a_server(root, untouched, dist):
    """A server of this machine may be one without TLS."""
    if root.name.startswith("debian"):
        pytest.skip("neither wget nor curl there")
    with served(dist) as url:
        done = root("sh", "-c", f"wget -q -O - {url}/install.sh | SKIFF_FROM={url} sh", as_user=True)
    succeeds(done)
    works(root, as_user=True, PATH=f"/home/agent/.local/bin:{roots.PATH}")
    uninstall(root)
