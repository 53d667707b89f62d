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


def test_a_bad_new_certificate_is_told_and_the_old_one_stays(start_agent, secret):
    agent = start(start_agent, secret)
    good = secret.certificate
    (secret.folder / "..1" / "tls.crt").write_text("no certificate")
    (secret.folder / "touched").touch()  # the watched folder
    until(lambda: "the old one stays" in agent.log())
    assert served(agent) == good
    assert agent.run("echo on")["stdout"] == "on\n"
    secret.update()
    until(lambda: served(agent) == secret.certificate)
    assert agent.log().count("the old one stays") == 1


def test_sighup_reads_the_certificate_again(start_agent, secret, tmp_path):
    # The links lead out of the folder that is watched: only the signal tells.
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
