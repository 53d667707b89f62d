"""`skiff --driver serve`: the commands of skiff by the address of a `skiff serve` and an API key, without a kubeconfig.

The first part is the tests of other files, with a server between: what is imported is run here with this file's `skiff`."""

import json
import shutil
import signal
import socket
import ssl

import pytest

import collector as collectors
from cli.test_command_line import (  # noqa: F401
    test_words_that_are_not_utf8_are_refused_before_anything_is_created, test_forms_of_output_colour_and_the_config_file,
    test_what_the_config_file_says_of_new_sandboxes_changes_no_other_command)
from cli.test_cp import test_an_archive_goes_by_stdin_and_stdout, test_several_are_copied_into_a_directory  # noqa: F401
from cli.test_exec import (  # noqa: F401
    test_a_command_that_takes_too_long_is_ended_with_124,
    test_a_working_directory_an_environment_and_a_session_are_given, test_an_id_starts_a_command_once,
    test_an_interrupt_of_a_wait_ends_the_command, test_background_commands_are_listed_read_signalled_and_joined,
    test_input_goes_on_when_connections_break, test_kill_takes_its_signal_as_docker_does,
    test_nobody_reading_stdout_ends_the_command_as_in_a_shell, test_output_goes_on_when_connections_break,
    test_stdin_is_passed_on_when_asked_for, test_wait_prints_both_streams_when_the_command_has_ended)
from cli.test_files_session import (  # noqa: F401
    test_a_text_in_a_file_is_replaced, test_an_interrupt_while_stdin_is_written_leaves_the_file_as_it_was,
    test_paths_and_lines_are_searched, test_sessions_are_made_used_listed_and_removed,
    test_stat_tells_what_is_there_and_by_its_status_what_is_not, test_stdin_is_written_to_a_file)
from cli.test_logs import (  # noqa: F401
    test_logs_begin_at_the_last_lines_or_at_a_time, test_logs_without_an_id_are_those_of_the_newest_command)
from cli.test_ps_describe import test_sandboxes_belong_to_an_owner_and_have_labels  # noqa: F401
from cli.test_run import (  # noqa: F401
    test_a_detached_run_goes_on_and_says_where, test_run_ends_with_the_status_that_docker_run_gives,
    test_run_gives_the_output_and_status_and_leaves_nothing, test_run_keeps_the_sandbox_if_asked_to,
    test_run_passes_signals_to_the_command, test_the_third_interrupt_leaves_a_command_that_does_not_listen,
    test_logs_and_kill_mean_the_command_that_run_started)
from cli.test_start_stop import (  # noqa: F401
    test_a_lease_ends_and_can_be_extended, test_several_are_stopped_and_started_whatever_happens_to_one)
from cli.test_up import (  # noqa: F401
    test_a_setup_that_fails_shows_its_output_and_leaves_nothing, test_an_interrupt_in_the_middle_of_up_leaves_nothing,
    test_two_at_once_make_one_sandbox)
from cutting_proxy import CuttingProxy
from held_agent import HeldAgent
from mcp_stdio import Stdio
from serving import ServedSkiff
from speaking import Said, speaking
from terminal import Terminal
from test_tls import make_certificate
from waiting import until


@pytest.fixture
def skiff(tmp_path):
    client = ServedSkiff(tmp_path)
    yield client
    client.finish()


# --- the life of a sandbox ---

def test_a_sandbox_is_made_used_described_stopped_and_removed(skiff):
    out, err = skiff("up", "box", "-e", "WHO=me", "-l", "team=a")
    assert out == f"box is up at {skiff.server.url}/s/box/7070\n" and "box: ready" in err
    made = skiff.json("ps")["items"][0]
    assert (made["name"], made["driver"], made["state"], made["labels"]) == ("box", "serve", "running", {"team": "a"})
    assert made["details"] == {"template": "base", "on_end": "stop"} and made["id"] != "box"
    assert skiff("exec", "box", "--", "sh", "-c", "echo kept > file; echo err >&2; exit 7", status=7) == ("", "err\n")
    described = skiff.json("describe", "box")
    assert described["reached"] == {"by": "serve", "at": f"{skiff.server.url}/s/box/7070"}
    assert described["agent"]["sandbox_id"] == made["id"]
    assert skiff("shell", "box", typed=b"echo $WHO\n")[0] == "me\n"
    skiff("stop", "box", "--grace-period", "1s")
    assert not skiff.processes()
    err = skiff("exec", "box", "--", "true", status=125)[1]
    assert "is stopped" in err and "skiff start box" in err
    assert skiff.json("ps", "box")["state"] == "stopped", "a request does not wake it"
    assert skiff.json("start", "box", "-q")["id"] == made["id"]
    assert skiff("exec", "box", "cat", "file")[0] == "kept\n"
    assert skiff("rm", "box", "box")[0] == "box\n"
    out, err = skiff("rm", "box")
    assert out == "" and err.startswith(f"skiff: box: there is none (driver serve, {skiff.server.url}"), err


def test_a_name_is_taken_once(skiff):
    first = skiff.up()
    assert "box" in skiff("up", "box", status=125)[1]
    again = skiff.json("up", "box", "--get-or-create", "-q")
    assert (first["new"], again["new"], again["id"]) == (True, False, first["id"])
    skiff("stop", "box")
    assert skiff.json("up", "box", "--get-or-create", "-q")["state"] == "running"
    assert "lower-case" in skiff("up", "../box", status=125)[1]
    skiff("rm", "box")
    assert skiff.up()["id"] != first["id"]


def test_gc_removes_an_ended_sandbox_and_keeps_a_running_one(skiff):
    skiff.up("alive")
    skiff.up("over")
    skiff("extend", "over", "--idle-ttl", "100ms")
    until(lambda: skiff.json("ps", "over")["state"] == "ended", what="its end")
    done = skiff.json("gc")
    assert [item["name"] for item in done["deleted"]] == ["over"] and [item["name"] for item in done["kept"]] == ["alive"]
    assert skiff.names() == ["alive"]


def test_it_is_listed_in_pages(skiff):
    for name in ("a", "b", "c"):
        skiff.up(name)
    page = skiff.json("ps", "--limit", "2")
    assert [item["name"] for item in page["items"]] == ["a", "b"]
    assert [item["name"] for item in skiff.json("ps", "--limit", "2", "--cursor", page["next"])["items"]] == ["c"]
    assert skiff("ps", "-q", "--status", "stopped")[0] == ""


def test_files_and_directories_are_copied_both_ways(skiff):
    skiff.up()
    (skiff.work / "tree/sub").mkdir(parents=True)
    (skiff.work / "tree/sub/file").write_bytes(bytes(range(256)) * 10_000)
    skiff("cp", "tree", "box:there")
    assert (skiff.root() / "there/sub/file").stat().st_size == 2_560_000
    skiff("cp", "box:there", "back")
    assert (skiff.work / "back/sub/file").read_bytes() == (skiff.work / "tree/sub/file").read_bytes()
    assert "file" in skiff("files", "ls", "box", "there/sub")[0]


def test_a_shell_has_a_terminal(skiff):
    skiff.up()
    with Terminal(skiff.start, "shell", "box") as terminal:
        terminal.type(b"stty size; echo do''ne\n")
        terminal.seen(b"50 132")
        terminal.seen(b"done")
        terminal.type(b"exit\n")
        terminal.until(lambda: terminal.process.poll() is not None, "its end")


def test_an_mcp_client_gets_a_sandbox(skiff):
    client = Stdio(skiff, driver="serve")
    assert client.begin()["serverInfo"]["name"] == "skiffd"
    assert client.tool("run_command", command="echo $((6 * 7))")["stdout"] == "42\n"
    assert len(skiff.names()) == 1
    client.end()
    assert skiff.names() == []


def test_names_of_sandboxes_are_completed(skiff):
    skiff.up("box-1")
    assert skiff("__complete", "--", "exec", "bo")[0] == "box-1\n"


def test_the_doctor_tells_what_the_key_allows(skiff):
    told = skiff.json("doctor")
    assert told["passed"] and told["driver"] == "serve"
    assert [check["detail"] for check in told["items"] if check["what"] == "API key"] == ["me of tenant default, allows create use"]
    out, _ = skiff("doctor", "-o", "json", env={"SKIFF_API_KEY": "e2b_" + "0" * 40}, status=125)
    assert "SKIFF_API_KEY" in json.loads(out)["items"][0]["detail"]


# --- whose it is, and what a key allows ---

def test_a_key_that_only_uses_sandboxes_uses_them(skiff):
    skiff.up()
    user = {"SKIFF_API_KEY": skiff.key("user", "--scope", "use")}
    assert skiff("exec", "box", "echo", "in", env=user)[0] == "in\n"
    assert skiff("ps", "-q", env=user)[0] == "box\n"
    for words in (("up", "other"), ("stop", "box"), ("rm", "box"), ("extend", "box"), ("run", "--", "true")):
        err = skiff(*words, env=user, status=125)[1]
        assert "lacks the scope" in err and "skiff key create" in err, err
    assert skiff.names() == ["box"] and skiff.json("ps", "box")["state"] == "running"
    assert "admin" in skiff("token", "box", "--scope", "admin", env=user, status=125)[1]


def test_a_key_that_only_makes_sandboxes_sees_none(skiff):
    maker = {"SKIFF_API_KEY": skiff.key("maker", "--scope", "create")}
    assert "box is up" in skiff("up", "box", "-q", env=maker)[0]
    for words in (("exec", "box", "true"), ("ps",), ("describe", "box")):
        assert "lacks the scope" in skiff(*words, env=maker, status=125)[1]
    assert skiff("rm", "box", env=maker)[0] == "box\n"


def test_another_tenants_sandbox_is_not_there(skiff):
    mine = skiff.up()
    (skiff.root() / "file").write_text("mine")
    other = {"SKIFF_API_KEY": skiff.key("other", "--tenant", "other")}
    for words in (("exec", "box", "true"), ("describe", "box"), ("stop", "box"), ("start", "box"), ("extend", "box"),
                  ("cp", "box:file", "stolen"), ("files", "cat", "box", "file"), ("token", "box"), ("logs", "box")):
        assert 'there is no sandbox "box"' in skiff(*words, env=other, status=125)[1], words
    assert skiff("ps", "-q", "--everyone", env=other)[0] == ""
    assert skiff("rm", "box", env=other)[0] == ""
    assert skiff("rm", "--all", "--everyone", env=other)[0] == ""
    assert json.loads(skiff("gc", "--everyone", "-o", "json", env=other)[0])["kept"] == []
    assert skiff("exec", "box", "cat", "file")[0] == "mine" and skiff.json("ps", "box")["id"] == mine["id"]
    assert not (skiff.work / "stolen").exists()


def test_a_limit_says_when_to_ask_again(skiff):
    few = {"SKIFF_API_KEY": skiff.key("few", "--max-sandboxes", "1")}
    skiff("up", "one", "-q", env=few)
    err = skiff("up", "two", "-q", env=few, status=125)[1]
    assert "1 sandboxes at the same time" in err and "ask again in" in err
    assert skiff.names() == ["one"]


@pytest.mark.parametrize("flags", [["--image", "busybox"], ["--cpu", "64"], ["--network", "open,"], ["--run-as", "image"],
                                   ["--service-account", "admin"], ["--volume", "secret/skiff-api-keys:/keys"],
                                   ["--node-selector", "a=b"], ["--dialect", "sandboxd"], ["--env-from", "secret/keys"],
                                   ["--template", "none"]], ids=" ".join)
def test_flags_that_templates_decide_are_refused(skiff, flags):
    err = skiff("up", "box", *flags, status=125)[1]
    assert ("there is no template" if flags[0] == "--template" else flags[0]) in err, err
    assert skiff.names() == []


@pytest.mark.parametrize("words, said", [
    ("rm box --force", "--force is decided by the server of --driver serve"),
    ("stop box --wait=false", "--wait=false is decided by the server of --driver serve"),
    ("network box", "the network of a sandbox is decided by the server of --driver serve"),
    ("manifest box", "--driver serve does not create objects of a cluster"), ("pool status", "the serve driver has no pools"),
    ("key ls", "create API keys where the server runs"), ("serve", "create API keys where the server runs"),
    ("ps -A --driver serve", "only a cluster has namespaces")])
def test_commands_that_the_server_decides_are_refused_with_a_reason(skiff, words, said):
    skiff.up()
    err = skiff(*words.split(), status=125)[1]
    assert said in err, err
    assert "skiff: internal" not in err and skiff.json("ps", "box")["state"] == "running"


# --- what goes wrong on the way ---

def test_an_interrupt_while_it_is_made_leaves_nothing(tmp_path):
    """The server is asked to take back what it is about to make."""
    agent = HeldAgent(tmp_path / "beside")
    folder = tmp_path / "launcher"
    folder.mkdir()
    skiff = ServedSkiff(folder, program=agent.skiff)
    try:
        process = skiff.start("up", "box")
        until(lambda: any(" --root " in line for line in skiff.processes().values()), what="its beginning")
        process.send_signal(signal.SIGINT)
        agent.let_go()
        assert process.wait(100) == 130
        process.communicate()
        assert skiff.names() == [] and not skiff.processes()
    finally:
        agent.let_go()
        skiff.finish()


def test_an_answer_that_was_lost_makes_no_second_sandbox(skiff):
    host, port = skiff.server.host.split(":")
    for cut in (0, 30):
        with CuttingProxy((host, int(port)), [cut]) as proxy:
            made = skiff.json("up", f"box-{cut}", "-q", env={"SKIFF_URL": proxy.url})
            assert proxy.done == 1 and made["new"] is True and made["state"] == "running"
    assert skiff.names() == ["box-0", "box-30"]
    with CuttingProxy((host, int(port)), [0]) as proxy:
        assert skiff("rm", "box-0", env={"SKIFF_URL": proxy.url})[0] == "box-0\n"
    assert skiff.names() == ["box-30"]


def test_output_goes_on_when_the_way_to_the_server_breaks(skiff):
    skiff.up()
    data = bytes(range(256)) * 8_000
    (skiff.root() / "out").write_bytes(data)
    host, port = skiff.server.host.split(":")
    # The first connection asks for the sandbox; what follows carries the command.
    with CuttingProxy((host, int(port)), [10**9, 0, 700, 300_001, 65_536]) as proxy:
        process = skiff.start("exec", "box", "--", "sh", "-c", "echo once >> ran; cat out; exit 5", env={"SKIFF_URL": proxy.url})
        out, err = process.communicate(timeout=100)
        assert process.returncode == 5 and out == data, err[-500:]
        assert proxy.done == 4
    assert (skiff.root() / "ran").read_text() == "once\n"


def test_an_unreachable_server_is_reported(skiff):
    with socket.socket() as held:  # bound, so that nobody else gets the port, and not listening
        held.bind(("127.0.0.1", 0))
        away = f"http://127.0.0.1:{held.getsockname()[1]}"
        err = skiff("ps", "--url", away, status=125)[1]
        assert away in err and "can't be asked" in err


# --- the key ---

def test_the_key_comes_from_a_file_or_from_the_variables_of_e2b(skiff):
    skiff.up()
    file = skiff.work / "key"
    file.write_text(f"{skiff.api_key} of me\n")
    none = {"SKIFF_API_KEY": ""}
    assert skiff("ps", "-q", "--api-key-file", file, env=none)[0] == "box\n"
    assert skiff("ps", "-q", "--api-key-file", file, env={"SKIFF_API_KEY": "wrong"})[0] == "box\n"
    e2b = {"SKIFF_URL": "", "E2B_API_URL": skiff.server.url, "E2B_API_KEY": skiff.api_key, **none}
    assert skiff("ps", "-q", "--driver", "serve", env=e2b)[0] == "box\n"
    assert skiff("ps", "-q", env=e2b)[0] == "", "auto is the driver box"
    # A key of another server is not sent to this one.
    err = skiff("ps", "--driver", "serve", env={"E2B_API_KEY": skiff.api_key, **none}, status=125)[1]
    assert "SKIFF_API_KEY" in err
    assert "--url" in skiff("ps", "--driver", "serve", env={"SKIFF_URL": ""}, status=125)[1]
    file.write_text("\n")
    assert "is empty" in skiff("ps", "--api-key-file", file, env=none, status=125)[1]
    shutil.rmtree(skiff.laptop, ignore_errors=True)


def test_the_key_is_in_nothing_that_is_printed(skiff):
    requests = []
    skiff.up()
    for words, status in ((("ps",), 0), (("exec", "box", "true"), 0), (("describe", "box"), 0), (("doctor",), 0),
                          (("exec", "none", "true"), 125), (("up", "box"), 125)):
        out, err = skiff(*words, "--log-requests", status=status) if words[0] != "exec" else skiff(
            words[0], "--log-requests", *words[1:], status=status)
        assert skiff.api_key not in out + err
        requests += [line for line in err.splitlines() if "/v1/" in line]
    assert any("POST" in line and "/v1/sandboxes/box/tokens 201" in line for line in requests), requests
    assert skiff.api_key not in skiff.server.told()


def test_the_key_is_in_no_trace(skiff):
    with collectors.collector() as collector:
        out, _ = skiff("run", "--", "sh", "-c", "echo $TRACEPARENT", env={"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url})
        made = collector.span("create sandbox")
        assert collectors.values(made)["skiff.driver"] == "serve"
        assert made["traceId"] in out, "the command is a part of it, behind the server, too"
        assert skiff.api_key not in json.dumps(collector.requests)


def test_a_flag_of_a_cluster_means_the_cluster(skiff):
    assert "kubeconfig" in skiff("ps", "--kubeconfig", "/no/such/file", status=125)[1]


# --- a server that lies ---

def liar(lie, context=None):
    return speaking(lambda _: Said(*lie), context)


def view(**changes):
    return {"id": "box", "uid": "u", "template": "base", "state": "running", "reason": "", "owner": "", "labels": {},
            "created_at": "", "on_end": "stop", **changes}


def as_list(*items, after=""):
    return 200, {"Content-Type": "application/json"}, json.dumps({"items": items, "next": after}).encode()


@pytest.mark.parametrize("lie, told", [
    (as_list(view(id="\x1b[31mred")), "is not `skiff serve`"), (as_list(view(id="../../x")), "is not `skiff serve`"),
    (as_list(view(state="odd")), "is not `skiff serve`"), (as_list(view(labels=[])), "is not `skiff serve`"),
    (as_list({"id": 7}), "is not `skiff serve`"), (as_list(after="x"), "its list has no end"),
    ((200, {}, b"<html>"), "is not `skiff serve`"), ((200, {}, b"[" * 100_000), "is not `skiff serve`"),
    ((204, {}, b""), "is not `skiff serve`"), ((404, {}, b"nothing"), "it says 404"),
    ((302, {"Location": "http://127.0.0.1:1/x"}, b""), "sends requests on"),
    ((403, {"Content-Type": "application/problem+json"}, b'{"code":"insufficient_scope","detail":"a\\u001b]0;x\\u0007b"}'), "skiff key create")])
def test_a_false_answer_of_a_server_is_reported_and_controls_no_terminal(tmp_path, skiff, lie, told):
    with liar(lie) as server:
        out, err = skiff("ps", "--url", server.url, status=125)
        assert told in err and out == "", err
        assert "\x1b" not in err and "\x07" not in err
        assert skiff("__complete", "--", "exec", "", env={"SKIFF_URL": server.url})[0] == ""


def test_texts_of_a_server_are_printed_harmless(skiff):
    with liar(as_list(view(reason="\x1b[2J", state="failed", labels={"a\x07": "\x1b]0;x"}, owner="\u202eevil"))) as server:
        for form in ("table", "wide", "json", "yaml"):
            out, _ = skiff("ps", "--everyone", "-o", form, "--url", server.url)
            assert "box" in out and not set("\x1b\x07\u202e") & set(out), (form, out)


def test_a_redirect_takes_the_key_nowhere(skiff):
    with liar(as_list()) as elsewhere:
        for status in (301, 302, 303, 307, 308):
            with liar((status, {"Location": elsewhere.url + "/v1/sandboxes"}, b"")) as server:
                for words in (("ps",), ("up", "box"), ("rm", "box"), ("exec", "box", "true")):
                    assert elsewhere.url in skiff(*words[:1], "--url", server.url, *words[1:], status=125)[1]
        assert elsewhere.asked == []


def test_a_certificate_is_looked_at_before_the_key_is_shown(tmp_path, skiff):
    certificate, key = make_certificate(tmp_path / "pki")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with liar(as_list(view()), context) as server:
        err = skiff("ps", "--url", server.url, status=125)[1]
        assert "--agent-certificate-authority" in err and server.asked == []
        trusted = ("--agent-certificate-authority", certificate)
        assert skiff("ps", "-q", "--everyone", "--url", server.url, *trusted)[0] == "box\n"
        named = server.url.replace("127.0.0.1", "localhost")
        assert "certificate" in skiff("ps", "--url", named, *trusted, status=125)[1]
        assert skiff("ps", "-q", "--everyone", "--url", named, *trusted, "--agent-server-name", "127.0.0.1")[0] == "box\n"
