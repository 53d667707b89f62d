"""TLS: requests and WebSockets over it, and certificates that change while it serves."""

import os
import signal
import ssl
import subprocess

import pytest

from waiting import until


def make_certificate(folder, name="server"):
    """A certificate for 127.0.0.1, signed by itself; the paths of it and of its key."""
    folder.mkdir(exist_ok=True)
    certificate, key = folder / "tls.crt", folder / "tls.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "1", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", key, "-out", certificate], check=True, capture_output=True, timeout=30)
    return certificate, key


def trusting(*certificates):
    context = ssl.create_default_context()
    for certificate in certificates:
        context.load_verify_locations(certificate)
    return context


def served(agent):
    """The certificate that a new connection gets."""
    return ssl.get_server_certificate(("127.0.0.1", agent.port)).strip()


class Secret:
    """A mounted secret as the kubelet makes it: the files are links through `..data`, which is swapped as a whole."""

    def __init__(self, folder):
        self.folder, self.count = folder, 0
        folder.mkdir()
        self.update()
        for name in "tls.crt", "tls.key":
            (folder / name).symlink_to(f"..data/{name}")

    def update(self):
        self.count += 1
        version = self.folder / f"..{self.count}"
        make_certificate(version, f"version {self.count}")
        (self.folder / "..data_tmp").symlink_to(version.name)
        os.rename(self.folder / "..data_tmp", self.folder / "..data")

    @property
    def arguments(self):
        return ["--tls-cert", self.folder / "tls.crt", "--tls-key", self.folder / "tls.key"]

    @property
    def certificate(self):
        return (self.folder / "tls.crt").read_text().strip()


@pytest.fixture
def secret(tmp_path):
    return Secret(tmp_path / "secret")


def start(start_agent, secret, *arguments):
    """An agent over TLS that is trusted whatever certificate it serves: which one is what the tests look at."""
    context = ssl._create_unverified_context()
    return start_agent(*secret.arguments, *arguments, tls=context)


def test_requests_and_streams_work_over_tls(start_agent, tmp_path):
    certificate, key = make_certificate(tmp_path / "tls")
    agent = start_agent("--tls-cert", certificate, "--tls-key", key, tls=trusting(certificate))
    assert agent.line.startswith("skiffd listening on https://")
    assert agent.run("echo hello")["stdout"] == "hello\n"
    with agent.stream("POST", "/v1/run", body=b"head -c 3000000 /dev/zero; exit 3") as stream:
        assert sum(map(len, stream.chunks())) == 3_000_000
        assert stream.trailers["X-Exit-Code"] == "3"
    body = os.urandom(3_000_000)
    cid = agent.start("exec sha256sum", stdin_open=True)["id"]
    assert agent.request("POST", f"/v1/commands/{cid}/stdin?eof=true", body=body).status == 204
    assert agent.ended(cid)["exit_code"] == 0


def openssl(*arguments, **more):
    return subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=60, **more).stdout


KEYS = {"P-256": ("EC", "ec_paramgen_curve:P-256"), "P-384": ("EC", "ec_paramgen_curve:P-384"),
        "P-521": ("EC", "ec_paramgen_curve:P-521"), "RSA": ("RSA", "rsa_keygen_bits:2048"),
        "RSA-PSS": ("RSA-PSS", "rsa_keygen_bits:2048"), "Ed25519": ("ED25519", None)}


def make_key(path, kind, traditional=False):
    algorithm, option = KEYS[kind]
    openssl("genpkey", "-algorithm", algorithm, *(["-pkeyopt", option] if option else []), "-out", path)
    if traditional:  # "EC PRIVATE KEY", "RSA PRIVATE KEY"
        openssl(algorithm.lower(), "-in", path, "-out", path, *(["-traditional"] if algorithm == "RSA" else []))


def sign(folder, key):
    certificate = folder / "tls.crt"
    openssl("req", "-x509", "-key", key, "-days", "1", "-subj", "/CN=server", "-addext",
            "subjectAltName=IP:127.0.0.1", "-out", certificate)
    return certificate


# The static binary brings an OpenSSL with the algorithms that are named here, and no others.
@pytest.mark.parametrize("kind,traditional", [(kind, False) for kind in KEYS] + [("P-256", True), ("RSA", True)])
def test_every_usual_kind_of_key_serves(start_agent, tmp_path, kind, traditional):
    key = tmp_path / "tls.key"
    make_key(key, kind, traditional)
    certificate = sign(tmp_path, key)
    for version in ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3:
        context = trusting(certificate)
        context.minimum_version = context.maximum_version = version
        agent = start_agent("--tls-cert", certificate, "--tls-key", key, tls=context)
        assert agent.run("echo $0")["stdout"] == "/bin/sh\n"


def test_a_unix_socket_speaks_without_it(start_agent, tmp_path):
    certificate, key = make_certificate(tmp_path / "tls")
    agent = start_agent("--tls-cert", certificate, "--tls-key", key, listen=f"unix:{tmp_path}/skiff.sock")
    assert agent.run("echo hello")["stdout"] == "hello\n"


@pytest.fixture
def tls_agent(start_agent, secret):
    return start(start_agent, secret)


@pytest.mark.parametrize("options", [
    *(["-tls1_3", "-ciphersuites", suite] for suite in (
        "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")),
    *(["-tls1_2", "-cipher", cipher] for cipher in (
        "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305")),
    *(["-groups", group] for group in ("X25519", "P-256", "P-384", "P-521"))], ids=lambda options: options[-1])
def test_the_usual_ciphers_and_groups_work(tls_agent, secret, options):
    ask = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    said = openssl("s_client", "-connect", f"127.0.0.1:{tls_agent.port}", "-CAfile", secret.folder / "tls.crt",
                   "-verify_return_error", "-ign_eof", *options, input=ask)
    assert b"HTTP/1.1 200" in said


def test_a_cipher_without_forward_secrecy_is_refused(start_agent, tmp_path):
    key = tmp_path / "tls.key"
    make_key(key, "RSA")
    certificate = sign(tmp_path, key)
    context = trusting(certificate)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    agent = start_agent("--tls-cert", certificate, "--tls-key", key, tls=context)
    for cipher in "AES256-GCM-SHA384", "ECDHE-RSA-AES256-SHA384":
        context.set_ciphers(cipher)
        with pytest.raises(ssl.SSLError):
            agent.request("GET", "/healthz")
    context.set_ciphers("ECDHE-RSA-AES256-GCM-SHA384")
    assert agent.request("GET", "/healthz").status == 200


def test_a_key_that_is_encrypted_is_refused_at_the_start(start_agent, tmp_path):
    key = tmp_path / "tls.key"
    make_key(key, "P-256")
    certificate = sign(tmp_path, key)
    openssl("pkcs8", "-topk8", "-in", key, "-out", tmp_path / "locked.key", "-passout", "pass:secret")
    with pytest.raises(AssertionError, match="ended with 2"):
        start_agent("--tls-cert", certificate, "--tls-key", tmp_path / "locked.key")


def test_a_websocket_works_over_tls(start_agent, tmp_path):
    certificate, key = make_certificate(tmp_path / "tls")
    agent = start_agent("--tls-cert", certificate, "--tls-key", key, tls=trusting(certificate))
    with agent.ws("/v1/connect") as ws:
        ws.ping()
        ws.send({"type": "start", "channel": 1, "session": "default", "argv": ["cat"], "stdin_open": True})
        ws.send({"type": "stdin", "channel": 1, "data": "over tls"})
        ws.send({"type": "stdin_close", "channel": 1})
        seen = ws.until("exit", exit_code=0)
        assert "".join(event.get("data", "") for event in seen) == "over tls"
    with agent.ws("/v1/sessions/default/run?command=head+-c+2000000+/dev/zero", "skiff.v1.binary") as ws:
        assert sum(len(frame) - 24 for frame in ws.frames() if isinstance(frame, bytes)) == 2_000_000


def test_a_client_that_does_not_trust_it_or_speaks_no_tls_gets_nothing(start_agent, tmp_path):
    certificate, key = make_certificate(tmp_path / "tls")
    other, _ = make_certificate(tmp_path / "other")
    agent = start_agent("--tls-cert", certificate, "--tls-key", key, tls=trusting(certificate))
    context, agent.tls = agent.tls, trusting(other)
    with pytest.raises(ssl.SSLCertVerificationError):
        agent.request("GET", "/healthz")
    agent.tls = None
    with pytest.raises((ConnectionError, OSError)):
        agent.request("GET", "/healthz")
    agent.tls = context


def test_a_secret_that_is_swapped_is_used_for_new_connections(start_agent, secret):
    agent = start(start_agent, secret)
    assert served(agent) == secret.certificate
    with agent.ws("/v1/connect") as ws:
        secret.update()
        until(lambda: served(agent) == secret.certificate)
        ws.ping()  # what is open goes on
        secret.update()
        until(lambda: served(agent) == secret.certificate)
        ws.ping()


def test_a_bad_new_certificate_is_reported_and_the_old_one_stays(start_agent, secret):
    agent = start(start_agent, secret)
    good = secret.certificate
    (secret.folder / "..1" / "tls.crt").write_text("no certificate")
    (secret.folder / "touched").touch()  # the watched directory
    until(lambda: "the agent keeps the old one" in agent.log())
    assert served(agent) == good
    assert agent.run("echo on")["stdout"] == "on\n"
    secret.update()
    until(lambda: served(agent) == secret.certificate)
    assert agent.log().count("the agent keeps the old one") == 1


def test_sighup_reads_the_certificate_again(start_agent, secret, tmp_path):
    # The links lead out of the watched directory: only the signal makes the agent read them.
    hidden = tmp_path / "hidden"
    make_certificate(hidden)
    watched = tmp_path / "watched"
    watched.mkdir()
    for name in "tls.crt", "tls.key":
        (watched / name).symlink_to(hidden / name)
    secret.folder = watched
    agent = start(start_agent, secret)
    before = served(agent)
    make_certificate(hidden)
    assert secret.certificate != before and served(agent) == before
    agent.process.send_signal(signal.SIGHUP)
    until(lambda: served(agent) == secret.certificate)
    assert agent.running()


def test_files_that_are_bad_at_the_start_are_refused(start_agent, tmp_path):
    certificate, _ = make_certificate(tmp_path / "one")
    _, key = make_certificate(tmp_path / "two")
    with pytest.raises(AssertionError, match="ended with 2"):
        start_agent("--tls-cert", certificate, "--tls-key", key)
