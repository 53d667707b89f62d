"""Starting skiffd: its line, its settings, what it refuses, the ways to give a credential, `skiffd health`."""

import json
import os
import pathlib
import re
import socket
import subprocess

import pytest

from agent import command_line, environment
from waiting import until

TREE = pathlib.Path(__file__).resolve().parents[2]
NOTICE = TREE / "NOTICE"


def skiffd(*arguments, env=None, cwd=None, seconds=30):
    return subprocess.run(command_line(*arguments), env=environment(**(env or {})), cwd=cwd, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=seconds, text=True)


def refused(*arguments, cwd, status=2):
    """Checks that it does not start, says why on stderr and nothing on stdout; returns what it said."""
    done = skiffd(*arguments, cwd=cwd)
    assert (done.returncode, done.stdout) == (status, "") and done.stderr.strip(), done
    return done.stderr


def test_one_line_on_stdout_says_where_it_listens(agent):
    assert re.fullmatch(r"skiffd listening on http://127\.0\.0\.1:[1-9]\d*", agent.line)
    assert agent.request("GET", "/healthz").status == 200
    assert agent.terminate() == 143
    assert agent.process.stdout.read() == b""


def test_health_and_readiness_need_no_credential(agent):
    for path in ("/healthz", "/readyz"):
        assert agent.request("GET", path, headers={"Authorization": None}).status == 200


def test_it_listens_on_ip6(start_agent):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as error:
        pytest.skip(f"no IPv6 here: {error}")
    agent = start_agent(listen="[::1]:0")
    assert re.fullmatch(r"skiffd listening on http://\[::1\]:[1-9]\d*", agent.line)
    assert agent.run("echo hi")["stdout"] == "hi\n"
    done = subprocess.run(["curl", "-sSg", "-m", "20", "-H", f"Authorization: Bearer {agent.token}",
                           "--data-binary", "echo over six", f"{agent.url}/v1/run"],
                          capture_output=True, text=True, timeout=30)
    assert done.stdout == "over six\n", done
    assert skiffd("health", env={"SKIFF_LISTEN": agent.host}).returncode == 0


def test_help_lists_every_setting_with_its_variable():
    done = skiffd("--help")
    assert done.returncode == 0, done
    for flag in ("--listen", "--root", "--data-dir", "--token-file", "--token-sha256", "--public-key", "--sandbox-id",
                 "--print-token", "--allow-unauthenticated", "--allowed-host", "--allowed-origin", "--env-deny"):
        assert re.search(re.escape(flag) + r"\b", done.stdout), flag
    for variable in ("SKIFF_LISTEN", "SKIFF_ROOT", "SKIFF_TOKEN_FILE", "SKIFF_PUBLIC_KEY", "SKIFF_SANDBOX_ID"):
        assert re.search(variable + r"\b", done.stdout), variable
    for word in ("health", "install", "version", "licenses"):
        assert word in done.stdout


def test_version_is_the_same_on_the_command_line_and_over_http(agent):
    done = skiffd("version")
    assert done.returncode == 0
    version = re.search(r"\d+\.\d+\.\d+", done.stdout).group()
    answer = agent.request("GET", "/v1/version")
    assert answer.status == 200 and answer.json()["version"] == version


def test_it_prints_its_license_and_the_notices():
    done = skiffd("licenses")
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith("Licensed under the Apache License, Version 2.0")
    assert done.stdout.endswith("\n" + NOTICE.read_text())


@pytest.mark.parametrize("arguments, named", [
    (["--no-such-flag"], "--no-such-flag"),
    (["--listen", "nonsense", "--allow-unauthenticated"], "nonsense"),
    (["--listen", "127.0.0.1:99999", "--allow-unauthenticated"], "99999"),
    (["no-such-subcommand"], "no-such-subcommand"),
    (["--token-sha256", "abc"], "sha256"),
])
def test_a_bad_flag_ends_it_with_status_2_and_a_line_that_names_it(arguments, named, tmp_path):
    assert named in refused(*arguments, cwd=tmp_path)


@pytest.mark.parametrize("arguments, named", [
    (["--root", "/no/such/folder", "--allow-unauthenticated"], "/no/such/folder"),
    (["--token-file", "/no/such/token"], "/no/such/token"),
    (["--public-key", "/no/such/key"], "/no/such/key"),
])
def test_a_missing_file_is_named(arguments, named, tmp_path):
    assert named in refused("--listen", "127.0.0.1:0", *arguments, cwd=tmp_path)


def test_without_a_credential_it_refuses_and_says_what_to_set(tmp_path):
    said = refused("--listen", "127.0.0.1:0", cwd=tmp_path)
    assert all(one in said for one in ("--token-file", "SKIFF_TOKEN", "--print-token"))


def test_an_empty_token_file_does_not_count_as_a_credential(tmp_path):
    (tmp_path / "token").write_text("\n\n")
    refused("--listen", "127.0.0.1:0", "--token-file", tmp_path / "token", cwd=tmp_path)


def test_print_token_makes_a_token_and_prints_it_with_lines_to_paste(start_agent):
    agent = start_agent("--print-token", credential=False)
    until(lambda: "skiff shell" in agent.log(), what="lines to paste on stderr")
    token = re.search(r"^token: ([A-Za-z0-9._~+/=-]+)$", agent.log(), re.M).group(1)
    assert len(token) >= 20
    export, curl = re.findall(r"^  ((?:export|curl) .*)$", agent.log(), re.M)
    pasted = subprocess.run(["bash", "-ec", f"{export}\n{curl}"], capture_output=True, text=True, timeout=60, cwd=agent.root)
    assert (pasted.stdout, pasted.stderr) == ("hello from Linux\n", "")
    assert agent.request("GET", "/v1/sessions", token=token).status == 200
    assert agent.request("GET", "/v1/sessions", token=token + "x").status == 401
    for line in re.findall(r"^  (.*shell.*)$", agent.log(), re.M):
        line = line.replace("skiff shell", os.environ["SKIFF"] + " shell")
        # The line runs in the clone, with only the two variables.
        shell = subprocess.run(["bash", "-ec", f"{export}\n{line}"], input="echo $((6 * 7)); exit 7\n", capture_output=True, text=True,
                               timeout=60, cwd=TREE, env=environment(HOME=agent.home))
        assert (shell.returncode, "42" in shell.stdout) == (7, True), (line, shell)
    # And what the README's lines read.
    assert f"export SKIFF_URL={agent.url} SKIFF_TOKEN={token}\n" in agent.log()


def test_settings_come_from_variables_too_and_a_flag_wins(start_agent, tmp_path):
    root = tmp_path / "other"
    root.mkdir()
    agent = start_agent(credential=False, env={"SKIFF_TOKEN": "from-the-environment", "SKIFF_ROOT": root})
    answer = agent.request("POST", "/v1/commands", json={"command": "pwd; env"}, token="from-the-environment")
    assert answer.status == 200, answer
    out = answer.json()["stdout"]
    assert out.splitlines()[0] == str(agent.root)  # --root was given as well
    assert "from-the-environment" not in out and "SKIFF_" not in out


def test_an_unknown_variable_is_reported(start_agent):
    agent = start_agent(env={"SKIFF_LISTNE": "x", "SKIFF_MY_OWN": "x", "SKIFF_DRIVER": "local", "SKIFF_PORT": "tcp://10.0.0.1:80"})
    until(lambda: "SKIFF_LISTNE is not a variable of skiffd: did you mean SKIFF_LISTEN?" in agent.log(), what="a warning")
    assert "SKIFF_MY_OWN is not a variable of skiffd, and is ignored" in agent.log()
    assert "SKIFF_DRIVER" not in agent.log() and "SKIFF_PORT" not in agent.log()


def test_a_token_that_may_be_guessed_causes_a_warning(start_agent):
    agent = start_agent(tokens=("short read",), env={"SKIFF_TOKEN": "a"})
    until(lambda: agent.log().count("is so short that it may be guessed") == 2, what="two warnings")
    assert '"where":"SKIFF_TOKEN"' in agent.log() and '"where":"--token-file, line 2"' in agent.log() and "short read" not in agent.log()
    assert "guessed" not in start_agent().log()


def test_the_root_can_come_from_a_variable_alone(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    with subprocess.Popen(command_line("--listen", "127.0.0.1:0", "--allow-unauthenticated"), cwd=tmp_path,
                          env=environment(SKIFF_ROOT=root), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            url = process.stdout.readline().decode().split()[-1]
            done = subprocess.run(["curl", "-sS", "-m", "20", "--data-binary", "pwd", url + "/v1/run"], timeout=30,
                                  capture_output=True, text=True)
            assert done.stdout == f"{root}\n", done
        finally:
            process.terminate()
            assert process.wait(15) == 143


def test_only_the_digest_of_a_token_need_be_known(start_agent):
    digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"  # of "test"
    agent = start_agent("--token-sha256", digest, credential=False)
    assert agent.request("GET", "/v1/sessions", token="test").status == 200
    assert agent.request("GET", "/v1/sessions", token=digest).status == 401


def test_allow_unauthenticated_warns_and_serves_everybody(start_agent):
    agent = start_agent("--allow-unauthenticated", credential=False)
    answer = agent.request("POST", "/v1/commands", json={"command": "echo hi"}, headers={"Authorization": None})
    assert answer.status == 200 and answer.json()["stdout"] == "hi\n"
    until(lambda: re.search("unauthenticated|without (a )?(credential|authentication)", agent.log(), re.I),
          what="a warning in the log")


def test_several_listeners_serve_the_same_agent_and_unix_sockets_work(start_agent, tmp_path):
    path = tmp_path / "skiff.sock"
    agent = start_agent("--listen", f"unix:{path}")
    until(path.exists)
    done = subprocess.run(["curl", "-sS", "-m", "20", "--unix-socket", str(path),
                           "-H", f"Authorization: Bearer {agent.token}",
                           "--data-binary", "echo over unix", "http://localhost/v1/run"],
                          capture_output=True, text=True, timeout=30)
    assert done.stdout == "over unix\n", done
    assert agent.request("GET", "/healthz").status == 200


def test_a_unix_socket_alone_is_enough(start_agent, tmp_path):
    agent = start_agent(listen=f"unix:{tmp_path}/only.sock")
    assert agent.run("echo hi")["stdout"] == "hi\n"
    assert agent.terminate() == 143
    assert not os.path.exists(f"{tmp_path}/only.sock")


def test_a_unix_socket_left_by_a_killed_agent_is_taken_over(start_agent, tmp_path):
    path = tmp_path / "left.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
        left.listen()
    agent = start_agent(listen=f"unix:{path}")
    assert agent.run("echo hi")["stdout"] == "hi\n"


def test_an_inherited_unix_socket_is_served_and_no_command_gets_it(start_agent, tmp_path):
    path = tmp_path / "inherited.sock"
    with socket.socket(socket.AF_UNIX) as inherited:
        inherited.bind(str(path))
        inherited.listen()
        number = inherited.fileno()
        agent = start_agent("--listen", f"fd:{number}", pass_fds=[number])
    assert agent.next_line() == f"skiffd listening on fd:{number}"
    done = subprocess.run(["curl", "-sS", "-m", "20", "--unix-socket", str(path),
                           "-H", f"Authorization: Bearer {agent.token}",
                           "--data-binary", "ls -l /proc/self/fd", "http://localhost/v1/run"],
                          capture_output=True, text=True, timeout=30)
    assert "pipe:" in done.stdout and "socket:" not in done.stdout, done
    assert agent.terminate() == 143
    assert path.exists(), "the file belongs to the program that created the socket"


@pytest.mark.parametrize("kind", ["tcp", "silent", "file", "closed"])
def test_an_inherited_descriptor_that_is_no_listening_unix_socket_is_refused(tmp_path, kind):
    with socket.socket(socket.AF_INET if kind == "tcp" else socket.AF_UNIX) as one, open(os.devnull, "rb") as file:
        if kind == "tcp":
            one.bind(("127.0.0.1", 0))
            one.listen()
        number = {"tcp": one.fileno(), "silent": one.fileno(), "file": file.fileno(), "closed": 900}[kind]
        done = subprocess.run(command_line("--listen", f"fd:{number}", "--allow-unauthenticated"), cwd=tmp_path, timeout=30,
                              pass_fds=[] if kind == "closed" else [number], env=environment(), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "") and f"listen on fd:{number}: " in done.stderr, done


def test_a_port_that_is_taken_is_reported(tmp_path):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        address = f"127.0.0.1:{holder.getsockname()[1]}"
        said = refused("--listen", address, "--allow-unauthenticated", cwd=tmp_path, status=1)
    assert address in said and re.search("in use", said, re.I)
    assert "--listen 127.0.0.1:0 or SKIFF_LISTEN=127.0.0.1:0 selects a free port" in said


@pytest.mark.parametrize("setting", ["--listen={}", "--dialect=python-runtime={}"])
def test_it_listens_nowhere_if_a_further_port_is_taken(tmp_path, setting):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        address = f"127.0.0.1:{holder.getsockname()[1]}"
        said = refused("--listen", "127.0.0.1:0", setting.format(address), "--allow-unauthenticated", cwd=tmp_path, status=1)
    assert address in said and re.search("in use", said, re.I)


def test_the_error_for_a_taken_unix_socket_does_not_mention_ports(tmp_path):
    path = tmp_path / "taken.sock"
    with socket.socket(socket.AF_UNIX) as holder:
        holder.bind(str(path))
        holder.listen()
        said = refused("--listen", f"unix:{path}", "--allow-unauthenticated", cwd=tmp_path, status=1)
    assert str(path) in said and "free port" not in said


def test_launch_takes_settings_from_its_file_alone(agent, tmp_path):
    plan = tmp_path / "launch.json"
    plan.write_text(json.dumps({"arguments": ["health"], "environment": {"SKIFF_LISTEN": agent.host}}))
    of_the_image = {"SKIFF_MAX_SESSIONS": "many", "SKIFF_TOKEN": "of-the-image", "SKIFF_DIALECT": "nonsense"}
    assert skiffd("health", env={**of_the_image, "SKIFF_LISTEN": agent.host}).returncode == 2
    done = skiffd("launch", plan, env=of_the_image)
    assert done.returncode == 0, done


def test_health_asks_a_running_agent_and_fails_for_none(start_agent):
    agent = start_agent()
    assert skiffd("health", env={"SKIFF_LISTEN": agent.host}).returncode == 0
    assert agent.terminate() == 143
    done = skiffd("health", env={"SKIFF_LISTEN": agent.host})
    assert done.returncode == 1 and done.stderr.strip(), done


def test_install_copies_a_binary_that_works(tmp_path):
    done = skiffd("install", tmp_path)
    assert done.returncode == 0, done
    copy = tmp_path / "skiffd"
    assert os.access(copy, os.X_OK)
    assert subprocess.run([copy, "version"], capture_output=True, timeout=20).returncode == 0


def test_logs_are_json_lines_when_stderr_is_not_a_terminal(agent):
    agent.run("echo hi")
    for line in agent.log().splitlines():
        assert isinstance(json.loads(line), dict), line
