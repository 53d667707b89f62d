"""Secrets that Pods use and never see, on a real node with network policies: `skiff secret set`, and what whoever may write the
tenant's namespace cannot do with them."""

import base64
import json
import pathlib
import re
import sys

import pytest

import accounts
import egress_world
import images
import secret_origin
from egress_installed import cluster, one, outside, skiff  # noqa: F401
from skiff import pool_json
from waiting import until

IN_TLS = pathlib.Path(__file__).resolve().parents[2] / "integration/box_probes/in_tls.py"
TOOLS = "skiff.test/git:1"
TO = f"{secret_origin.HOST}:{secret_origin.PORT}"
EVIL = "evil.org:443"
# An ordinary program: it knows no proxy and no certificate, only the variables.
FETCH = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())"
# Looks for each argument in all that a command can read: files, environments, command lines.
GREP = """
import glob, os, sys
words = [word.encode() for word in sys.argv[1:]]
places = [*glob.glob("/proc/[0-9]*/environ"), *glob.glob("/proc/[0-9]*/cmdline")]
for root in ("/etc", "/workspace", "/tmp", "/.skiff", "/skiff", "/run", "/var", "/dev/shm"):
    places += [os.path.join(where, name) for where, _, names in os.walk(root) for name in names]
seen = 0
for place in places:
    try:
        with open(place, "rb") as file:
            text = file.read()
    except OSError:
        continue
    seen += 1
    # This program has the words as its own arguments.
    if any(word in text for word in words) and place != f"/proc/{os.getpid()}/cmdline":
        print("FOUND", place)
print(seen > 3)
"""


@pytest.fixture
def origin(outside, tmp_path):
    """Servers that demand a token, in the internet of this test."""
    with secret_origin.running(outside.words, tmp_path / "origin", egress_world.FAR) as server:
        yield server


def keep(skiff, origin, value=None, hosts=(TO,), name="git", env=None, more=("--basic", secret_origin.USER)):
    ca = skiff.work / "ca.pem"
    ca.write_bytes((origin.directory / "ca.pem").read_bytes())
    flags = [word for host in hosts for word in ("--host", host)]
    skiff("secret", "set", name, "-q", *flags, *more, "--ca-file", ca, typed=(value or origin.token).encode(), env=env)


@pytest.fixture
def box(skiff, origin):
    keep(skiff, origin)
    skiff.up("box", "--egress-secret", "git")
    yield skiff
    for name in skiff("secret", "ls", "-o", "name")[0].split():
        skiff("secret", "rm", name)


def say(skiff, to=TO, name="box"):
    """The answer to a request for /echo in the TLS of a tunnel."""
    skiff("cp", "-q", IN_TLS, f"{name}:in_tls.py")
    text = f"GET /echo HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n\r\n"
    return json.loads(skiff("exec", name, "--", "python3", "in_tls.py", to, json.dumps([text]))[0])[0]


def status(skiff, **more):
    said = say(skiff, **more)
    code = re.search("X-Skiff-Egress: (\\w+)", said)
    return code.group(1) if code else said.split(" ")[1] if said.startswith("HTTP/") else said


def test_a_token_is_used_and_is_nowhere_in_the_sandbox(box, origin):
    assert f"egress by name: {TO}; secret git" in box("describe", "box")[0]
    said = box("exec", "box", "--", "python3", "-c", FETCH, f"https://{TO}/echo?query")[0]
    assert "GET /echo?query" in said and "token " + "*" * len(origin.token) in said
    assert origin.seen() == ["GET /echo?query right"]
    pair = base64.b64encode(f"{secret_origin.USER}:{origin.token}".encode()).decode().rstrip("=")
    words = (origin.token[4:], pair, base64.b64encode(origin.token.encode()).decode().rstrip("="))
    assert box("exec", "box", "--", "python3", "-c", GREP, *words)[0] == "True\n"
    # The namespace of sandboxes has neither the token nor a key, and the proxies' logs have none either.
    kinds = ("pods", "configmaps", "secrets", "events")
    known = [json.dumps(box.namespace.items(kind)) for kind in kinds] + [box.home.kubectl("logs", pod["metadata"]["name"]) for pod in box.home.items("pods")]
    assert box.namespace.names("secrets") == ["skiff-signing-key"]
    for text in known:
        assert not any(word in text for word in words) and "EC PRIVATE" not in text
    for form in ("table", "json", "yaml"):
        shown = box("secret", "ls", "-o", form)[0]
        assert "git" in shown and origin.token not in shown
    line = until(lambda: [line for line in box.log() if line["verdict"] == "ended"], 30, "the end of the request")[-1]
    assert (line["method"], line["path"], line["status"], line["secret"], line["host"]) == ("GET", "/echo", 200, "git", secret_origin.HOST)
    assert "GET /echo 200, secret git" in box("egress", "log", "box")[0]
    settings = box("exec", "box", "--", "sh", "-c", "test -s ${MAVEN_OPTS#*=} && cat $WGETRC $APT_CONFIG")[0]
    assert settings == 'ca_certificate = /.skiff/ca-bundle.pem\nAcquire::https::CaInfo "/.skiff/ca-bundle.pem";\n'
    # A sandbox that does not ask for it has neither the secret nor the trust.
    box.up("bare", "--egress", TO)
    assert "CERT" not in box("exec", "bare", "--", "env")[0]
    box("exec", "bare", "--", "python3", "-c", FETCH, f"https://{TO}/echo", status=1)
    assert origin.seen() == ["GET /echo?query right"]


@pytest.fixture(scope="module")
def tools(cluster):
    """An image with git, curl and wget, as Debian has them."""
    programs = [pathlib.Path(path) for path in ("/usr/bin/git", "/usr/bin/curl", "/usr/bin/wget", "/usr/lib/git-core/git-remote-https")]
    layer = images.shell()
    for name in ("lib", "lib/x86_64-linux-gnu", "lib64", "usr", "usr/bin", "usr/lib", "usr/lib/git-core"):
        layer.folder(name)
    images.add_libraries(layer, *programs)
    for path in programs:
        layer.file(str(path).lstrip("/"), path.resolve().read_bytes(), 0o755)
    layer.link("usr/lib/git-core/git", "/usr/bin/git")
    cluster.load(TOOLS, layer.done(), {"Cmd": ["sh"], "Env": ["PATH=/usr/bin:/bin"]})
    return TOOLS


def test_git_pushes_and_others_fetch_without_a_token(box, origin, tools):
    box.up("git", "--image", tools, "--egress-secret", "git", "--env", "HOME=/workspace")
    script = f"""set -e
        git clone -q https://{TO}/git/app.git app && cd app
        git config user.email a@b && git config user.name a
        echo change > file && git add file && git commit -qm 'a change' && git push -q origin HEAD:main
        curl -sS https://{TO}/echo/of-curl > /dev/null && /usr/bin/wget -qO- https://{TO}/echo/of-wget > /dev/null
        git rev-parse HEAD"""
    pushed = box("exec", "git", "--", "sh", "-c", script)[0].strip()
    assert (origin.directory / "git/app.git/refs/heads/main").read_text().strip() == pushed
    assert origin.seen()[-2:] == ["GET /echo/of-curl right", "GET /echo/of-wget right"]


def test_a_secret_is_changed_removed_and_made_anew(box, origin):
    assert status(box) == "200"
    keep(box, origin, value="another-token-0123456789")
    until(lambda: status(box) == "401", 30, "the new value")
    keep(box, origin)
    until(lambda: status(box) == "200", 30, "the old value again")
    # Without a value requests are judged all the same, and get nothing.
    keep(box, origin, more=("--no-value", "--allow", "GET /echo"))
    until(lambda: status(box) == "401", 30, "no value")
    keep(box, origin, more=("--no-value", "--allow", "POST /echo"))
    until(lambda: status(box) == "request_not_allowed", 30, "another rule")
    keep(box, origin)
    until(lambda: status(box) == "200", 30, "the value again")
    # Any replica signs with the same authority, also one that is new.
    for pod in box.home.names("pods"):
        box.home.kubectl("delete", "--wait=false", f"pod/{pod}")
        until(lambda pod=pod: pod not in box.home.names("pods") and box.is_ready(), 90, "another replica", every=0.1)
        until(lambda: status(box) == "200", 30, "the way through it")
    box("secret", "rm", "git")
    until(lambda: status(box) == "secret_missing", 30, "no secret")
    assert "not found" in box("up", "new", "--egress-secret", "git", status=125)[1]
    # A new one has another authority, which the sandbox trusts from its next start on.
    keep(box, origin)
    until(lambda: "no TLS" in status(box), 30, "another authority")
    box("stop", "-q", "box")
    box("start", "-q", "box")
    assert status(box) == "200"


def test_who_writes_the_namespace_of_sandboxes_sends_a_secret_nowhere(box, origin):
    assert status(box) == "200"
    right = len(origin.seen())
    # The Pod expects it for another server, and may reach that.
    box.namespace.patch("pod/skiff-box", {"metadata": {"annotations": {
        "skiff.dev/egress": json.dumps([EVIL, TO]), "skiff.dev/egress-secrets": json.dumps({"git": [EVIL, TO, f"{secret_origin.HOST}:{secret_origin.OTHER}"]})}}})
    until(lambda: status(box, to=EVIL) == "secret_missing", 30, "the change of the Pod")
    assert status(box) == "200"
    # The ConfigMap names another server, and a Secret of this namespace looks like one of ours.
    box.namespace.patch("configmap/skiff-secret.git", {"data": {"hosts": json.dumps([EVIL])}})
    own = box.home.get("secret", "skiff-secret.git")
    text = json.loads(base64.b64decode(own["data"]["secret.json"]))
    own["data"]["secret.json"] = base64.b64encode(json.dumps({**text, "hosts": [EVIL]}).encode()).decode()
    box.namespace.create({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": own["data"],
                          "metadata": {"name": own["metadata"]["name"], "labels": own["metadata"]["labels"]}})
    box.up("other", "--egress-secret", "git")
    assert status(box, to=EVIL, name="other") == "secret_missing"
    # An annotation that cannot be read closes all.
    box.namespace.patch("pod/skiff-box", {"metadata": {"annotations": {"skiff.dev/egress-secrets": "no JSON"}}})
    until(lambda: status(box) == "no_policy", 30, "the damaged annotation")
    assert [line for line in origin.seen()[right:] if not line.endswith(" right")] == []
    # Without the annotation the TLS is the server's own, and nothing is put into it.
    used = len(origin.seen())
    box.namespace.patch("pod/skiff-box", {"metadata": {"annotations": {"skiff.dev/egress-secrets": None}}})
    until(lambda: status(box).startswith("no TLS"), 30, "no secret")
    assert origin.seen()[used:] == []
    box.namespace.delete("secret/skiff-secret.git")
    # The secret's own hosts count, and what its namespace says of it is written anew.
    keep(box, origin, hosts=(TO, EVIL))
    assert json.loads(box.namespace.get("configmap", "skiff-secret.git")["data"]["hosts"]) == [TO, EVIL]


def test_it_is_refused_before_anything_is_made(skiff, origin):
    before = skiff.namespace.of_skiff()
    assert "not found" in skiff("up", "box", "--egress-secret", "absent", status=125)[1]
    keep(skiff, origin)
    keep(skiff, origin, name="same")
    assert "are both for" in skiff("up", "box", "--egress-secret", "git", "--egress-secret", "same", status=125)[1]
    for name in ("git", "same"):
        skiff("secret", "rm", name)
    assert "not found" in skiff("secret", "rm", "git", status=125)[1]
    assert skiff.namespace.of_skiff() == before
    pool_json(skiff, "create", "warm", "-q", "--size", 0, "--egress")
    assert "without a pool" in skiff("up", "box", "--pool", "warm", "--egress-secret", "git", status=125)[1]
    skiff("pool", "rm", "warm")


def test_secrets_are_kept_with_just_their_role(skiff, origin, tmp_path):
    told = json.loads(skiff("rbac", "secret", "--service-account", "keeper", "-o", "json")[0])["items"]
    places = {one["metadata"]["namespace"] for one in told if one["kind"] == "Role"}
    assert places == {skiff.namespace.name, skiff.home.name}
    for one in told:
        skiff.namespace.cluster.api.apply(one, one["metadata"]["namespace"])
    env = {"KUBECONFIG": accounts.kubeconfig(skiff.namespace, "keeper", tmp_path)}
    until(lambda: skiff.start("secret", "ls", env=env).wait(60) == 0, 30, "the roles")
    keep(skiff, origin, env=env)
    keep(skiff, origin, env=env)
    assert skiff("secret", "ls", "-o", "name", env=env)[0] == "git\n"
    skiff("secret", "rm", "git", env=env)
