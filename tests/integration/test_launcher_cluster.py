"""What `skiff` does where a cluster is configured that nobody should have to reach: real skiff, no cluster."""

import json
import socket

import pytest

from launcher import Skiff


@pytest.fixture
def skiff(tmp_path):
    client = Skiff(tmp_path)
    yield client
    (client.home / ".kube/config").unlink(missing_ok=True)
    client.finish()


@pytest.fixture
def server(skiff):
    """A port that a kubeconfig names, and where nobody answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        config = {"clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{listening.getsockname()[1]}"}}],
                  "contexts": [{"name": "x", "context": {"cluster": "c"}}], "current-context": "x"}
        (skiff.home / ".kube").mkdir()
        (skiff.home / ".kube/config").write_text(json.dumps(config))
        yield listening


def was_asked(server):
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


NO_IMAGE = ["skiff: no agent image is set: build and push one (docker build -t REGISTRY/skiffd . && docker push REGISTRY/skiffd)",
            "       and name it with --agent-image or SKIFF_AGENT_IMAGE; without a cluster use --driver local"]


@pytest.mark.parametrize("driver", ["pod", "claim"])
@pytest.mark.parametrize("words", [["up", "box"], ["up", "box", "--dry-run"], ["run", "--", "true"], ["manifest", "box"],
                                   ["pool", "create", "warm"]], ids=" ".join)
def test_without_an_agent_image_nothing_is_asked_of_a_cluster(skiff, server, driver, words):
    out, err = skiff(*words, "--driver", driver, status=125) if "--" not in words else \
        skiff(words[0], "--driver", driver, *words[1:], status=125)
    assert (out, err.splitlines()) == ("", NO_IMAGE)
    assert not was_asked(server)


def test_neither_is_it_for_a_template(skiff, server):
    assert skiff("manifest", "--template", "py", "--driver", "claim", status=125)[1].splitlines() == NO_IMAGE
    assert not was_asked(server)


@pytest.mark.parametrize("how", [["--agent-image", "registry.test/skiffd"], ["--no-inject"], "environment", "file"], ids=str)
def test_an_agent_image_that_is_named_is_enough(skiff, server, how):
    server.close()  # so that it is refused at once
    env = {"SKIFF_AGENT_IMAGE": "registry.test/skiffd"} if how == "environment" else {}
    if how == "file":
        (skiff.home / ".config/skiff").mkdir(parents=True)
        (skiff.home / ".config/skiff/config.yaml").write_text("agent-image: registry.test/skiffd\n")
    err = skiff("up", "box", "--driver", "pod", *(how if isinstance(how, list) else []), env=env, status=125)[1]
    assert "refused" in err and "agent image" not in err


def test_auto_does_not_fall_back_to_this_machine(skiff, server):
    server.close()
    for words in (["up", "box"], ["run", "--", "true"], ["ps"]):
        err = skiff(*words, status=125)[1]
        assert "does not answer" in err and "refused" in err and "--driver local" in err
    assert skiff.names() == []
    (skiff.home / ".kube/config").unlink()
    assert skiff("run", "-q", "--", "echo", "here")[0] == "here\n"
