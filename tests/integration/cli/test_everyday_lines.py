"""Everyday lines of those who know only kubectl and docker, as they type them: each works, or says the line that does.

Lines that stay on a terminal (`run -it`, `get -w`, `port-forward`) are tried in test_shell_attach.py, test_ps_describe.py and
test_forward.py. An image needs a cluster: those lines are held to what they would make of it."""

import json
import os
import pwd
import shlex

import pytest

from launcher import DRIVER, NO_IMAGE
from waiting import until

#: The user of the agents, as their commands name it.
AGENTS_USER = "user" if DRIVER == "box" else pwd.getpwuid(os.geteuid()).pw_name
RUN_WEB = ("run", "-q", "-d", "--name", "web", "-l", "app=x", "--", "sh", "-c", "seq 20; exec sleep 1000")


def typed(skiff, line, **options):
    program, *words = shlex.split(line)
    assert program == "skiff"
    return skiff(*words, **options)


def made(skiff):
    skiff(*RUN_WEB)
    until(lambda: skiff("logs", "web")[0].endswith("20\n"), what="its output")
    return skiff


@pytest.fixture(scope="module")
def looked_at(make_skiff, tmp_path_factory):
    """A sandbox that nobody changes."""
    client = make_skiff(tmp_path_factory.mktemp("lines"))
    root = made(client).root("web")
    (root / "sub").mkdir()
    (root / "there.txt").write_text("there\n")
    (client.work / "f.txt").write_text("here\n")
    yield client
    client.finish()


LOOK = {  # the line -> what it prints
    "skiff ps": "running",
    "skiff ps -a": "web",
    "skiff ps -q": "web\n",
    "skiff get po": "web",
    "skiff get pod": "web",
    "skiff get all": "web",
    "skiff get pods --sort-by=.created_at": "web",
    "skiff get pods -o wide": "LAST USED",
    "skiff get pods -o name": "web\n",
    "skiff get pods -l app=x": "web",
    "skiff get pod web -o jsonpath='{.state}'": "running",
    "skiff ls -o json": '"items"',
    "skiff describe pod web": "labels:",
    "skiff inspect web": "labels:",
    "skiff logs --tail 2 web": "19\n20\n",
    "skiff logs --tail=2 pod/web": "19\n20\n",
    "skiff logs --since 1h web": "1\n2\n",
    "skiff exec web ls": "sub",
    "skiff exec -i web -- sh -c 'echo hi'": "hi\n",
    "skiff exec -w sub -e A=b web sh -c 'basename $PWD; echo $A'": "sub\nb\n",
    "skiff exec --workdir sub web pwd": "/web/root/sub\n" if DRIVER == "local" else "/workspace/sub\n",
    f"skiff exec -u {AGENTS_USER} web id -un": f"{AGENTS_USER}\n",
    "skiff cp f.txt web:copied.txt": "",
    "skiff cp web:there.txt g.txt": "",
    "skiff exec web cat there.txt": "there\n",
    "skiff top web": "main",
    "skiff top pod web": "main",
    "skiff rm nosuch": "",
    "skiff delete pod nosuch --ignore-not-found": "",
    "skiff delete pods -l app=x --dry-run=client": "web\n",
    "skiff version": "skiff",
    "skiff -v": "skiff",
    "skiff help run": "usage: skiff run",
    "skiff run --help": "usage: skiff run",
    "skiff completion bash": "complete -F",
}


@pytest.mark.parametrize("line", LOOK)
def test_a_line_that_only_reads_works_as_it_is_typed(looked_at, line):
    assert LOOK[line] in typed(looked_at, line)[0]


HINTS = {  # the line -> what it says to type
    "skiff ps --filter label=app=x": "--label NAME=VALUE",
    "skiff ps -f status=running": "--status STATUS",
    "skiff ps --format json": "-o json",
    "skiff ps --format '{{.Names}}'": "-o jsonpath=",
    "skiff get pods --selector app=x": "-l NAME=VALUE",
    "skiff get pods --sort-by=.metadata.creationTimestamp": ".created_at",
    "skiff get pods -v=6": "--log-requests",
    "skiff -v=6 get pods": "--log-requests",
    "skiff get pods --as=joe": "kubeconfig",
    "skiff ps --last 3": "--limit N",
    "skiff run -p 8080:80 nginx": "--port PORT",
    "skiff run -v /data:/data alpine ls": "--volume SIZE:PATH",
    "skiff run -m 512m alpine ls": "--memory 512Mi",
    "skiff run --user 1000 alpine id": "-u UID[:GID]",
    "skiff run --restart=always alpine ls": "skiff start NAME",
    "skiff run --rm --privileged alpine ls": "--pod-overrides FILE",
    "skiff run --rm --entrypoint sh alpine -c 'echo hi'": "skiff run IMAGE COMMAND",
    "skiff run web --image=nginx --command -- sleep 9": "omit it",
    "skiff run web --image=nginx -- true": "takes no image",
    "skiff run web --image=nginx --name other -- true": "is another one",
    "skiff run nginx": "the command to run is missing",
    "skiff exec -c main web ls": "omit it",
    "skiff logs -t web": "--timestamps",
    "skiff logs -l app=x": "skiff logs NAME",
    "skiff logs -n 5 web": "--tail 5",
    "skiff cp f.txt web:/tmp/f.txt": "skiff exec -i web sh -c 'cat > /tmp/f.txt'",
    "skiff cp web:/etc/hostname .": "skiff exec web cat /etc/hostname > FILE",
    "skiff cp -r f.txt web:f.txt": "omit it",
    "skiff up new --timeout 2m": "--wait TIME",
    "skiff stop --time 5 web": "-t TIME",
    "skiff stop -s INT web": "skiff kill NAME",
    "skiff start -ai web": "skiff attach NAME",
    "skiff rm -v web": "omit it",
    "skiff top pods": "skiff top NAME",
    "skiff stats --no-stream": "skiff top NAME",
    "skiff events": "skiff describe NAME",
    "skiff get events": "skiff describe NAME",
    "skiff delete -f pod.yaml": "kubectl delete -f pod.yaml",
    "skiff debug web -it --image=busybox": "skiff shell NAME",
    "skiff label pod web tier=front": "--label NAME=VALUE",
    "skiff expose pod web --port 80": "--service KIND",
    "skiff port web": "skiff forward NAME PORT",
    "skiff rollout restart deployment/web": "skiff start NAME",
    "skiff system prune": "skiff gc",
    "skiff container ls": "skiff ps",
    "skiff cluster-info": "skiff doctor",
    "skiff auth can-i create pods": "skiff rbac",
    "skiff restart web": "skiff stop NAME && skiff start NAME",
    "skiff wait --for=condition=Ready pod/web": "wait automatically",
    "skiff apply -f pod.yaml": "skiff manifest NAME",
    "skiff pss": 'did you mean "ps"?',
    "skiff rnu -- true": 'did you mean "run"?',
}


@pytest.mark.parametrize("line", HINTS)
def test_a_line_that_skiff_writes_differently_says_how(looked_at, line):
    out, err = typed(looked_at, line, status=125)
    assert out == "" and HINTS[line] in err
    assert looked_at.names() == ["web"] and looked_at("ps", "-o", "jsonpath={.items[*].state}")[0] == "running"


NOTES = {  # the line works, and says what it did not do
    "skiff get pod web -o jsonpath='{.status.phase}'": ".state",
    "skiff ps -o jsonpath='{.items[*].metadata.name}'": ".items[*].name",
    "skiff rm nosuch": "nosuch: there is none",
}


@pytest.mark.parametrize("line", NOTES)
def test_a_line_that_does_nothing_says_so(looked_at, line):
    out, err = typed(looked_at, line)
    assert out.strip() == "" and NOTES[line] in err


def test_nothing_is_said_of_what_may_be_missing(looked_at):
    assert typed(looked_at, "skiff get pod web -q -o jsonpath={.status.phase}") == ("", "")
    assert typed(looked_at, "skiff rm nosuch --ignore-not-found") == ("", "")
    assert typed(looked_at, "skiff ps -l none=such -o jsonpath='{.items[*].metadata.name}'") == ("", "")


def test_a_command_of_another_user_needs_an_agent_that_may(looked_at):
    status = 0 if os.geteuid() == 0 else 125
    out, err = typed(looked_at, "skiff exec -u daemon -w / web id -un", status=status)
    assert out == "daemon\n" if status == 0 else "skiff up NAME -u UID" in err
    assert "no-such-user" in typed(looked_at, "skiff exec --user no-such-user web id", status=125)[1]


CHANGE = [  # lines in their order, and what is there afterwards
    (["skiff stop -t 5s web", "skiff start web"], ["web"], "running"),
    (["skiff stop -t 1 web"], ["web"], "stopped"),
    (["skiff rm -f web nosuch"], [], ""),
    (["skiff delete pod web --force --grace-period=0"], [], ""),
    (["skiff delete pods --all"], [], ""),
    (["skiff delete pods -l app=x"], [], ""),
    (["skiff gc --dry-run=client", "skiff rm --dry-run=server web", "skiff rm --all --dry-run"], ["web"], "running"),
    (["skiff extend web --ttl 1h --wait 30s", "skiff kill -s TERM web"], ["web"], "running"),
]


@pytest.mark.parametrize("lines, left, state", CHANGE, ids=[" ; ".join(lines) for lines, _, _ in CHANGE])
def test_lines_that_change_something(skiff, lines, left, state):
    made(skiff)
    for line in lines:
        typed(skiff, line)
    assert skiff.names() == left
    assert skiff("ps", "-o", "jsonpath={.items[*].state}")[0] == state


def test_a_command_of_its_own_is_run_as_docker_runs_it(skiff):
    assert typed(skiff, "skiff run -q --rm -- echo hi")[0] == "hi\n"
    assert typed(skiff, "skiff run -q -i --rm -- cat", typed=b"hello\n")[0] == "hello\n"
    assert typed(skiff, "skiff run -q --rm -e FOO=bar -e BAZ -- sh -c 'echo $FOO $BAZ'", env={"BAZ": "qux"})[0] == "bar qux\n"
    assert NO_IMAGE in typed(skiff, "skiff run --rm alpine echo hi", status=125)[1]


RUNS = {  # the line -> what its container is like
    "skiff run --rm --dry-run=client alpine echo hi": {"image": "alpine"},
    "skiff run -d --name web -u 1000:1001 --dry-run=client alpine sleep 300": {"image": "alpine", "runAsUser": 1000, "runAsGroup": 1001},
    "skiff run --name dry --image=alpine --dry-run=client -- sleep 1": {"image": "alpine", "name": "skiff-dry"},
    "skiff run web --image=nginx --dry-run=client -- sleep 9": {"image": "nginx", "name": "skiff-web"},
    "skiff run tmp --rm -i --image=busybox --dry-run=client -- sh": {"image": "busybox", "name": "skiff-tmp"},
}


@pytest.mark.parametrize("line", RUNS)
def test_a_run_in_a_cluster_is_tried_dry_and_says_what_it_leaves_out(skiff, line):
    cluster = {"SKIFF_DRIVER": "pod", "SKIFF_AGENT_IMAGE": "registry.test/skiffd", "SKIFF_OUTPUT": "json"}
    out, err = typed(skiff, line, env=cluster)
    made = next(each for each in json.loads(out)["items"] if each["kind"] == "Pod")
    pod = made["spec"]
    container = pod["containers"][0]
    found = {**pod.get("securityContext", {}), **container.get("securityContext", {}), "image": container["image"],
             "name": made["metadata"]["name"]}
    assert {name: found.get(name) for name in RUNS[line]} == RUNS[line]
    assert "the command is not included" in err
    assert "is not included" not in typed(skiff, line.replace("skiff run", "skiff run -q"), env=cluster)[1]


def test_a_dry_run_of_a_pool_command_needs_the_driver_pod(skiff):
    for line in ("skiff pool create warm --dry-run", "skiff pool scale warm 3 --dry-run=client", "skiff pool rm warm --dry-run"):
        assert "--driver pod" in typed(skiff, line, status=125)[1]
