"""--egress-secret NAME: the egress proxy of a box puts a secret into requests, which the box never sees."""

import base64
import json
import os
import re
import stat

import pytest

import secret_origin
from box_secrets import FOR_GIT, TO, box, get, keep, origin, say  # noqa: F401
from boxes import skiff  # noqa: F401
from egressing import log_of, outside, through  # noqa: F401
from waiting import until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a laptop and an internet")


def test_git_pushes_without_a_token(box, origin):
    script = f"""set -e
        git clone -q https://{TO}/git/app.git app && cd app
        git config user.email a@b && git config user.name a
        seq 300000 > large && git add large && git commit -qm 'a change' && git push -q origin HEAD:main
        git ls-remote -q origin main"""
    pushed = box.sh(script).split()[0]
    ref = origin.directory / "git/app.git/refs/heads/main"
    assert ref.read_text().strip() == pushed
    # Neither the files and environments of the box nor the logs have the token, plain or as git sends it.
    box.sh(f"! grep -rqs {origin.token[4:]} /workspace /home /tmp /.skiff /etc /proc/self/environ /proc/1/environ; ! env | grep -q {origin.token[4:]}")
    directory = box.sandboxes / "box"
    for path in directory.rglob("*"):
        if path.is_file():
            assert origin.token.encode() not in path.read_bytes(), path
    until(lambda: [one for one in log_of(box)["items"] if one["verdict"] == "ended" and one.get("path", "").endswith("git-receive-pack")])
    line = [one for one in log_of(box)["items"] if one["verdict"] == "ended"][-1]
    assert (line["secret"], line["host"], line["status"]) == ("git", secret_origin.HOST, 200)
    assert "?" not in json.dumps([one.get("path") for one in log_of(box)["items"]])


def test_a_secret_that_fetches_does_not_push(skiff, origin):
    keep(skiff, origin, more=(*FOR_GIT, "--allow", "GET /git/app.git/info/refs", "--allow", "POST /git/app.git/git-upload-pack"))
    skiff.up("box", "--egress-secret", "git")
    said = skiff.sh(f"""set -e
        git clone -q https://{TO}/git/app.git app && cd app
        git -c user.email=a@b -c user.name=a commit -q --allow-empty -m more
        git push -q origin HEAD:main 2>&1 || echo refused""")
    assert "403" in said and said.endswith("refused\n")
    assert [line["detail"] for line in log_of(skiff)["items"] if line.get("code") == "request_not_allowed"] == [
        "POST /git/app.git/git-receive-pack: the secret git is for GET /git/app.git/info/refs, POST /git/app.git/git-upload-pack; "
        "outside of the sandbox `skiff secret set git ... --allow` names others"]


def test_programs_trust_the_proxy(box, origin):
    url = f"https://{TO}/echo"
    assert "GET /echo" in box.sh(f"curl -sS {url}")
    assert "GET /echo" in box.sh(f"python3 -c \"import urllib.request as u; print(u.urlopen('{url}').read().decode())\"")
    # These read no variable that names certificates.
    assert "GET /echo" in box.sh(f"wget -qO- {url}")
    box.sh(f"/usr/lib/apt/apt-helper -q download-file {url}/of-apt /tmp/of-apt")
    assert "GET /echo/of-apt right" in origin.seen()
    assert "SSL_CERT_FILE=/.skiff/ca-bundle.pem" in box.sh("env") and "NODE_EXTRA_CA_CERTS=/.skiff/ca.pem" in box.sh("env")
    ours = box.sh("openssl pkcs12 -in /.skiff/trust.p12 -passin pass: -nomacver -nokeys | grep -c 'subject=O = skiff egress'")
    assert ours == "1\n" and "MAVEN_OPTS=-Djavax.net.ssl.trustStore=/.skiff/trust.p12" in box.sh("env")
    (policy,) = json.loads(box.sh("cat /etc/chromium/policies/managed/skiff.json"))["CACertificates"]
    assert policy in box.sh("cat /.skiff/ca.pem").replace("\n", "")
    box.up("bare", "--egress", "pypi.org")
    assert "CERT" not in box.sh("env", name="bare") and "no" in box.sh("test -e /.skiff/ca.pem || echo no", name="bare")


def test_a_secret_is_kept_and_never_shown(skiff, origin):
    keep(skiff, origin)
    (path,) = (skiff.state / "skiff/egress-secrets").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for form in ("table", "json", "yaml", "name"):
        shown = skiff("secret", "ls", "-o", form)[0]
        assert "git" in shown and origin.token not in shown
    assert json.loads(skiff("secret", "ls", "-o", "json")[0])["items"] == [
        {"name": "git", "hosts": [TO], "header": "Authorization: Basic", "requests": []}]
    for words, said in ((("--host", "*.example.com"), "whole name"), (("--host", "http://a.org"), "whole name"), ((), "name 1 to"),
                        (("--host", "a.org", "--header", "Host: {}"), "--header"), (("--host", "a.org", "--header", "X: y"), "{} once"),
                        (("--host", "a.org", "--header", "X: {}", "--basic", "u"), "omit --header"),
                        (("--host", "a.org", "--allow", "get /x"), "capital letters")):
        assert said in skiff("secret", "set", "other", *words, typed=b"long enough".replace(b" ", b"-"), status=125)[1]
    for value in (b"short\n", b"two words\n", b"two\nlines--\n", b""):
        err = skiff("secret", "set", "other", "--host", "a.org", typed=value, status=125)[1]
        assert "visible ASCII" in err and (not value or value.decode().strip() not in err)
    assert "not found" in skiff("up", "box", "--egress-secret", "absent", status=125)[1]
    skiff("secret", "rm", "git")
    assert "not found" in skiff("secret", "rm", "git", status=125)[1]


def test_another_value_keeps_what_the_secret_is_for(skiff, origin):
    keep(skiff, origin, value="another-token-0123456789",
         more=(*FOR_GIT, "--allow", "GET /echo", "--upload-limit", "10", "--placeholder", "TOKEN=a-text-that-stands-for-it"))
    (path,) = (skiff.state / "skiff/egress-secrets").iterdir()
    before = json.loads(path.read_text())
    skiff.up("box", "--egress-secret", "git")
    skiff("secret", "set", "git", typed=origin.token.encode())
    assert json.loads(path.read_text()) == {**before, "value": origin.token}
    assert " 200 " in say(skiff, get("/echo"))[0].split("\r\n")[0]
    for more, said in (((), "--allow '* /**'"), (("--allow", "GET /echo"), "--upload-limit 0")):
        assert said in skiff("secret", "set", "git", "--host", TO, *FOR_GIT, *more, typed=b"wider-token-012345", status=125)[1]
    assert json.loads(path.read_text())["value"] == origin.token
    keep(skiff, origin, more=(*FOR_GIT, "--allow", "* /**", "--upload-limit", "0"))
    assert " 200 " in say(skiff, get("/other"))[0].split("\r\n")[0]
    assert "name 1 to" in skiff("secret", "set", "new", typed=b"some-token-0123456", status=125)[1]


def test_explain_judges_a_request_as_the_proxy_does(skiff, origin):
    keep(skiff, origin, more=(*FOR_GIT, "--allow", "GET /echo"))
    skiff.up("box", "--egress-secret", "git", "--egress", "pypi.org")

    def explained(*words, status=0):
        return json.loads(skiff("egress", "explain", "box", *words, "-o", "json", status=status)[0])
    found = explained("GET", f"https://{TO}/echo?a=b")
    assert (found["verdict"], found["secret"]) == ("allowed", "git")
    assert (explained(f"https://{TO}/echo")["verdict"], explained(f"https://{TO}/other", status=1)["code"]) == ("allowed", "request_not_allowed")
    refused = explained("POST", f"https://{TO}/echo", status=1)
    assert (refused["code"], refused["secret"]) == ("request_not_allowed", "git")
    assert say(skiff, get("/echo", method="POST"))[0].startswith("HTTP/1.1 403")
    assert explained("GET", f"https://{TO}/../echo", status=1)["code"] == "bad_path"
    assert "secret" not in explained("POST", "https://pypi.org/legacy/")
    assert "methods and paths are not seen" in skiff("egress", "explain", "box", "POST", "https://pypi.org/legacy/")[0]
    assert "METHOD" in skiff("egress", "explain", "box", "G T", "pypi.org", status=125)[1]
    assert "one TARGET" in skiff("egress", "explain", "box", "GET", "pypi.org", "more", status=125)[1]


def test_requests_that_follow_at_once_share_a_connection_to_the_server(box, origin):
    def ports(*paths):
        said = say(box, "".join(get(path).replace("Connection: close\r\n", "") for path in paths) + get("/echo"))[0]
        assert said.count("HTTP/1.1 200") == len(paths) + 1 and "wrong" not in said
        return re.findall("<([0-9]+)>", said)
    many = ports(*["/port"] * 20)
    assert len(many) == 20 and len(set(many)) < 20
    # The server has ended one, and has sent what nobody asked for on another.
    last, after = ports("/port/last", "/port")
    more, behind = ports("/port/more", "/port")
    assert last != after and more != behind
    lines = [one for one in log_of(box)["items"] if one.get("path") == "/port"]
    ended = [one for one in lines if one["verdict"] == "ended" and one.get("status")]
    assert len({one["connection"] for one in ended}) == len(ended) == 22
    assert all(0 < one["received"] < 4096 and one["status"] == 200 and one["address"] for one in ended)


def test_a_server_that_ends_the_connection_is_asked_once_more(box, origin):
    """It ends it when the next request comes."""
    deaf = get("/port/deaf").replace("Connection: close\r\n", "")
    # A request that is not only to read goes out on a connection of its own.
    for method in ("GET", "POST"):
        (said,) = say(box, deaf + get("/port", method=method))
        assert said.count("HTTP/1.1 200") == 2, said
        assert origin.seen().count(f"{method} /port right") == 1
    assert json.loads(box("egress", "log", "box", "--denied", "-o", "json")[0])["items"] == []


def test_a_new_value_counts_at_once_and_a_removed_one_is_missed(box, origin):
    assert " 200 " in say(box, get("/echo"))[0].split("\r\n")[0]
    keep(box, origin, value="another-token-0123456789")
    assert " 401 " in say(box, get("/echo"))[0].split("\r\n")[0]
    box("secret", "rm", "git")
    missed = say(box, get("/echo"))[0]
    assert " 503 " in missed.split("\r\n")[0] and "X-Skiff-Egress: secret_missing" in missed
    keep(box, origin)
    assert " 200 " in say(box, get("/echo"))[0].split("\r\n")[0]
    box("stop", "-q", "box")
    box("start", "-q", "box")
    assert " 200 " in say(box, get("/echo"))[0].split("\r\n")[0]
