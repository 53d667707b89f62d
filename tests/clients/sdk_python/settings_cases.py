"""The host that is asked for sandboxes, by arguments and by the environment; and errors without any host."""

import contextlib
import os

import cases
from skiff_sandbox import Sandbox, SkiffError
from skiff_sandbox._code import result_of
from skiff_sandbox._settings import Agent, Launcher, Server, host_of, milliseconds


def host(arguments=(), **variables):
    names = ("SKIFF_URL", "SKIFF_TOKEN", "SKIFF_API_KEY", "SKIFF_DRIVER", "SKIFF")
    for name in names:
        os.environ.pop(name, None)
    os.environ.update(variables)
    return host_of(*(dict(arguments).get(name) for name in ("url", "token", "api_key", "driver")))


def refused(code, work):
    try:
        work()
    except SkiffError as error:
        assert error.code == code, error
        return error
    raise AssertionError(f"no {code}")


def case_the_environment_says_whom(_):
    url = "http://127.0.0.1:7070"
    assert host(SKIFF_URL=url + "/", SKIFF_TOKEN="t") == Agent(url, "t")
    assert host(SKIFF_URL=url, SKIFF_API_KEY="k") == Server(url, "k")
    assert host() == Launcher("skiff", None)
    assert host(SKIFF="/opt/skiff", SKIFF_DRIVER="pod") == Launcher("/opt/skiff", "pod")
    assert host(SKIFF_DRIVER="auto") == Launcher("skiff", None)
    assert host(SKIFF_URL=url, SKIFF_API_KEY="k", SKIFF_DRIVER="serve") == Server(url, "k")


def case_arguments_go_before_the_environment(_):
    url = "https://example.org"
    assert host({"url": url, "token": "t"}, SKIFF_URL="http://other", SKIFF_API_KEY="k", SKIFF_DRIVER="local") == Agent(url, "t")
    assert host({"api_key": "k"}, SKIFF_URL=url, SKIFF_TOKEN="t") == Server(url, "k")
    assert host({"driver": "local"}, SKIFF_URL=url, SKIFF_TOKEN="t") == Launcher("skiff", "local")


def case_two_answers_to_one_question_are_refused(_):
    url = "http://127.0.0.1:7070"
    for variables in ({"SKIFF_URL": url}, {"SKIFF_TOKEN": "t"}, {"SKIFF_URL": url, "SKIFF_TOKEN": "t", "SKIFF_API_KEY": "k"},
                      {"SKIFF_URL": url, "SKIFF_TOKEN": "t", "SKIFF_DRIVER": "local"}, {"SKIFF_URL": "x", "SKIFF_TOKEN": "t"}):
        refused("not_configured", lambda variables=variables: host(**variables))
    refused("not_configured", lambda: host({"url": url, "token": "t", "driver": "local"}))


def case_durations(_):
    assert [milliseconds(one) for one in ("90s", "1h", "1.5m", "7d", "20ms", 3, 0.25, None)] == [
        90_000, 3_600_000, 90_000, 604_800_000, 20, 3000, 250, None]
    for wrong in ("90", "1 h", "", "h", "-1s"):
        refused("invalid_field", lambda wrong=wrong: milliseconds(wrong))


def case_nobody_answers(_):
    host()
    refused("not_configured", lambda: Sandbox.create())
    error = refused("connection_failed", lambda: Sandbox.connect(url="http://127.0.0.1:9", token="t"))
    assert error.status == 0 and "ConnectError" in error.detail


def case_bytes_of_a_result_that_are_not_base64(_):
    assert result_of({"type": "result", "png": "/wA=\n", "text": "t"}).png == b"\xff\0"
    for wrong in ("A", "AAAAA", "\u00e4", 7):
        assert "png" in refused("invalid_answer", lambda wrong=wrong: result_of({"png": wrong})).detail


if __name__ == "__main__":
    cases.main(contextlib.nullcontext)
