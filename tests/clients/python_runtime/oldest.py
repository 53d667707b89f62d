"""k8s-agent-sandbox 0.2.1, which langchain-kubernetes 0.4.0 needs: the client is the sandbox. It has no asynchronous one."""

import os
import pathlib

import cases
import requests
from k8s_agent_sandbox import SandboxClient


def sandbox():
    return SandboxClient(template_name="template", api_url=cases.URL)


def case_run(sandbox):
    result = sandbox.run("echo out | cat; echo err >&2; exit 3")
    assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 3)


def case_write_keeps_the_last_name_alone(sandbox):
    sandbox.write("/any/where/data.csv", b"1,2")
    assert (pathlib.Path(cases.ROOT) / "data.csv").read_bytes() == b"1,2"
    assert sandbox.read("data.csv") == b"1,2"


def case_read_what_pwd_prints(sandbox):
    assert sandbox.run("mkdir -p sub; echo x > sub/f").exit_code == 0
    assert sandbox.read(f"{cases.ROOT}/sub/f") == b"x\n"


def case_odd_names(sandbox):
    for name in cases.ODD_NAMES:
        if "/" in name:
            continue
        sandbox.write(name, name)
        assert sandbox.read(name) == name.encode(), name
        assert sandbox.exists(name), name


def case_list(sandbox):
    sandbox.run("mkdir -p tree/sub; printf 12345 > tree/f")
    assert sorted((one.name, one.type, one.size) for one in sandbox.list("tree") if one.type == "file") == [("f", "file", 5)]
    assert "tree" in [one.name for one in sandbox.list(".")]


def case_large_file_both_ways(sandbox):
    data = os.urandom(64 << 20)
    sandbox.write("large", data)
    assert sandbox.read("large") == data


def case_what_is_missing_is_an_error(sandbox):
    error = cases.raises(Exception, lambda: sandbox.read("nope"))
    assert "404" in str(error) or isinstance(error, requests.RequestException) or "communicate" in str(error), error
    assert sandbox.exists("nope") is False


if __name__ == "__main__":
    cases.main(sandbox)
