"""Sessions: create, show, list, change, delete, the environment they give, and what runs in them."""

import os

import pytest

import proc
from waiting import until, with_time


def pids_in(value):
    """Every integer below a key `pid` or `pids`, however deep."""
    if isinstance(value, dict):
        for key, below in value.items():
            if key == "pid":
                yield below
            else:
                yield from pids_in(below)
    elif isinstance(value, list):
        for below in value:
            yield from pids_in(below)


def test_the_default_session_always_exists_and_stays(agent):
    assert agent.request("GET", "/v1/sessions/default").json()["id"] == "default"
    agent.request("DELETE", "/v1/sessions/default").problem(409, "session_protected")
    assert agent.run("echo hi")["stdout"] == "hi\n"


def test_a_created_session_says_where_it_is(agent):
    answer = agent.request("POST", "/v1/sessions", json={"labels": {"team": "a"}})
    assert answer.status == 201
    sid = answer.json()["id"]
    assert answer.headers["Location"] == f"/v1/sessions/{sid}"
    shown = agent.request("GET", answer.headers["Location"])
    assert shown.status == 200 and shown.json()["id"] == sid and shown.json()["labels"] == {"team": "a"}


def test_ids_made_by_the_server_sort_by_time(agent):
    ids = [agent.session() for _ in range(5)]
    assert len(set(ids)) == 5 and ids == sorted(ids)


@pytest.mark.parametrize("sid", ["-a", "a" * 65, "a/b", "", "ä", "a b", ".."])
def test_an_id_of_another_form_is_refused(agent, sid):
    agent.request("POST", "/v1/sessions", json={"id": sid}).problem(400)


def test_creating_an_id_that_exists_is_a_conflict(agent):
    agent.session(id="mine")
    agent.request("POST", "/v1/sessions", json={"id": "mine"}).problem(409, "session_conflict")


def test_put_makes_a_session_once_and_answers_the_same_one_again(agent):
    body = {"env": {"A": "1"}, "labels": {"x": "y"}}
    first = agent.request("PUT", "/v1/sessions/mine", json=body)
    again = agent.request("PUT", "/v1/sessions/mine", json=body)
    assert (first.status, again.status) == (201, 200)
    assert again.json()["id"] == first.json()["id"] == "mine"
    agent.request("PUT", "/v1/sessions/mine", json={**body, "env": {"A": "2"}}).problem(409, "session_conflict")
    assert agent.run("echo $A", session="mine")["stdout"] == "1\n"


def test_the_list_is_paged_and_filtered_by_labels(agent):
    for number in range(7):
        agent.session(id=f"s{number}", labels={"parity": "odd" if number % 2 else "even", "all": "yes"})
    seen, cursor = [], ""
    while cursor is not None:
        page = agent.request("GET", f"/v1/sessions?limit=3{cursor and '&cursor=' + cursor}").json()
        assert len(page["items"]) <= 3
        seen += [item["id"] for item in page["items"]]
        cursor = page.get("next_cursor")
    assert sorted(seen) == sorted(["default"] + [f"s{number}" for number in range(7)])

    def listed(*labels):
        text = "&".join("label=" + label.replace("=", "%3D") for label in labels)
        return sorted(item["id"] for item in agent.request("GET", "/v1/sessions?" + text).json()["items"])

    assert listed("parity=odd") == ["s1", "s3", "s5"]
    assert listed("parity=odd", "all=yes") == ["s1", "s3", "s5"]
    assert listed("parity=odd", "all=no") == []
    agent.request("GET", "/v1/sessions?limit=0").problem(400)
    agent.request("GET", "/v1/sessions?cursor=%25%25").problem(400)


def test_a_merge_patch_changes_what_may_change(agent):
    sid = agent.session(labels={"a": "1", "b": "2"}, env={"A": "1", "B": "2"})

    def patch(body, kind="application/merge-patch+json"):
        return agent.request("PATCH", f"/v1/sessions/{sid}", json=body, headers={"Content-Type": kind})

    assert patch({"labels": {"b": None, "c": "3"}}).status == 200
    assert agent.request("GET", f"/v1/sessions/{sid}").json()["labels"] == {"a": "1", "c": "3"}
    (agent.root / "sub").mkdir()
    assert patch({"env": {"A": None, "C": "3"}, "cwd": "sub"}).status == 200
    assert agent.run("echo $A.$B.$C; pwd", session=sid)["stdout"] == f".2.3\n{agent.root}/sub\n"
    assert patch({"default_timeout_ms": 200}).status == 200
    assert agent.run("sleep 60", session=sid)["cause"] == "timeout"
    assert patch({"root": "/"}).status == 400
    assert patch({"labels": 7}).status == 400
    patch({}, "text/plain").problem(415)


def test_the_default_timeout_of_a_session_gives_way_to_the_commands_own(agent):
    sid = agent.session(default_timeout_ms=100)
    assert agent.run("sleep 0.5; echo done", session=sid, timeout_ms=30_000)["stdout"] == "done\n"
    assert agent.run("sleep 60", session=sid)["cause"] == "timeout"


def test_root_and_cwd_decide_where_commands_run(agent):
    (agent.root / "work" / "deep").mkdir(parents=True)
    sid = agent.session(root=str(agent.root / "work"), cwd="deep")
    assert agent.run("pwd", session=sid)["stdout"] == f"{agent.root}/work/deep\n"
    assert agent.run("pwd", session=sid, cwd="..")["stdout"] == f"{agent.root}/work\n"
    assert agent.run("pwd", session=sid, cwd=str(agent.root / "work"))["stdout"] == f"{agent.root}/work\n"


def test_deleting_a_session_ends_its_commands_and_tells_their_readers(agent):
    sid = agent.session()
    script = "trap '' TERM; (setsid sleep 300 &) ; sleep 301 & echo up; wait; sleep 302"
    with agent.stream("POST", f"/v1/sessions/{sid}/commands",
                      json={"command": script, "mode": "stream", "kill_grace_ms": 100}) as stream:
        events = stream.events()
        started = next(events)
        assert next(events)["data"] == "up\n"
        assert agent.request("DELETE", f"/v1/sessions/{sid}").status == 204
        last = list(events)[-1]
        assert (last["type"], last["cause"]) == ("exit", "session_deleted")
    until(lambda: not agent.strays(), what=f"processes of the session: {agent.strays()}")
    assert not proc.alive(started["pid"])
    agent.request("GET", f"/v1/sessions/{sid}").problem(404, "session_not_found")
    agent.request("POST", f"/v1/sessions/{sid}/commands", json={"command": "true"}).problem(404, "session_not_found")
    agent.request("DELETE", f"/v1/sessions/{sid}").problem(404, "session_not_found")


def test_purge_deletes_the_root_too_and_only_that(agent):
    for name in ("kept", "purged"):
        (agent.root / name / "below").mkdir(parents=True)
        (agent.root / name / "link").symlink_to(agent.root)
        agent.session(id=name, root=str(agent.root / name))
    assert agent.request("DELETE", "/v1/sessions/kept").status == 204
    assert agent.request("DELETE", "/v1/sessions/purged?purge=true").status == 204
    until(lambda: not (agent.root / "purged").exists())
    assert (agent.root / "kept" / "below").is_dir()


def test_processes_lists_the_whole_tree_of_each_command(agent):
    sid = agent.session()
    started = agent.start("sleep 300 & (setsid sleep 301 &); echo up; wait", session=sid)
    path = f"/v1/sessions/{sid}/processes"

    def whole():
        found = set(pids_in(agent.request("GET", path).json()))
        sleeps = {pid for pid in agent.strays() if proc.name(pid) == "sleep"}
        return found if len(sleeps) == 2 and sleeps | {started["pid"]} <= found else None

    assert started["pid"] in until(whole, what="the shell and its two sleeps in the list")
    assert not set(pids_in(agent.request("GET", "/v1/sessions/default/processes").json()))


def test_the_environment_is_the_agents_without_what_is_denied_plus_the_sessions(start_agent):
    agent = start_agent("--env-deny", "DENIED", env={"GIVEN": "agent", "OVER": "agent", "DENIED": "agent",
                                                     "UNSET": "agent", "SKIFF_LOG_LEVEL": "info"})
    sid = agent.session(env={"OVER": "session", "MORE": "two words"}, env_unset=["UNSET"])
    seen = dict(line.split("=", 1) for line in agent.run("env", session=sid)["stdout"].splitlines() if "=" in line)
    assert (seen["GIVEN"], seen["OVER"], seen["MORE"]) == ("agent", "session", "two words")
    assert "DENIED" not in seen and "UNSET" not in seen
    assert not [name for name in seen if name.startswith("SKIFF")]


def test_the_basic_variables_are_always_set(start_agent):
    agent = start_agent(env={"HOME": "", "USER": "", "LOGNAME": "", "SHELL": "", "LANG": "", "FOREIGN": "x"})
    for fields in ({}, {"env_inherit": False}):
        sid = agent.session(**fields)
        done = agent.run(argv=["/usr/bin/env"], session=sid)
        seen = dict(line.split("=", 1) for line in done["stdout"].splitlines())
        for name in ("HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG"):
            assert seen.get(name), (name, fields, seen)
        assert ("FOREIGN" in seen) == (fields == {})


def test_a_secret_of_a_session_reaches_commands_and_nothing_else(agent):
    secret = "s3cret-91c0ffee"
    made = agent.request("POST", "/v1/sessions", json={"id": "s", "secret_env": {"KEY": secret}, "env": {"OPEN": "1"}})
    assert made.status == 201, made
    started = agent.start(f"[ ${{#KEY}} = {len(secret)} ] && touch seen; sleep 300", session="s", id="c")
    until((agent.root / "seen").exists)
    for path in ("/v1/sessions", "/v1/sessions/s", "/v1/sessions/s/processes", "/v1/sessions/s/commands/c"):
        answer = agent.request("GET", path)
        assert answer.status == 200
        assert secret not in answer.text, path
    for bad in ({"secret_env": {"KEY": secret}, "unheard_of": 1}, {"secret_env": {"BAD=NAME": secret}},
                {"secret_env": {"KEY": [secret]}}):
        answer = agent.request("POST", "/v1/sessions", json=bad)
        assert answer.status == 400 and secret not in answer.text
    assert os.path.exists(f"/proc/{started['pid']}")
    assert secret not in agent.log()


def in_one_that_idles(agent, command):
    """A session that ends when it is idle, and what a command in it answers; `{}` in the command is three times that time."""
    def run(seconds):
        sid = agent.session(idle_timeout_ms=int(seconds * 1000))
        return sid, agent.request("POST", f"/v1/sessions/{sid}/commands", json={"command": command.format(seconds * 3)})

    return with_time(run, lambda done: done[1].status != 404)


def test_an_idle_session_goes_away_by_itself(agent):
    sid, answer = in_one_that_idles(agent, "echo hi")
    assert answer.json()["stdout"] == "hi\n"
    until(lambda: sid not in [item["id"] for item in agent.request("GET", "/v1/sessions").json()["items"]],
          what="the end of an idle session")


def test_a_session_with_a_running_command_is_not_idle(agent):
    _, answer = in_one_that_idles(agent, "sleep {}; echo lived")
    assert answer.json()["stdout"] == "lived\n"
