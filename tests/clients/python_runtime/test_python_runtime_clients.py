"""The packages that people have, as they are, against the dialect python-runtime. Only the claim of a sandbox is made up
(fake_kubernetes.py): every command and file goes to a real skiffd."""

import pathlib

import pytest

from client_fixtures import check
from installed import all_versions, go_program, python_of

HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = {
    "k8s-agent-sandbox newest": ("newest.txt", "newest.py", 16),
    "k8s-agent-sandbox newest, async": ("newest.txt", "newest_async.py", 9),
    "k8s-agent-sandbox 0.5.6": ("before_1_0.txt", "before_1_0.py", 11),
    "k8s-agent-sandbox 0.5.6, async": ("before_1_0.txt", "before_1_0_async.py", 7),
    "k8s-agent-sandbox 0.2.1": ("oldest.txt", "oldest.py", 7),
    "langchain-kubernetes 0.4.0": ("oldest.txt", "with_langchain.py", 6),
    "langchain-kubernetes 0.3.0": ("older_langchain.txt", "with_langchain.py", 6),
    "the documented calls of the SDK": ("documented_sdk.txt", "documented_sdk.py", 5),
    "the documented calls of langchain-kubernetes": ("documented_langchain.txt", "documented_langchain.py", 12),
}
# The documents are of older versions, too.
OLDER = {"k8s-agent-sandbox 0.5.6", "k8s-agent-sandbox 0.5.6, async", "k8s-agent-sandbox 0.2.1", "langchain-kubernetes 0.3.0",
         "the documented calls of the SDK", "the documented calls of langchain-kubernetes"}


@pytest.mark.parametrize("client", [name for name in SCRIPTS if all_versions() or name not in OLDER])
def test_python_client(outcome, client):
    requirements, script, least = SCRIPTS[client]
    check(outcome(python_of(HERE / requirements), script), least)


@pytest.mark.skipif(not all_versions(), reason="the gate has the client without a router")
@pytest.mark.parametrize("requirements, script, least",
                         [("newest.txt", "through_router.py", 15), ("before_1_0.txt", "before_1_0_through_router.py", 10)])
def test_python_client_through_the_router(outcome, router, requirements, script, least):
    check(outcome(python_of(HERE / requirements), script, url=router), least)


def test_python_client_through_serve(outcome, serving, key):
    """Two replicas, the second of which has not made the sandbox. The runtime is what listens in it, as one in an image does."""
    first, second = serving.start(), serving.start()
    sandbox = first.request("POST", "/v1/sandboxes", {}, key).json()["id"]
    check(outcome(python_of(HERE / "newest.txt"), "through_serve.py", url=second.url, sandbox=sandbox, SERVE_KEY=key), 15)
    assert second.told().count('"route":"gateway:') > 15


@pytest.mark.parametrize("versions", ["go.mod", "older.mod"] if all_versions() else ["go.mod"])
def test_go_client(outcome, versions):
    check(outcome(go_program(HERE / "go", file=versions)), 7)
