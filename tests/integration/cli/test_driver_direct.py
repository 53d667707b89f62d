"""`skiff --driver direct`: a skiffd that somebody else has started, reached by its address and a token or key."""

import json
import pathlib
import signal
import socket
import subprocess

import pytest

from launcher import DirectSkiff
from signing import Signer
from test_tls import make_certificate, trusting
from waiting import until


@pytest.fixture
def skiff(tmp_path, agent):
    folder = tmp_path / "launcher"
    folder.mkdir()
    client = DirectSkiff(folder, agent)
    yield client
    client.finish()


def alone(tmp_path, agent, **variables):
    folder = tmp_path / "launcher"
    folder.mkdir()
    client = DirectSkiff(folder, agent)
    client.variables = variables
    return client


def test_with_an_address_and_a_token_every_command_works_there(skiff, agent):
    """No command needs --driver in a shell that has pasted what `make run` prints. Any name will do."""
    assert skiff("exec", "demo", "--", "sh", "-c", "echo out; echo err >&2; exit 7", status=7) == ("out\n", "err\n")
    assert skiff("exec", "-i", "anything", "cat", typed=b"fed")[0] == "fed"
    assert skiff("exec", "x", "--mode", "wait", "--", "echo", "waited")[0] == "waited\n"
    assert skiff("shell", "x", typed=b"echo shell\n")[0] == "shell\n"
    assert skiff("exec", "x", "-d", "--id", "job", "--", "sh", "-c", "echo begun; sleep 1000")[0] == "job\n"
    assert "sleep 1000" in skiff("top", "x")[0]
    process = skiff.start("logs", "-f", "x", "job")
    assert process.stdout.readline() == b"begun\n"
    skiff("kill", "x", "job")
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert skiff("attach", "x", "job", status=143)[0] == "begun\n"
    (skiff.work / "file").write_text("copied")
    skiff("cp", "file", "x:there")
    assert (agent.root / "there").read_text() == "copied"
    assert skiff("files", "cat", "x", "there")[0] == "copied" and "there" in skiff("files", "ls", "x")[0]
    skiff("cp", "x:there", "back")
    assert (skiff.work / "back").read_text() == "copied"
    skiff("files", "rm", "x", "there")
    assert not (agent.root / "there").exists()
    assert "skiffd " in skiff("version", "x")[0]
    assert skiff("tool", "x", "none", status=125)[1]


def test_paths_from_the_root_of_the_container_are_copied_as_docker_does(skiff, agent, tmp_path):
    """The copy has its own session, which ends with it."""
    there = tmp_path / "outside"
    (there / "tree").mkdir(parents=True)
    (there / "tree/file").write_text("text")
    (there / "link").symlink_to(there / "tree/file")  # an absolute one leads on
    (skiff.work / "new").write_text("new")

    assert skiff("cp", f"x:{there}/tree/file", f"x:{there}/link", f"x:{there}/tree", "back") == ("", "")
    assert [(skiff.work / "back" / name).read_text() for name in ("file", "link", "tree/file")] == ["text"] * 3
    skiff("cp", "new", f"x:{there}")
    skiff("cp", "new", f"x:{there}/tree/other")
    assert (there / "new").read_text() == (there / "tree/other").read_text() == "new"
    skiff("cp", "new", f"x:{agent.root}/inside")
    assert (agent.root / "inside").read_text() == "new"
    archive = skiff.start("cp", f"x:{there}/tree", "-").communicate(timeout=60)[0]
    skiff("cp", "-", f"x:{there}/again", typed=archive)
    assert (there / "again/other").read_text() == "new"
    assert "No such file" in skiff("cp", f"x:{there}/none", "none", status=125)[1]
    skiff("cp", "new", f"x:{there}/made/on/the/way/")
    assert (there / "made/on/the/way/new").read_text() == "new"
    assert skiff("session", "ls", "x", "-o", "name")[0] == "default\n"

    # A session that somebody names has the roots that it was given.
    skiff("session", "create", "x", "mine")
    assert "skiff exec" in skiff("cp", "-s", "mine", f"x:{there}/new", "none", status=125)[1]
    skiff("session", "rm", "x", "mine")


def test_an_interrupted_copy_leaves_no_session(skiff, agent, tmp_path):
    sessions = lambda: skiff("session", "ls", "x", "-o", "name")[0].split()  # noqa: E731
    process = skiff.start("cp", "-", f"x:{tmp_path}", stdin=subprocess.PIPE)
    until(lambda: len(sessions()) == 2, what="its session")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130 and sessions() == ["default"]


def test_ps_describe_and_doctor_work_with_a_direct_agent(skiff, agent):
    (only,) = skiff.json("ps")["items"]
    assert (only["driver"], only["state"], only["address"]) == ("direct", "running", agent.url)
    assert only["name"] == only["id"] == socket.gethostname()
    assert skiff("ps", "-o", "name", "--owner", "somebody")[0] == only["name"] + "\n", "nobody owns it"
    assert skiff("ps", "-l", "team=a", "-o", "name")[0] == ""
    described = skiff.json("describe", "demo")
    assert (described["name"], described["id"]) == ("demo", only["id"])
    assert described["reached"] == {"by": "direct", "at": agent.url}
    assert described["workspace"] == str(agent.root)
    told = skiff.json("doctor")
    assert told["passed"] and told["driver"] == "direct"
    assert [check["detail"] for check in told["items"] if check["what"] == "token"] == ["SKIFF_TOKEN"]


def test_extend_renews_the_lease_of_a_direct_agent(skiff):
    extended = skiff.json("extend", "demo", "--ttl", "2h")
    assert extended["expires_at"] == skiff.json("describe", "demo")["expires_at"]
    assert skiff.json("describe", "demo")["activity"]["lease"]["ttl_ms"] == 7_200_000


def test_forward_reaches_ports_of_a_direct_agents_host(skiff):
    with socket.create_server(("127.0.0.1", 0)) as server:
        process = skiff.start("forward", "demo", f":{server.getsockname()[1]}")
        port = int(process.stdout.readline().decode().split(" -> ")[0].rsplit(":", 1)[1])
        with socket.create_connection(("127.0.0.1", port)) as client:
            peer, _ = server.accept()
            with peer:
                client.sendall(b"there")
                assert peer.recv(100) == b"there"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        process.communicate()


@pytest.mark.parametrize("words", [["up", "box"], ["run", "--", "true"], ["stop", "box"], ["start", "box"], ["rm", "box"],
                                   ["rm", "--all", "--everyone"], ["gc"], ["network", "box"], ["manifest", "box"],
                                   ["pool", "create", "warm"], ["pool", "status"]], ids=" ".join)
def test_commands_that_create_or_remove_sandboxes_name_the_drivers_that_can(skiff, agent, words):
    err = skiff(*words, status=125)[1]
    assert "--driver pod" in err, err
    assert agent.request("GET", "/readyz").status == 200


def test_a_token_comes_from_a_file_too_as_skiffd_itself_reads_it(tmp_path, agent):
    file = tmp_path / "some-token"
    file.write_text(f"{agent.token} read,exec\n")
    skiff = alone(tmp_path, agent, SKIFF_TOKEN="wrong")
    assert skiff("--url", agent.url, "--token-file", file, "exec", "x", "echo", "in")[0] == "in\n"
    file.write_text("\n")
    assert "is empty" in skiff("--url", agent.url, "--token-file", file, "exec", "x", "true", status=125)[1]
    assert "/no/such/file" in skiff("--url", agent.url, "--token-file", "/no/such/file", "ps", status=125)[1]


def test_a_key_signs_tokens_for_the_sandbox_that_is_named(tmp_path, start_agent):
    signer = Signer(tmp_path)
    agent = start_agent("--public-key", signer.public, "--sandbox-id", "box-1", credential=False)
    skiff = alone(tmp_path, agent, SKIFF_URL=agent.url, SKIFF_KEY_FILE=signer.private)
    assert skiff("exec", "box-1", "echo", "in")[0] == "in\n", "the name is the id"
    err = skiff("exec", "demo", "true", status=125)[1]
    assert "--sandbox-id" in err and "--public-key" in err
    named = ("--sandbox-id", "box-1")
    assert skiff(*named, "exec", "demo", "echo", "in")[0] == "in\n"
    assert skiff.json("ps", *named)["items"][0]["name"] == "box-1"
    assert "--sandbox-id" in skiff("ps", status=125)[1]
    token = skiff(*named, "token", "demo", "--scope", "read", "--ttl", "1m")[0].strip()
    reader = alone_again(skiff, SKIFF_URL=agent.url, SKIFF_TOKEN=token)
    assert reader("files", "ls", "x", "-o", "name")[0] == ""
    assert "scope" in reader("exec", "x", "true", status=125)[1]
    assert "--key-file" in reader("token", "x", status=125)[1]
    assert "skiff exec x cat /etc/passwd" in reader("cp", "x:/etc/passwd", "none", status=125)[1], "it makes no session"
    signer.private.write_text("no key")
    assert "not an Ed25519 private key" in skiff("ps", status=125)[1]


def alone_again(skiff, **variables):
    skiff_too = object.__new__(DirectSkiff)
    skiff_too.__dict__ = {**skiff.__dict__, "variables": variables}
    return skiff_too


def test_an_agent_without_credentials_is_reached_by_naming_the_driver(tmp_path, start_agent):
    agent = start_agent("--allow-unauthenticated", credential=False)
    skiff = alone(tmp_path, agent)
    assert skiff("--driver", "direct", "--url", agent.url, "exec", "x", "echo", "in")[0] == "in\n"


def test_tls_needs_its_ca(tmp_path, start_agent):
    certificate, key = make_certificate(tmp_path / "pki")
    agent = start_agent("--tls-cert", certificate, "--tls-key", key, tls=trusting(certificate))
    skiff = alone(tmp_path, agent, SKIFF_URL=agent.url, SKIFF_TOKEN=agent.token)
    err = skiff("exec", "x", "true", status=125)[1]
    assert "--agent-certificate-authority" in err and "certificate" in err
    trusted = ("--agent-certificate-authority", certificate)
    assert skiff(*trusted, "exec", "x", "echo", "in")[0] == "in\n"
    named = agent.url.replace("127.0.0.1", "localhost")
    assert "certificate" in skiff(*trusted, "--url", named, "exec", "x", "true", status=125)[1]
    assert skiff(*trusted, "--url", named, "--agent-server-name", "127.0.0.1", "exec", "x", "echo", "in")[0] == "in\n"
    assert "--agent-certificate-authority" in skiff("--agent-certificate-authority", "/no/such/file", "ps", status=125)[1]


@pytest.mark.parametrize("form", ["unix://{}", "unix:{}"])
def test_a_socket_in_the_file_system_works(tmp_path, start_agent, form):
    path = tmp_path / "skiff.sock"
    agent = start_agent(listen=f"unix:{path}")
    skiff = alone(tmp_path, agent, SKIFF_URL=form.format(path), SKIFF_TOKEN=agent.token)
    assert skiff("exec", "x", "echo", "in")[0] == "in\n"
    assert skiff.json("ps")["items"][0]["address"] == f"unix://{path}"
    assert skiff("exec", "-i", "x", "cat", typed=b"fed")[0] == "fed"


def test_errors_of_the_driver_direct_say_what_to_do(skiff, agent):
    assert "--url" in skiff("--driver", "direct", "ps", env={"SKIFF_URL": ""}, status=125)[1]
    assert "http://HOST:PORT" in skiff("--url", "localhost:7070", "ps", status=125)[1]
    assert "unix:///PATH" in skiff("--url", "unix:relative", "ps", status=125)[1]
    err = skiff("exec", "x", "true", env={"SKIFF_TOKEN": "wrong"}, status=125)[1]
    assert "does not accept this token" in err and "SKIFF_TOKEN" in err and "wrong" not in err
    err = skiff("--driver", "direct", "exec", "x", "true", env={"SKIFF_TOKEN": ""}, status=125)[1]
    assert "give SKIFF_TOKEN, --token-file FILE" in err
    with socket.socket() as held:  # bound, so that nobody else gets the port, and not listening
        held.bind(("127.0.0.1", 0))
        away = f"http://127.0.0.1:{held.getsockname()[1]}"
        err = skiff("--url", away, "exec", "x", "true", status=125)[1]
        assert away in err and "can't be reached" in err and "--url" in err
        out, _ = skiff("--url", away, "doctor", "-o", "json", status=125)
        assert json.loads(out)["items"][0]["remedy"]


def test_auto_takes_the_agent_only_where_no_cluster_is_named(skiff, tmp_path):
    """A flag of a cluster wins, whatever a forgotten variable says; and without a token it is not an agent to speak to."""
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text("{}")
    for flags, said in ((["--context", "x"], "--context needs a kubeconfig"),
                        (["--kubeconfig", "/no/such/file"], "kubeconfig: open"),
                        (["-n", "prod", "--kubeconfig", kubeconfig], "sets no current-context")):
        assert said in skiff(*flags, "ps", status=125)[1]
    assert skiff("ps", "-o", "name", env={"SKIFF_TOKEN": ""})[0] == "", "the driver box has none"
    assert pathlib.Path(skiff.state).exists()


def test_two_answers_to_where_to_work_are_refused(skiff, agent):
    """A driver that is exported since another day must not run here what is meant for a server."""
    key = skiff.work / "key"
    key.write_text("e2b_0123456789")
    for variables, named in ((skiff.variables, "SKIFF_URL"), ({"SKIFF_URL": agent.url, "SKIFF_API_KEY": "k"}, "SKIFF_URL"),
                             ({"SKIFF_API_KEY": "k"}, "SKIFF_API_KEY"), ({"SKIFF_API_KEY_FILE": str(key)}, "SKIFF_API_KEY_FILE")):
        skiff.variables = {**variables, "SKIFF_DRIVER": "local"}
        for words in (("run", "--", "true"), ("up", "x"), ("ps",), ("exec", "x", "--", "true"), ("rm", "--all"), ("doctor",)):
            err = skiff(*words, status=125)[1]
            assert "SKIFF_DRIVER=local means this machine" in err and "`unset SKIFF_DRIVER`" in err and f"`unset {named}`" in err, (words, err)
        assert skiff.names() == []
        assert skiff("ps", "--driver", "local")[0] and skiff("version") and skiff("--help")
    skiff.variables = {**skiff.variables, "SKIFF_DRIVER": "local", "SKIFF_URL": agent.url, "SKIFF_TOKEN": agent.token}
    assert skiff("exec", "--driver", "direct", "x", "--", "echo", "there")[0] == "there\n"
    skiff.variables = {"SKIFF_DRIVER": "local"}
    assert "--url" in skiff("ps", "--url", agent.url, status=125)[1]
