"""Every limit that many share stands in the table of ADR 27, with an attack that fills it; the code has no other."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs/adr/0027-a-limit-belongs-to-whoever-uses-it-up.md"
HERE = "tests/attacks/"

# A row of the table, and the tests in which one holder fills it and another is served.
ROWS = {
    "connections of the server": [HERE + "test_shares_of_connections.py:test_one_holder_does_not_shut_the_other_tenants_out",
                                  HERE + "test_shares_of_connections.py:test_sockets_of_one_tenant_do_not_shut_the_others_out"],
    "connections of an agent": [HERE + "test_shares_of_connections.py:test_one_token_does_not_keep_another_out_of_the_agent"],
    "connections of strangers": [HERE + "test_door.py:test_a_client_with_a_credential_gets_in_past_a_crowd",
                                 HERE + "test_shares_of_connections.py:test_strangers_do_not_take_the_descriptors"],
    "received bytes": [HERE + "test_shares_of_memory.py:test_half_messages_of_a_reader_leave_room_for_others",
                       HERE + "test_shares_of_memory.py:test_half_bodies_of_a_reader_leave_room_for_others",
                       HERE + "test_shares_of_memory.py:test_half_heads_of_strangers_leave_room_for_others",
                       HERE + "test_shares_of_memory.py:test_half_envelopes_leave_room_for_others",
                       HERE + "test_shares_of_memory.py:test_half_messages_of_grpc_leave_room_for_others",
                       HERE + "test_shares_of_memory.py:test_bodies_that_no_call_reads_are_bounded"],
    "answers that wait": ["tests/protocol/http/server/held_answers_test.cpp:CutOffTheLargestHolders"],
    "large answers": ["tests/base/async/fair_semaphore_test.cpp:GivesOneHolderOnePermitAtATime"],
    "large blocks": ["tests/protocol/http/server/relay_test.cpp:SharesTheLargeBlocksThatThereAre"],
    "pipes of an egress proxy": ["tests/protocol/net/splice_pipes_test.cpp:SharesThemAmongHolders"],
    "channels": [HERE + "test_shares_of_memory.py:test_channels_of_a_reader_leave_some_to_others"],
    "transfers": [HERE + "test_slow_transfers.py:"
                         "test_transfers_beyond_a_holders_share_are_refused_at_once_and_others_begin"],
    "MCP sessions": ["tests/runtime/mcp/clients_test.cpp:ThereIsABoundForThemAndForTheirRequests",
                     HERE + "test_shares_of_servers.py:test_a_reader_of_the_same_subject_takes_no_session_of_the_admins"],
    "MCP requests": ["tests/runtime/mcp/clients_test.cpp:OneCredentialLeavesRoomForTheWorkOfOthers"],
    "code contexts": [HERE + "test_code.py:test_there_is_a_most_of_contexts"],
    "calls of a code context": [HERE + "test_code.py:test_a_call_whose_client_has_left_does_not_run_and_keeps_no_place"],
    "bring-ups": ["tests/container/serve/fleet/bring_ups_test.cpp:OfOneTenantLeaveSomeToTheNext",
                  HERE + "test_shares_of_servers.py:test_repeats_of_one_key_take_one_bring_up"],
    "wakes": ["tests/container/serve/gateway/wake_test.cpp:OfOneTenantLeaveRoomForTheNext"],
    "TokenReviews of known tokens": ["tests/container/serve/keys/account_cache_test.cpp:LetsNoStrangerKeepOthersOut"],
    "TokenReviews of unknown tokens": ["tests/container/serve/keys/account_cache_test.cpp:LetsNoStrangerKeepOthersOut"],
    "known tokens": ["tests/base/shares_test.cpp:LeaveSomeForTheNextHolder"],
    "signatures": ["tests/base/async/fair_semaphore_test.cpp:GivesOneHolderOnePermitAtATime", "tests/base/shares_test.cpp:LeaveSomeForTheNextHolder"],
    "sign-ins at the console": [HERE + "test_serve_console.py:test_guesses_of_one_address_leave_room_for_another",
                                "tests/container/console/session_door_test.cpp:LeavesRoomBesideASourceThatTriesKeys"],
    "logs": ["tests/base/async/fair_semaphore_test.cpp:GivesOneHolderOnePermitAtATime"],
    "network logs": [HERE + "test_serve_network.py:test_readers_without_number_leave_the_logs_of_others_alone"],
}

# The objects and constants of the code that limit something, and the row they belong to.
LIMITS = {
    "container/console/session_door.hpp:signing_in_": "sign-ins at the console",
    "protocol/net/connections.hpp:slots_": "connections of the server",
    "protocol/net/connection_slots.hpp:by_holder_": "connections of the server",
    "protocol/net/receive_budget.hpp:by_holder_": "received bytes",
    "runtime/quotas.hpp:received": "received bytes",
    "container/serve/server.cpp:received": "received bytes",
    "protocol/http/server/connection.hpp:answers": "answers that wait",
    "protocol/http/server/held_answers.hpp:by_holder_": "answers that wait",
    "protocol/http/server/relay.hpp:taken_": "large blocks",
    "protocol/net/splice_pipes.hpp:taken_": "pipes of an egress proxy",
    "container/serve/gateway/gateway.hpp:large_blocks_": "large blocks",
    "runtime/quotas.hpp:large_answers": "large answers",
    "runtime/quotas.hpp:composed_answers": "large answers",
    "runtime/quotas.hpp:channels": "channels",
    "runtime/quotas.hpp:kChannels": "channels",
    "runtime/quotas.hpp:transfers": "transfers",
    "runtime/pools.hpp:search": "transfers",
    "runtime/pools.hpp:kTransfers": "transfers",
    "runtime/mcp/clients.hpp:kMostClients": "MCP sessions",
    "runtime/mcp/clients.hpp:kMostJobs": "MCP requests",
    "runtime/api/code/contexts.hpp:shares_": "code contexts",
    "runtime/api/code/contexts.hpp:kMost": "code contexts",
    "runtime/api/code/contexts.hpp:waits_": "calls of a code context",
    "runtime/api/code/contexts.hpp:kMostWaiting": "calls of a code context",
    "runtime/api/code/contexts.hpp:turn_": "calls of a code context",
    "container/serve/fleet/bring_ups.hpp:at_once_": "bring-ups",
    "container/serve/fleet/bring_ups.hpp:kMostAtOnce": "bring-ups",
    "container/serve/gateway/gateway.hpp:wakes_": "wakes",
    "container/serve/gateway/wake.hpp:starting_": "wakes",
    "container/serve/gateway/wake.hpp:waiting_": "wakes",
    "container/serve/keys/account_cache.hpp:of_good_": "TokenReviews of known tokens",
    "container/serve/keys/account_cache.hpp:kAtOnce": "TokenReviews of known tokens",
    "container/serve/keys/account_cache.hpp:of_unknown_": "TokenReviews of unknown tokens",
    "container/serve/keys/account_cache.hpp:waiting_": "TokenReviews of unknown tokens",
    "container/serve/keys/account_cache.hpp:kMostWaiting": "TokenReviews of unknown tokens",
    "container/serve/keys/account_cache.hpp:good_of_": "known tokens",
    "container/serve/keys/account_cache.hpp:kMostKnown": "known tokens",
    "container/serve/authorizer.hpp:looks_": "signatures",
    "container/serve/authorizer.hpp:looking_": "signatures",
    "container/serve/authorizer.hpp:kLooksAtOnce": "signatures",
    "container/serve/authorizer.hpp:kMostWaiting": "signatures",
    "container/serve/service.hpp:log_turns_": "logs",
    "container/serve/service.cpp:kLogsAtOnce": "logs",
    "container/egress/room.hpp:held": "received bytes",
    "container/serve/service.hpp:network_logs_": "network logs",
    "container/serve/service.cpp:kMostNetworkLogs": "network logs",
}

ONE_REQUEST = "of one request, message or command"
ONE_CLIENT = "of one connection or client"
ONE_SANDBOX = "of one sandbox, whose commands are one party"
TURN = "a turn, after which others have theirs"
MOMENT = "what is over in a moment, in the order of its coming"
CACHE = "a cache: who finds no place asks again"
# Limits that clients do not share, and why.
NOT_SHARED = {
    "runtime/pools.hpp:disk": MOMENT,
    "runtime/pools.hpp:watching": MOMENT,
    "runtime/pools.hpp:long_work": "whoever waits for a client stands aside; a job ends soon after its client has left",
    "protocol/service/audit_log.hpp:writer_": MOMENT,
    "protocol/service/audit_log.hpp:kMostWaiting": "lines of the program's own; a disk that stands still loses everybody's, and the log says how many",
    "container/serve/labelled_numbers.hpp:kMostKeys": "tenants and pools, which operators make; those above the limit share one series",
    "base/async/fair_semaphore.hpp:all_": "the inside of a FairTurnstile",
    "protocol/net/listener.cpp:kAcceptsAtOnce": TURN,
    "protocol/net/tunnel.cpp:kCarriedAtOnce": TURN,
    "protocol/net/tls.cpp:kTakenAtOnce": TURN,
    "protocol/http/server/connection.cpp:kPipelinedAtOnce": TURN,
    "protocol/http/server/relay.cpp:kRelayedAtOnce": TURN,
    "container/serve/fleet/followers.cpp:kLookAtOnce": TURN,
    "runtime/egress/names/name_server.cpp:kReadsAtOnce": TURN,
    "runtime/egress/names/name_server.hpp:queries_": "the commands of one sandbox are one party",
    "container/serve/fleet/known_sandboxes.hpp:kMost": CACHE,
    "container/serve/fleet/known_sandboxes.hpp:kMostWays": CACHE,
    "container/serve/fleet/known_sandboxes.hpp:kMostAbsent": CACHE,
    "container/serve/fleet/known_sandboxes.hpp:kExaminedAtOnce": CACHE,
    "runtime/api/sockets/connect_socket.cpp:kMostChannels": ONE_CLIENT,
    "runtime/api/sockets/channel.cpp:kMostEnds": ONE_CLIENT,
    "runtime/dialects/kubebox/connection.cpp:kMostStreams": ONE_CLIENT,
    "runtime/dialects/kubebox/output_stream.hpp:kMostUnacknowledged": ONE_CLIENT,
    "runtime/mcp/clients.hpp:kMostRequests": ONE_CLIENT,
    "runtime/mcp/clients.hpp:kMostSubscriptions": ONE_CLIENT,
    "runtime/mcp/outbox.hpp:kMost": ONE_CLIENT,
    "runtime/dialects/kubebox/waiting_streams.hpp:kMost": "a dialect's clients are one party",
    "runtime/dialects/e2b/files/watchers.hpp:kMost": "a dialect's clients are one party",
    "runtime/process/signals.cpp:kMost": "signals of the process",
    "container/serve/fleet/bring_ups.hpp:kMostSteps": ONE_REQUEST,
    "container/serve/e2b/routes.cpp:kMostListed": ONE_REQUEST,
    "container/serve/api/routes.cpp:kMostItems": ONE_REQUEST,
    "container/serve/gateway/preview.cpp:kMostEndDigits": ONE_REQUEST,
    "container/serve/gateway/preview.cpp:kMostCookies": ONE_REQUEST,
    "container/console/guard.cpp:kMostTried": ONE_REQUEST,
    "container/console/session_seal.cpp:kMostEndDigits": ONE_REQUEST,
    "runtime/api/paging.hpp:kMost": ONE_REQUEST,
    "protocol/net/client_hello.hpp:kMostBytes": ONE_CLIENT,
    "protocol/net/tls.cpp:kMostKept": "servers of a context, which its owner names; one that has no room is verified each time",
    "container/serve/api/network_log.cpp:kMostWaiting": ONE_CLIENT,
    "container/egress/judge.hpp:kMostOfHead": ONE_REQUEST,
    "container/egress/judge.hpp:kMostOfTarget": ONE_REQUEST,
    "container/egress/names/port_question.hpp:kMostPortsOfHost": ONE_REQUEST,
    "container/egress/plain_http.cpp:slots": ONE_CLIENT,
    "container/egress/terminate/serve_terminated.cpp:slots": ONE_CLIENT,
    "container/egress/policy.hpp:kMostRules": ONE_SANDBOX,
    "container/egress/names/wildcard_names.hpp:kMost": ONE_SANDBOX,
    "container/egress/audit.hpp:kMost": ONE_SANDBOX,
    "container/egress/terminate/secret_hosts.hpp:kMost": ONE_SANDBOX,
    "container/egress/cluster/pod_audit.hpp:kMost": "lines of one Pod, or of all strangers: what has no line is counted",
    "container/egress/terminate/secret.hpp:kMost": "secrets, which operators make",
    "container/egress/terminate/secret.cpp:kMostHosts": "of one secret",
    "container/egress/terminate/secret.cpp:kMostRequests": "of one secret",
}
# Directories in which a constant of such a name is of one request, unless it is named above.
OF_REQUESTS = ("protocol/http/chunked", "protocol/http/client", "protocol/http/server/connection.cpp:kMostEmptyLines",
               "protocol/http/multipart", "protocol/websocket/frame.cpp:kMostPiece", "protocol/grpc/fields.cpp",
               "runtime/api/code/frames", "runtime/api/code/worker", "runtime/api/code/code_answer",
               "runtime/api/files/", "runtime/api/paging.hpp:kMostBytes", "runtime/auth/jwt.cpp", "runtime/process/own_limits.cpp",
               "runtime/dialects/e2b/files/entry_info", "runtime/dialects/e2b/files/filesystem_service",
               "runtime/dialects/e2b/messages",
               "runtime/dialects/e2b/process_stream", "runtime/dialects/e2b/files/watch_service", "runtime/dialects/kubebox/files",
               "runtime/mcp/tools/",
               "runtime/dialects/python_runtime/", "runtime/dialects/sandboxd/", "container/serve/api/bodies.hpp:kMostRules")

KINDS = "Shares|ReceiveBudget|HeldAnswers|LargeBlocks|Semaphore|FairSemaphore|ConnectionSlots|Wakes|BlockingPool"
OBJECT = re.compile(rf"^ +(?:static |const |mutable |protocol::|skiff::|sessions::)*(?:{KINDS}) (\w+)\s*(?:\{{[^;]*\}})?;", re.M)
CONSTANT = re.compile(r"constexpr [\w:<> ]+ (k(?:Most|AtOnce)\w*|k\w*AtOnce|kTransfers|kChannels)\b")
SERVERS = ("protocol/net", "protocol/http", "protocol/http2", "protocol/websocket", "protocol/grpc", "protocol/service", "runtime",
           "container/serve", "container/console", "container/egress", "base")


def limits_in_the_code():
    for directory in SERVERS:
        for path in sorted((ROOT / directory).rglob("*.?pp")):
            text = path.read_text()
            for name in [*OBJECT.findall(text), *(CONSTANT.findall(text) if directory != "base" else ())]:
                yield f"{path.relative_to(ROOT)}:{name}"


def rows_of_the_page():
    return [line.split("|")[1].strip() for line in PAGE.read_text().splitlines() if line.startswith("| ")][1:]


def test_each_row_has_an_attack_and_each_attack_a_row():
    assert rows_of_the_page() == list(ROWS)


@pytest.mark.parametrize("row", ROWS)
def test_the_attacks_of_a_row_are_there(row):
    for test in ROWS[row]:
        path, name = test.split(":")
        assert re.search(rf"\b{name}\b\W", (ROOT / path).read_text()), test


def test_each_limit_of_the_code_belongs_to_a_row():
    found = set(limits_in_the_code())
    unknown = [limit for limit in found - LIMITS.keys() - NOT_SHARED.keys() if not limit.startswith(OF_REQUESTS)]
    assert not unknown, "a limit that clients share belongs to a row of ADR 27; who uses it up, and who makes room?"
    assert set(LIMITS.values()) <= set(ROWS)
    gone = (LIMITS.keys() | NOT_SHARED.keys()) - found
    assert not gone, "they are not in the code any more"
