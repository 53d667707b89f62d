"""The tests mirror the tree: what folder/name.cpp does is tested in tests/folder/name_test.cpp. A test may also cover a
concept that has only a header. What has no test of its own is listed here with the reason; a line here that isn't needed is a finding too."""

import pathlib

import tree

TESTED_ELSEWHERE = {
    "base/asio.cpp": "compiles Asio, holds no code of ours",
    "base/licenses.cpp": "tests/integration/test_start.py compares it with NOTICE",
    "runtime/api/account.cpp": "tests/integration/test_audit.py and test_observe.py read the logs and metrics that it writes",
    "runtime/api/request_head.cpp": "tests/runtime/browser_guard_test.cpp and tests/integration/test_http.py",
    "runtime/dialects/http_dialect.cpp": "each dialect's tests in tests/integration drive it through the real binary",
    "runtime/dialects/table.cpp": "tests/integration starts the real binary with each dialect",
    "runtime/main.cpp": "tests/integration starts the real binary",
    "container/cli/attach.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/attached.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/command_flags.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/command_table.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/completion.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/context.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/cp.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/describe.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/doctor.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/exec.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/extend.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/file_entries.cpp": "tests/integration/test_launcher_files.py drives it through the real binaries",
    "container/cli/files_cat.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/files_edit.cpp": "tests/integration/test_launcher_files.py drives it through the real binaries",
    "container/cli/files_glob.cpp": "tests/integration/test_launcher_files.py drives it through the real binaries",
    "container/cli/files_grep.cpp": "tests/integration/test_launcher_files.py drives it through the real binaries",
    "container/cli/files_ls.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/files_rm.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/files_stat.cpp": "tests/integration/test_launcher_files.py drives it through the real binaries",
    "container/cli/files_write.cpp": "tests/integration/test_launcher_files.py drives it through the real binaries",
    "container/cli/forward.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/gc.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/key_rotate.cpp": "tests/kubernetes/launcher/test_operators.py drives it through the real binary",
    "container/cli/kill.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/licenses.cpp": "tests/integration/test_launcher_as_docker.py compares it with NOTICE",
    "container/cli/logs.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/manifest.cpp": "tests/kubernetes/launcher drives it through the real binary on a real node",
    "container/cli/mcp.cpp": "tests/integration/test_launcher_mcp.py drives it through the real binaries",
    "container/cli/network.cpp": "tests/kubernetes/launcher drives it through the real binary on a real node",
    "container/cli/options.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/pod_flags.cpp": "tests/kubernetes/launcher drives it through the real binary on a real node",
    "container/cli/pool_create.cpp": "tests/kubernetes/launcher/test_pool.py drives it through the real binaries",
    "container/cli/pool_rm.cpp": "tests/kubernetes/launcher/test_pool.py drives it through the real binaries",
    "container/cli/pool_scale.cpp": "tests/kubernetes/launcher/test_pool.py drives it through the real binaries",
    "container/cli/pool_status.cpp": "tests/kubernetes/launcher/test_pool.py drives it through the real binaries",
    "container/cli/pool_table.cpp": "tests/kubernetes/launcher/test_pool.py drives it through the real binaries",
    "container/cli/ps.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/rbac.cpp": "tests/integration/test_launcher_roles.py drives it through the real binary",
    "container/cli/rm.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/run.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/session_create.cpp": "tests/integration/test_launcher_files.py drives it through the real binaries",
    "container/cli/session_ls.cpp": "tests/integration/test_launcher_files.py drives it through the real binaries",
    "container/cli/session_rm.cpp": "tests/integration/test_launcher_files.py drives it through the real binaries",
    "container/cli/shell.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/signals.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/standard_input.cpp": "tests/integration/test_launcher_files.py drives it through the real binaries",
    "container/cli/start.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/stop.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/terminal.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/token.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/tool.cpp": "tests/kubernetes/launcher drives it through the real binary on a real node",
    "container/cli/top.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/trace_run.cpp": "tests/integration/test_launcher_traces.py drives it through the real binaries",
    "container/cli/up.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/cli/version.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/launcher/cluster.cpp": "tests/kubernetes/launcher drives it through the real binary on a real node",
    "container/launcher/claim_creation.cpp": "tests/kubernetes/launcher/test_claim.py drives it with the real controller",
    "container/launcher/claim_pools.cpp": "tests/kubernetes/launcher/test_claim.py drives it with the real controller",
    "container/launcher/claim_wait.cpp": "tests/kubernetes/launcher/test_claim.py drives it with the real controller",
    "container/launcher/mcp_bridge.cpp": "tests/integration/test_launcher_mcp.py drives it through the real binaries",
    "container/launcher/relay.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "container/launcher/traced_driver.cpp": "tests/integration/test_launcher_traces.py drives it through the real binaries",
    "container/main.cpp": "tests/integration/test_launcher_local.py drives it through the real binaries",
    "fs/descriptor.cpp": "tests/fs/tree_test.cpp opens through it",
    "fs/resolve.cpp": "tests/fs/tree_test.cpp, which is run again without openat2",
    "fs/target.cpp": "tests/fs/write_test.cpp",
    "protocol/json_parse.cpp": "tests/protocol/schema_test.cpp parses through it",
    "protocol/multipart_body.cpp": "tests/integration/test_python_runtime.py drives it through the real binary",
    "protocol/websocket_write.cpp": "the sending half of websocket.cpp, same test",
    "runtime/agent.cpp": "tests/integration drives it through the real binary",
    "runtime/api/account.cpp": "tests/integration/test_audit.py drives it through the real binary",
    "runtime/api/answer_schemas.cpp": "tests/integration/test_openapi.py holds the answers of the real binary against them",
    "runtime/api/audit.cpp": "tests/integration drives it through the real binary",
    "runtime/api/call.cpp": "tests/integration drives it through the real binary",
    "runtime/api/commands.cpp": "tests/integration drives it through the real binary",
    "runtime/api/connect_socket.cpp": "tests/integration drives it through the real binary",
    "runtime/api/describe.cpp": "tests/integration drives it through the real binary",
    "runtime/api/dispatch.cpp": "tests/integration drives it through the real binary",
    "runtime/api/asyncapi.cpp": "tests/runtime/api/event_schemas_test.cpp compares it with the tables that it is made from",
    "runtime/api/document.cpp": "tests/integration/test_openapi.py validates it and holds the real binary against it",
    "runtime/api/events.cpp": "tests/integration drives it through the real binary",
    "runtime/api/describe_files.cpp": "tests/integration/test_openapi.py holds the answers of the real binary against it",
    "runtime/api/file_archive.cpp": "tests/integration/test_files.py drives it through the real binary",
    "runtime/api/file_bytes.cpp": "tests/integration/test_files.py drives it through the real binary",
    "runtime/api/file_call.cpp": "tests/integration/test_files.py drives it through the real binary",
    "runtime/api/file_edits.cpp": "tests/integration/test_files.py drives it through the real binary",
    "runtime/api/file_entries.cpp": "tests/integration/test_files.py drives it through the real binary",
    "runtime/api/file_routes.cpp": "tests/integration/test_files.py drives it through the real binary",
    "runtime/api/file_search.cpp": "tests/integration/test_files.py drives it through the real binary",
    "runtime/api/file_watch_route.cpp": "tests/integration/test_files.py drives it through the real binary",
    "runtime/api/pool_stream.cpp": "tests/integration/test_files.py drives it through the real binary",
    "runtime/api/file_transfer.cpp": "tests/integration/test_files.py drives it through the real binary",
    "runtime/api/front_door.cpp": "tests/integration drives it through the real binary",
    "runtime/api/init.cpp": "tests/integration drives it through the real binary",
    "runtime/api/kept_output.cpp": "tests/integration/test_output.py drives it through the real binary",
    "runtime/api/log_stream.cpp": "tests/integration drives it through the real binary",
    "runtime/api/meta.cpp": "tests/integration drives it through the real binary",
    "runtime/api/observe.cpp": "tests/integration drives it through the real binary",
    "runtime/api/request_head.cpp": "tests/integration/test_http.py drives it through the real binary",
    "runtime/api/requests.cpp": "tests/integration drives it through the real binary",
    "runtime/api/schema_parts.cpp": "tests/runtime/api/event_schemas_test.cpp reads what is made of them",
    "runtime/api/session_routes.cpp": "tests/integration drives it through the real binary",
    "runtime/api/socket_channel.cpp": "tests/integration drives it through the real binary",
    "runtime/api/socket_messages.cpp": "tests/integration drives it through the real binary",
    "runtime/api/sockets.cpp": "tests/integration drives it through the real binary",
    "runtime/api/wait_condition.cpp": "tests/integration drives it through the real binary",
    "runtime/api/wait_result.cpp": "tests/integration drives it through the real binary",
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
    "runtime/static_terminate.cpp": "only for an exception that is a bug: tried by hand",
    "runtime/workload.cpp": "tests/integration drives it through the real binary",
    "sessions/command_end.cpp": "tests/sessions/command_test.cpp; it is the other half of sessions/command.cpp",
    "sessions/command_spec.cpp": "tests/integration drives it through the real binary",
    "sessions/id_ledger.cpp": "tests/integration drives it through the real binary",
    "sessions/output_budget.cpp": "tests/sessions/output_log_test.cpp and output_model_test.cpp",
    "sessions/output_pump.cpp": "tests/sessions/output_log_test.cpp and output_model_test.cpp",
    "sessions/output_store.cpp": "tests/sessions/output_log_test.cpp and output_model_test.cpp",
    "sessions/retention.cpp": "tests/integration drives it through the real binary",
    "sessions/segment.cpp": "tests/sessions/output_log_test.cpp and output_model_test.cpp",
    "sessions/start_process.cpp": "tests/integration drives it through the real binary",
    "sessions/static_wait.cpp": "tests/sessions/warm_shells_test.cpp and tests/integration/test_warm_shells.py",
    "sessions/wait_library.cpp": "tests/sessions/warm_shells_test.cpp preloads it",
}

# Tests of a concept that several files make up together.
TESTS_OF_SEVERAL = {
    "tests/fs/interrupted_test.cpp": "system calls that a signal interrupts",
    "tests/sessions/interrupted_test.cpp": "system calls that a signal interrupts",
    "tests/protocol/websocket_interop_test.cpp": "protocol/websocket*.cpp against another implementation",
    "tests/sessions/output_model_test.cpp": "the output log against a plain model",
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
