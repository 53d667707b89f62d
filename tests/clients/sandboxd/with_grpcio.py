"""grpcio, with the stubs that k8s-agent-sandbox carries: each RPC, reflection, health, and what HTTP/2 is used for."""

import contextlib
import os
import threading

import cases
import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.empty_pb2 import Empty
from k8s_agent_sandbox.commands._process_stubs import process_pb2 as pb, process_pb2_grpc
from processes import ends, pid_of, tells_its_pid

TARGET = os.environ["RUNTIME_GRPC"]
MIB = 1 << 20


@contextlib.contextmanager
def stub():
    with grpc.insecure_channel(TARGET, options=[("grpc.max_receive_message_length", -1)]) as channel:
        client = process_pb2_grpc.ProcessServiceStub(channel)
        client.channel = channel
        yield client


def config(*command, **more):
    return pb.ProcessConfig(command=command, **more)


def shell(line):
    return config("sh", "-c", line)


def started(stub, request, **options):
    """A Start and its process's number."""
    call = stub.Start(request, **options)
    first = next(call)
    assert first.WhichOneof("event") == "init", first
    return call, first.init.process_id


def rest_of(call):
    """(stdout, stderr, exit code) of a Start."""
    out, err, code = bytearray(), bytearray(), None
    for event in call:
        kind = event.WhichOneof("event")
        if kind == "stdout":
            out += event.stdout
        elif kind == "stderr":
            err += event.stderr
        elif kind == "exit":
            assert code is None
            code = event.exit.exit_code
    return bytes(out), bytes(err), code


def refused(code, call):
    error = cases.raises(grpc.RpcError, call)
    assert error.code() == code, error
    return error.details()


def case_execute(stub):
    answer = stub.Execute(pb.ExecuteRequest(config=config("sh", "-c", "echo $A; pwd; echo e >&2; exit 3", env_vars={"A": "b"},
                                                          cwd="/")))
    assert (answer.exit_code, answer.stdout, answer.stderr) == (3, f"b\n{cases.ROOT}\n".encode(), b"e\n")


def case_start_streams_while_the_command_runs(stub):
    call, number = started(stub, pb.StartRequest(config=shell("echo out; read x; echo $x >&2; exit 7")))
    assert next(call).stdout == b"out\n"
    stub.WriteStdin(pb.WriteStdinRequest(process_id=number, input=b"in\n"))
    assert rest_of(call) == (b"", b"in\n", 7)


def case_20_mb_both_ways(stub):
    data = os.urandom(20_000_000)
    call, number = started(stub, pb.StartRequest(config=config("cat")))
    found = []
    reader = threading.Thread(target=lambda: found.append(rest_of(call)))
    reader.start()
    stub.WriteStdin(pb.WriteStdinRequest(process_id=number, input=data))
    stub.WriteStdin(pb.WriteStdinRequest(process_id=number, eof=Empty()))
    reader.join()
    assert found == [(data, b"", 0)]
    answer = stub.Execute(pb.ExecuteRequest(config=config("head", "-c", "20000000", "/dev/zero")))
    assert answer.stdout == bytes(20_000_000)


def case_a_reader_that_takes_its_time(stub):
    """The reader's window holds up its command, and no other one."""
    call, _ = started(stub, pb.StartRequest(config=config("seq", "1", "1000000")))
    assert stub.Execute(pb.ExecuteRequest(config=config("echo", "on"))).stdout == b"on\n"
    out, _, code = rest_of(call)
    assert code == 0 and out == b"".join(b"%d\n" % i for i in range(1, 1000001))


def case_what_the_client_does_not_take_is_its_own_error(stub):
    with grpc.insecure_channel(TARGET) as channel:
        usual = process_pb2_grpc.ProcessServiceStub(channel)
        refused(grpc.StatusCode.RESOURCE_EXHAUSTED,
                lambda: usual.Execute(pb.ExecuteRequest(config=config("head", "-c", "5000000", "/dev/zero"))))
        assert usual.Execute(pb.ExecuteRequest(config=config("echo", "on"))).stdout == b"on\n"


def case_signals(stub):
    call, number = started(stub, pb.StartRequest(config=shell("trap 'exit 5' INT; echo up; while :; do sleep 0.05; done")))
    assert next(call).stdout == b"up\n"
    stub.SendSignal(pb.SendSignalRequest(process_id=number, signal=pb.SIGNAL_SIGINT))
    assert rest_of(call)[2] == 5
    for signal in (pb.SIGNAL_SIGTERM, pb.SIGNAL_SIGKILL):
        call, number = started(stub, pb.StartRequest(config=config("sleep", "1000")))
        stub.SendSignal(pb.SendSignalRequest(process_id=number, signal=signal))
        assert rest_of(call)[2] == -1


def case_terminal(stub):
    call, number = started(stub, pb.StartRequest(config=shell("stty size; read x; stty size"), pty=pb.PTY(cols=80, rows=24)))
    assert next(call).stdout == b"24 80\r\n"
    stub.ResizeTTY(pb.ResizeTTYRequest(process_id=number, cols=120, rows=40))
    stub.WriteStdin(pb.WriteStdinRequest(process_id=number, input=b"\n"))
    out, err, code = rest_of(call)
    assert out.endswith(b"40 120\r\n") and (err, code) == (b"", 0)


def case_errors_have_their_codes(stub):
    codes = grpc.StatusCode
    for method, request in ((stub.Execute, pb.ExecuteRequest), (lambda message: next(stub.Start(message)), pb.StartRequest)):
        assert refused(codes.INVALID_ARGUMENT, lambda: method(request())) == "command is required"
        refused(codes.PERMISSION_DENIED, lambda: method(request(config=config("true", cwd="../.."))))
        refused(codes.NOT_FOUND, lambda: method(request(config=config("/no/such/program"))))
    refused(codes.NOT_FOUND, lambda: stub.WriteStdin(pb.WriteStdinRequest(process_id=99999, input=b"x")))
    call, number = started(stub, pb.StartRequest(config=config("sleep", "1000")))
    refused(codes.INVALID_ARGUMENT, lambda: stub.SendSignal(pb.SendSignalRequest(process_id=number)))
    refused(codes.FAILED_PRECONDITION, lambda: stub.ResizeTTY(pb.ResizeTTYRequest(process_id=number, cols=1, rows=1)))
    call.cancel()
    unknown = stub.channel.unary_unary("/process.v1.ProcessService/Nope")
    assert "Nope" in refused(codes.UNIMPLEMENTED, lambda: unknown(b""))
    packed = lambda: stub.Execute(pb.ExecuteRequest(config=config("true", "x" * 10000)), compression=grpc.Compression.Gzip)
    refused(codes.UNIMPLEMENTED, packed)


def case_deadlines_end_the_tree(stub):
    for name, call in (("d1", lambda request: stub.Execute(pb.ExecuteRequest(config=request), timeout=1)),
                       ("d2", lambda request: rest_of(stub.Start(pb.StartRequest(config=request), timeout=1)))):
        refused(grpc.StatusCode.DEADLINE_EXCEEDED, lambda: call(shell(tells_its_pid(name))))
        ends(pid_of(name))


def case_cancelled_calls_end_the_tree(stub):
    start, _ = started(stub, pb.StartRequest(config=shell(tells_its_pid("c1"))))
    execute = stub.Execute.future(pb.ExecuteRequest(config=shell(tells_its_pid("c2"))))
    pids = pid_of("c1"), pid_of("c2")
    start.cancel()
    execute.cancel()
    for pid in pids:
        ends(pid)


def case_a_closed_channel_ends_its_commands(stub):
    with grpc.insecure_channel(TARGET) as channel:
        # Held: a call that nobody holds is cancelled.
        call, _ = started(process_pb2_grpc.ProcessServiceStub(channel), pb.StartRequest(config=shell(tells_its_pid("closed"))))
        pid = pid_of("closed")
        assert call.is_active()
    ends(pid)


def case_a_hundred_streams_on_a_connection(stub):
    calls = [started(stub, pb.StartRequest(config=config("cat"))) for _ in range(100)]
    assert len({number for _, number in calls}) == 100
    for _, number in calls:
        stub.WriteStdin(pb.WriteStdinRequest(process_id=number, input=str(number).encode()))
        stub.WriteStdin(pb.WriteStdinRequest(process_id=number, eof=Empty()))
    for call, number in calls:
        assert rest_of(call) == (str(number).encode(), b"", 0)


def case_more_calls_than_streams_wait_for_their_turn(stub):
    """The client keeps to the 256 that it was told of."""
    calls = [stub.Execute.future(pb.ExecuteRequest(config=config("echo", str(n)))) for n in range(400)]
    assert [call.result().stdout for call in calls] == [b"%d\n" % n for n in range(400)]


def case_health(stub):
    health = health_pb2_grpc.HealthStub(stub.channel)
    for service in ("", "process.v1.ProcessService"):
        assert health.Check(health_pb2.HealthCheckRequest(service=service)).status == health_pb2.HealthCheckResponse.SERVING
    refused(grpc.StatusCode.NOT_FOUND, lambda: health.Check(health_pb2.HealthCheckRequest(service="nope")))
    watch = health.Watch(health_pb2.HealthCheckRequest())
    assert next(watch).status == health_pb2.HealthCheckResponse.SERVING
    watch.cancel()


def case_reflection(stub):
    """The server describes the services that the SDK's stubs were generated from."""
    database = ProtoReflectionDescriptorDatabase(stub.channel)
    assert "process.v1.ProcessService" in database.get_services()
    service = DescriptorPool(database).FindServiceByName("process.v1.ProcessService")
    known = pb.DESCRIPTOR.services_by_name["ProcessService"]
    for method in known.methods:
        told = service.methods_by_name[method.name]
        assert (told.input_type.full_name, told.output_type.full_name, told.server_streaming) == (
            method.input_type.full_name, method.output_type.full_name, method.server_streaming)
        for message, other in ((told.input_type, method.input_type), (told.output_type, method.output_type)):
            assert [(one.name, one.number, one.type) for one in message.fields] == [
                (one.name, one.number, one.type) for one in other.fields]


def case_reflection_v1(stub):
    """grpcio-reflection knows v1alpha alone; the messages are the same."""
    ask = stub.channel.stream_stream(
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString)
    answers = list(ask(iter([reflection_pb2.ServerReflectionRequest(list_services=""),
                             reflection_pb2.ServerReflectionRequest(file_containing_symbol="process.v1.PTY"),
                             reflection_pb2.ServerReflectionRequest(file_by_filename="nope.proto")])))
    assert len(answers[0].list_services_response.service) == 4
    assert len(answers[1].file_descriptor_response.file_descriptor_proto) == 2
    assert answers[2].error_response.error_code == grpc.StatusCode.NOT_FOUND.value[0]


if __name__ == "__main__":
    cases.main(stub)
