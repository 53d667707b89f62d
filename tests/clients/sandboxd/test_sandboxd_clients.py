"""The packages that people have, as they are, against the dialect sandboxd. Only the claim of a sandbox is made up
(../python_runtime/fake_kubernetes.py): every command and file goes to a real skiffd."""

import base64
import json
import pathlib
import subprocess

import pytest

from client_fixtures import check
from installed import all_versions, go_program, python_of

HERE = pathlib.Path(__file__).resolve().parent
SERVICES = ["grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection",
            "process.v1.ProcessService"]
SCRIPTS = {"k8s-agent-sandbox newest": ("newest.txt", "with_sdk.py", 10),
           "k8s-agent-sandbox newest, async": ("newest.txt", "with_sdk_async.py", 8),
           "grpcio": ("newest.txt", "with_grpcio.py", 16),
           "k8s-agent-sandbox 1.0.7": ("middle.txt", "with_sdk.py", 10),
           "k8s-agent-sandbox 1.0.7, async": ("middle.txt", "with_sdk_async.py", 8),
           "k8s-agent-sandbox 1.0.0": ("oldest.txt", "with_oldest_sdk.py", 8),
           "grpcio 1.83.0": ("oldest.txt", "with_grpcio.py", 16)}
OLDER = {"k8s-agent-sandbox 1.0.7", "k8s-agent-sandbox 1.0.7, async", "k8s-agent-sandbox 1.0.0", "grpcio 1.83.0"}
GO = ["go.mod", "older.mod"] if all_versions() else ["go.mod"]


@pytest.mark.parametrize("client", [name for name in SCRIPTS if all_versions() or name not in OLDER])
def test_python_client(outcome, client):
    requirements, script, least = SCRIPTS[client]
    check(outcome(python_of(HERE / requirements), script), least)


@pytest.mark.parametrize("versions", GO)
def test_go_client(outcome, versions):
    check(outcome(go_program(HERE / "go", file=versions)), 10)


@pytest.fixture(params=GO)
def grpcurl(request, doors):
    program = go_program(HERE / "go", "github.com/fullstorydev/grpcurl/cmd/grpcurl", request.param)

    def run(*arguments, message=None, status=0, options=()):
        data = [] if message is None else ["-d", json.dumps(message)]
        done = subprocess.run([program, "-plaintext", *options, *data, doors[1].host, *arguments], capture_output=True, text=True,
                              timeout=60)
        assert done.returncode == status, done.stderr
        return done.stdout if status == 0 else done.stderr

    return run


def test_grpcurl_describes_the_services(grpcurl):
    assert grpcurl("list").split() == SERVICES
    assert grpcurl("list", "process.v1.ProcessService").split() == [
        f"process.v1.ProcessService.{name}" for name in ("Execute", "ResizeTTY", "SendSignal", "Start", "WriteStdin")]
    described = grpcurl("describe")
    assert all(f"{service} is a service:" in described for service in SERVICES)
    assert "rpc Start ( .process.v1.StartRequest ) returns ( stream .process.v1.StartResponse );" in described
    assert "map<string, string> env_vars = 2;" in grpcurl("describe", "process.v1.ProcessConfig")
    assert "not found" in grpcurl("describe", "no.such.Thing", status=1).lower()


def test_grpcurl_calls_methods(grpcurl):
    shell = {"config": {"command": ["sh", "-c", "echo out; echo err >&2; exit 3"]}}
    answer = json.loads(grpcurl("process.v1.ProcessService/Execute", message=shell))
    assert (answer["exitCode"], base64.b64decode(answer["stdout"]), base64.b64decode(answer["stderr"])) == (3, b"out\n", b"err\n")
    events = grpcurl("process.v1.ProcessService/Start", message=shell)
    assert '"processId": 1' in events and '"exitCode": 3' in events and base64.b64encode(b"out\n").decode() in events
    assert json.loads(grpcurl("grpc.health.v1.Health/Check", message={})) == {"status": "SERVING"}


def test_grpcurl_sees_errors(grpcurl):
    """It ends with 64 and the code."""
    told = grpcurl("process.v1.ProcessService/SendSignal", message={"processId": 7, "signal": "SIGNAL_SIGTERM"}, status=64 + 5)
    assert "Code: NotFound" in told and "process 7 not found" in told
    sleep = {"config": {"command": ["sleep", "1000"]}}
    assert "DeadlineExceeded" in grpcurl("process.v1.ProcessService/Execute", message=sleep, status=64 + 4,
                                         options=["-max-time", "0.5"])
