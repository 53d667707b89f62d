"""The tests mirror the tree: what layer/room/name.cpp does is tested in tests/layer/room/name_test.cpp. A test may also cover a
concept that has only a header. What has no test of its own is listed here with the reason; a line here that isn't needed is a finding too."""

import pathlib

import tree

TESTED_ELSEWHERE = {
    "base/asio.cpp": "compiles Asio, holds no code of ours",
    "base/licenses.cpp": "tests/integration/test_start.py compares it with NOTICE",
    "runtime/api/account.cpp": "tests/integration/test_audit.py and test_observe.py read the logs and metrics that it writes",
    "runtime/api/request_head.cpp": "tests/runtime/auth/browser_guard_test.cpp and tests/integration/test_http.py",
    "runtime/dialects/http_dialect.cpp": "each dialect's tests in tests/integration drive it through the real binary",
    "runtime/dialects/table.cpp": "tests/integration starts the real binary with each dialect",
    "runtime/main.cpp": "tests/integration starts the real binary",
    "container/cli/commands/attach.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/attached.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/command_flags.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/command_table.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/commands/completion.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/context.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/commands/cp.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/commands/describe.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/commands/doctor.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/commands/exec.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/commands/extend.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/commands/file_entries.cpp": "tests/integration/test_launcher_files.py drives it through the real binaries",
    "container/cli/commands/files_cat.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/commands/files_edit.cpp": "tests/integration/test_launcher_files.py drives it through the real binaries",
    "container/cli/commands/files_glob.cpp": "tests/integration/test_launcher_files.py drives it through the real binaries",
    "container/cli/commands/files_grep.cpp": "tests/integration/test_launcher_files.py drives it through the real binaries",
    "container/cli/commands/files_ls.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/commands/files_rm.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/commands/files_stat.cpp": "tests/integration/test_launcher_files.py drives it through the real binaries",
    "container/cli/commands/files_write.cpp": "tests/integration/test_launcher_files.py drives it through the real binaries",
    "container/cli/commands/forward.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/commands/gc.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/commands/key_rotate.cpp": "tests/kubernetes/launcher/test_operators.py drives it through the real binary",
    "container/cli/commands/kill.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/in_namespace.cpp": "tests/integration/test_launcher_cluster.py and tests/kubernetes/launcher drive it through the real binary",
    "container/cli/commands/licenses.cpp": "tests/integration/test_launcher_as_docker.py compares it with NOTICE",
    "container/cli/commands/logs.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/commands/manifest.cpp": "tests/kubernetes/launcher drives it through the real binary on a real node",
    "container/cli/commands/mcp.cpp": "tests/integration/test_launcher_mcp.py drives it through the real binaries",
    "container/cli/commands/network.cpp": "tests/kubernetes/launcher drives it through the real binary on a real node",
    "container/cli/options.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/pod_flags.cpp": "tests/kubernetes/launcher drives it through the real binary on a real node",
    "container/cli/commands/pool_create.cpp": "tests/kubernetes/launcher/test_pool.py drives it through the real binaries",
    "container/cli/commands/pool_rm.cpp": "tests/kubernetes/launcher/test_pool.py drives it through the real binaries",
    "container/cli/commands/pool_scale.cpp": "tests/kubernetes/launcher/test_pool.py drives it through the real binaries",
    "container/cli/commands/pool_status.cpp": "tests/kubernetes/launcher/test_pool.py drives it through the real binaries",
    "container/cli/commands/pool_table.cpp": "tests/kubernetes/launcher/test_pool.py drives it through the real binaries",
    "container/cli/commands/ps.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/commands/rbac.cpp": "tests/integration/test_launcher_roles.py drives it through the real binary",
    "container/cli/commands/rm.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/commands/run.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/commands/session_create.cpp": "tests/integration/test_launcher_files.py drives it through the real binaries",
    "container/cli/commands/session_ls.cpp": "tests/integration/test_launcher_files.py drives it through the real binaries",
    "container/cli/commands/session_rm.cpp": "tests/integration/test_launcher_files.py drives it through the real binaries",
    "container/cli/commands/shell.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/signals.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/standard_input.cpp": "tests/integration/test_launcher_files.py drives it through the real binaries",
    "container/cli/commands/start.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/commands/stop.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/terminal.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/commands/token.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/commands/tool.cpp": "tests/kubernetes/launcher drives it through the real binary on a real node",
    "container/cli/commands/top.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/trace_run.cpp": "tests/integration/test_launcher_traces.py drives it through the real binaries",
    "container/cli/commands/up.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/commands/version.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cluster/cluster.cpp": "tests/kubernetes/launcher drives it through the real binary on a real node",
    "container/cluster/claims/create.cpp": "tests/kubernetes/launcher/test_claim.py drives it with the real controller",
    "container/cluster/claims/pools.cpp": "tests/kubernetes/launcher/test_claim.py drives it with the real controller",
    "container/cluster/claims/wait.cpp": "tests/kubernetes/launcher/test_claim.py drives it with the real controller",
    "container/mcp/bridge.cpp": "tests/integration/test_launcher_mcp.py drives it through the real binaries",
    "container/agent/relay.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/sandbox/traced_driver.cpp": "tests/integration/test_launcher_traces.py drives it through the real binaries",
    "container/main.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "fs/path/descriptor.cpp": "tests/fs/path/tree_test.cpp opens through it",
    "fs/path/resolve.cpp": "tests/fs/path/tree_test.cpp, which is run again without openat2",
    "fs/content/target.cpp": "tests/fs/content/write_test.cpp",
    "protocol/json/parse.cpp": "tests/protocol/json/schema_test.cpp parses through it",
    "protocol/http/multipart_body.cpp": "tests/integration/test_python_runtime.py drives it through the real binary",
    "protocol/websocket/write.cpp": "the sending half of protocol/websocket/socket.cpp, same test",
    "runtime/agent.cpp": "tests/integration drives it through the real binary",
    "runtime/api/account.cpp": "tests/integration/test_audit.py drives it through the real binary",
    "runtime/api/openapi/answer_schemas.cpp": "tests/integration/test_openapi.py holds the answers of the real binary against them",
    "runtime/api/audit.cpp": "tests/integration drives it through the real binary",
    "runtime/api/call.cpp": "tests/integration drives it through the real binary",
    "runtime/api/commands/command_routes.cpp": "tests/integration drives it through the real binary",
    "runtime/api/sockets/connect_socket.cpp": "tests/integration drives it through the real binary",
    "runtime/api/openapi/operations.cpp": "tests/integration drives it through the real binary",
    "runtime/api/dispatch.cpp": "tests/integration drives it through the real binary",
    "runtime/api/openapi/document.cpp": "tests/integration/test_openapi.py validates it and holds the real binary against it",
    "runtime/api/events.cpp": "tests/integration drives it through the real binary",
    "runtime/api/openapi/file_operations.cpp": "tests/integration/test_openapi.py holds the answers of the real binary against it",
    "runtime/api/files/archive.cpp": "tests/integration/test_files.py drives it through the real binary",
    "runtime/api/files/bytes.cpp": "tests/integration/test_files.py drives it through the real binary",
    "runtime/api/files/call.cpp": "tests/integration/test_files.py drives it through the real binary",
    "runtime/api/files/edits.cpp": "tests/integration/test_files.py drives it through the real binary",
    "runtime/api/files/entries.cpp": "tests/integration/test_files.py drives it through the real binary",
    "runtime/api/file_routes.cpp": "tests/integration/test_files.py drives it through the real binary",
    "runtime/api/files/search.cpp": "tests/integration/test_files.py drives it through the real binary",
    "runtime/api/files/watch_route.cpp": "tests/integration/test_files.py drives it through the real binary",
    "runtime/api/files/pool_stream.cpp": "tests/integration/test_files.py drives it through the real binary",
    "runtime/api/files/transfer.cpp": "tests/integration/test_files.py drives it through the real binary",
    "runtime/api/commands/run_routes.cpp": "tests/integration drives it through the real binary",
    "runtime/api/agent/init.cpp": "tests/integration drives it through the real binary",
    "runtime/api/kept_output.cpp": "tests/integration/test_output.py drives it through the real binary",
    "runtime/api/commands/log_stream.cpp": "tests/integration drives it through the real binary",
    "runtime/api/agent/agent_routes.cpp": "tests/integration drives it through the real binary",
    "runtime/api/agent/telemetry_routes.cpp": "tests/integration drives it through the real binary",
    "runtime/api/request_head.cpp": "tests/integration/test_http.py drives it through the real binary",
    "runtime/api/requests.cpp": "tests/integration drives it through the real binary",
    "runtime/api/schema_parts.cpp": "tests/runtime/api/openapi/event_schemas_test.cpp reads what is made of them",
    "runtime/api/sessions/session_routes.cpp": "tests/integration drives it through the real binary",
    "runtime/api/sockets/channel.cpp": "tests/integration drives it through the real binary",
    "runtime/api/sockets/messages.cpp": "tests/integration drives it through the real binary",
    "runtime/api/sockets/socket_routes.cpp": "tests/integration drives it through the real binary",
    "runtime/api/sessions/wait_routes.cpp": "tests/integration drives it through the real binary",
    "runtime/api/commands/wait_answer.cpp": "tests/integration drives it through the real binary",
    "runtime/dialects/http_dialect.cpp": "tests/integration/test_python_runtime.py drives it through the real binary",
    "runtime/dialects/table.cpp": "tests/integration/test_python_runtime.py drives it through the real binary",
    "runtime/dialects/python_runtime/answers.cpp": "tests/integration/test_python_runtime.py drives it through the real binary",
    "runtime/dialects/python_runtime/dialect.cpp": "tests/integration/test_python_runtime.py drives it through the real binary",
    "runtime/dialects/python_runtime/execute.cpp": "tests/integration/test_python_runtime.py drives it through the real binary",
    "runtime/dialects/python_runtime/files.cpp": "tests/integration/test_python_runtime.py drives it through the real binary",
    "runtime/dialects/python_runtime/upload.cpp": "tests/integration/test_python_runtime.py drives it through the real binary",
    "runtime/dialects/mcp/delivery.cpp": "tests/integration/test_mcp.py drives it through the real binary",
    "runtime/dialects/mcp/endpoint.cpp": "tests/integration/test_mcp.py drives it through the real binary",
    "runtime/dialects/mcp/job.cpp": "tests/runtime/dialects/mcp/clients_test.cpp runs jobs through it",
    "runtime/dialects/mcp/methods.cpp": "tests/integration/test_mcp.py drives it through the real binary",
    "runtime/dialects/mcp/progress.cpp": "tests/integration/test_mcp.py drives it through the real binary",
    "runtime/dialects/mcp/routes.cpp": "tests/integration/test_contract.py holds the real binary against it",
    "runtime/dialects/mcp/subscriptions.cpp": "tests/integration/test_mcp.py drives it through the real binary",
    "runtime/dialects/mcp/tools_commands.cpp": "tests/integration/test_mcp.py drives it through the real binary",
    "runtime/dialects/mcp/tools_files.cpp": "tests/integration/test_mcp.py drives it through the real binary",
    "runtime/dialects/mcp/tools_sessions.cpp": "tests/integration/test_mcp.py drives it through the real binary",
    "runtime/health.cpp": "tests/integration drives it through the real binary",
    "runtime/install.cpp": "tests/integration drives it through the real binary",
    "runtime/serve.cpp": "tests/integration drives it through the real binary",
    "runtime/link/static_terminate.cpp": "only for an exception that is a bug: tried by hand",
    "runtime/workload.cpp": "tests/integration drives it through the real binary",
    "sessions/command_end.cpp": "tests/sessions/command_test.cpp; it is the other half of sessions/command.cpp",
    "sessions/command_spec.cpp": "tests/integration drives it through the real binary",
    "sessions/id_ledger.cpp": "tests/integration drives it through the real binary",
    "sessions/output/budget.cpp": "tests/sessions/output/log_test.cpp and tests/sessions/output/model_test.cpp",
    "sessions/output/pump.cpp": "tests/sessions/output/log_test.cpp and tests/sessions/output/model_test.cpp",
    "sessions/output/store.cpp": "tests/sessions/output/log_test.cpp and tests/sessions/output/model_test.cpp",
    "sessions/retention.cpp": "tests/integration drives it through the real binary",
    "sessions/output/segment.cpp": "tests/sessions/output/log_test.cpp and tests/sessions/output/model_test.cpp",
    "sessions/start_process.cpp": "tests/integration drives it through the real binary",
    "sessions/process/warm/static_preload.cpp": "tests/sessions/process/warm/warm_shells_test.cpp and tests/integration/test_warm_shells.py",
    "sessions/process/warm/preload.cpp": "tests/sessions/process/warm/warm_shells_test.cpp preloads it",
}

# Tests of a concept that several files make up together.
TESTS_OF_SEVERAL = {
    "tests/fs/interrupted_test.cpp": "system calls that a signal interrupts",
    "tests/sessions/interrupted_test.cpp": "system calls that a signal interrupts",
    "tests/protocol/websocket/interop_test.cpp": "protocol/websocket/*.cpp against another implementation",
    "tests/sessions/output/model_test.cpp": "the output log against a plain model",
}


def check(root):
    layers = [layer for layer in tree.LAYERS if (root / layer).is_dir()]
    needed = set()
    for path in tree.files(root, layers, (".cpp",)):
        test = pathlib.Path("tests") / path.parent / f"{path.stem}_test.cpp"
        if (root / test).exists():
            continue
        needed.add(str(path))
        if str(path) not in TESTED_ELSEWHERE:
            yield f"{path}: has no {test}"
    for path in TESTED_ELSEWHERE.keys() - needed:
        yield f"tests/lint/mirror.py: {path} needs no exception: it is gone or has its test"
    for path in tree.files(root, [f"tests/{layer}" for layer in layers], (".cpp",)):
        if str(path) in TESTS_OF_SEVERAL:
            continue
        stem = path.relative_to("tests").with_name(path.stem.removesuffix("_test"))
        if not path.stem.endswith("_test"):
            yield f"{path}: a test's file is named *_test.cpp"
        elif not (root / stem.with_suffix(".cpp")).exists() and not (root / stem.with_suffix(".hpp")).exists():
            yield f"{path}: tests neither {stem}.cpp nor {stem}.hpp"


if __name__ == "__main__":
    tree.run(check)
