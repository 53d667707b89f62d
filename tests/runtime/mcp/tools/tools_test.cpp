#include "runtime/mcp/tools/tools.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/mcp/revision.hpp"
#include "tests/support/page.hpp"

namespace skiff::runtime::mcp {
namespace {

using nlohmann::json;

constexpr std::string_view kPageHead = R"(# The Model Context Protocol

skiffd serves the [Model Context Protocol](https://modelcontextprotocol.io) at `/mcp`, on the agent's own address and with its credentials. Any
client of the protocol can run commands and work with files in a sandbox, without an SDK for skiff.

## A desktop client

`skiff mcp` is an MCP server over stdio. `skiff mcp config CLIENT` prints the lines for the client's configuration, with the path of this `skiff`, and says to
which file they belong. CLIENT is `claude-desktop`, `claude-code`, `cursor`, `vscode`, `codex` or `zed`. For example, `skiff mcp config cursor --mount ~/project`:

```json
{
  "mcpServers": {
    "sandbox": {
      "command": "/usr/local/bin/skiff",
      "args": [
        "mcp",
        "--mount",
        "/home/me/project"
      ]
    }
  }
}
```

The flags are passed on. Without a flag and without a cluster the sandbox is a [box](security.md#the-box-driver): the model's commands see none of your files
but what `--mount DIR` shows, and what they write there stays in the sandbox. With a kubeconfig it is a Pod; `--driver box` names the box. If this machine
can make no box, `skiff mcp` answers the client with the reason and with what to do, and says it on stderr, too.

**What the model writes** below `--mount` is yours to take: a sandbox with changes stays when the client leaves, stopped. `skiff mcp` names it on stderr, and has
told the model in its instructions to name the commands to you: `skiff changes NAME` shows the changes, `skiff apply NAME` takes them, `skiff rm NAME` drops them.
The client's next session has a new sandbox, which sees what you have taken. To go on in the same one, create it yourself: `skiff up work --mount ~/project`, and
give the client `skiff mcp work`.

**With `--driver local` the sandbox is not isolated**: what the model runs, runs on this machine as you, with your files, programs and network. `skiff mcp`
says so to you on stderr, and to the model in its instructions.

`skiff mcp` passes only notifications and the answers to the client's own requests on to the client. A sandbox cannot send it requests.

`skiff mcp` creates a sandbox at the client's first message. It removes a sandbox without changes when the client closes stdin, or on SIGTERM. `skiff mcp NAME`
uses an existing sandbox and keeps it. The flags are those of `skiff up`: with `--driver pod --image python:3.12` the sandbox is a Pod in the
current cluster. If skiff is killed with SIGKILL, the sandbox ends by itself 5 minutes later (`--idle-ttl`). Its changes stay until `skiff rm` or `skiff gc`.

## Over HTTP

Give a client of Streamable HTTP the URL and the token:

```json
"sandbox": {
  "type": "http", "url": "http://127.0.0.1:7070/mcp",
  "headers": {"Authorization": "Bearer TOKEN"}}
```

- **Revisions**: REVISIONS. The newest has neither a handshake nor a session. The others begin with `initialize`; later
  requests carry `Mcp-Session-Id`. Only 2025-03-26 has batches.
- **Streams**: an answer that is ready within a second is JSON. A later one is a stream of server-sent events, which reports progress each
  second if the request has a `progressToken`. In a protocol session the events have ids: `GET /mcp` with `Last-Event-ID` returns the rest of a
  stream whose connection broke. Of the streams that have ended, the server keeps the newest, up to 1 MiB.
- **Cancellation**: `notifications/cancelled`, or closing the connection in the newest revision, cancels a request. A command that the
  request has started and waits for is killed. A background command continues.
- **Credentials** are the same as for every route ([operating](operating.md)). A token with the scope `read` sees the tools that read, and is
  refused the others. A token that is bound to a session works in that session only. A protocol session belongs to the credential that began it.
- **Origin** and Host are checked as for every route, also for GET.
- **Limits**: 64 protocol sessions, of one credential as many as the others leave free, each idle for at most 30 minutes; 32 running requests and 64 subscriptions
  per session; 256 of both in total, shared in the same way. A message has at most `--max-json-bytes`.

A command that a tool starts is a command of the agent: it appears in `/v1/commands`, the metrics and the audit log.

## Tools

Each tool has schemas of its arguments and of its structured result. An error is a result with `isError`; its text begins with
the [error's code](errors.md) and says what to do next.

)";

constexpr std::string_view kPageTail = R"(
## Resources

| URI                              | what it is |
|----------------------------------|---|
| `skiff://SESSION/files/PATH`     | a file below the session's root, up to 512 KiB; its names percent-encoded |
| `skiff://SESSION/logs/COMMAND`   | the newest 512 KiB that a command has printed |

`resources/list` lists the files at the top of the credential's own session, or of `default`, and the logs of its newest 50 commands.
Subscriptions report changes at most five times a second; a client that reads slowly gets several changes as one report.

## What the specification leaves to a server

| Case | Here | Reason |
|---|---|---|
| a request above the limits, or with the id of a running request | an error with its id, status 200 | the official Python client before 2.0 ends its session at any status of 400 and above |
| a request that is refused before it is read: 401, 403, 406, 413, 415, 421 | a problem document ([errors](errors.md)) | the answer is the agent's own, as for every route |
| invalid arguments of a tool | a result with `isError`, in every revision | a model can correct them; a request that is not a valid call gets -32602 |
| `MCP-Protocol-Version` names another known revision than the session's | the session's revision applies | nothing depends on the field |
| a second `initialize` | begins another session; the first one stays | a client that starts again cannot know whether the first session still exists |
| a batch | runs one request after the other; all are cancelled or none; parts that are not messages get answers of their own | `skiff mcp` refuses a batch: its clients send none |
| a second `GET` of a session | takes over the stream | a client may reconnect before its broken connection is noticed |
| `q` in `Accept` | is ignored | both types are needed |

## Not supported

Prompts, completion, `logging/setLevel`, and requests from the server to its client (sampling, elicitation, roots): a sandbox has no use for
them, and the capabilities do not announce them. The server does not announce changes of its lists of tools and resources.

## Tested clients

The official clients, unmodified, with every tool, over HTTP and over `skiff mcp`: Python `mcp` 2.3.0 and 1.12.4, TypeScript
`@modelcontextprotocol/client` 2.4.0 and `@modelcontextprotocol/sdk` 1.32.2. From the conformance suite
(`@modelcontextprotocol/conformance` 0.2.0-alpha.12), the scenarios that do not need tools or resources of the suite's own test server. The tests are in
`tests/clients/mcp`.

This page is generated from the tool table: run `runtime_tests` with `SKIFF_UPDATE_DOCS=1` after a change.
)";

std::string mcp_page() {
  std::string text{kPageHead};
  std::string revisions;
  for (const RevisionName& one : kRevisions) (revisions += revisions.empty() ? "" : ", ") += one.name;
  text.replace(text.find("REVISIONS"), 9, revisions);
  test::MarkdownTable table{{"Tool", "Scope", "Arguments", "What it does"}};
  for (const Tool& tool : tools()) {
    std::string names;
    const json schema = json::parse(tool.input());
    const auto required = schema.value("required", std::vector<std::string>{});
    for (const auto& [name, member] : schema["properties"].items()) {
      const bool is_optional = std::ranges::find(required, name) == required.end();
      (((names += names.empty() ? "`" : ", `") += name) += is_optional ? "?" : "") += '`';
    }
    table.add({test::code(tool.name), std::string{name(tool.scope)}, names, std::string{tool.description}});
  }
  return text + table.text() + std::string{kPageTail};
}

TEST(McpTools, EachIsDescribedForAModel) {
  std::set<std::string_view> names;
  for (const Tool& tool : tools()) {
    EXPECT_TRUE(names.insert(tool.name).second) << tool.name;
    EXPECT_FALSE(tool.title.empty() || tool.description.empty()) << tool.name;
    EXPECT_EQ(tool.read_only, tool.scope == Scope::read) << tool.name;
    EXPECT_FALSE(tool.read_only && tool.destructive) << tool.name;
    for (const auto& schema : {json::parse(tool.input()), json::parse(tool.output())}) {
      EXPECT_EQ(schema["type"], "object") << tool.name;
      for (const auto& [member, one] : schema["properties"].items())
        EXPECT_TRUE(one.is_object()) << tool.name << member;
    }
  }
}

TEST(McpTools, AnErrorSaysWhatToDoNext) {
  EXPECT_EQ(
      advice_text({Errc::path_not_found, "open \"x\": No such file or directory"}),
      "path_not_found: open \"x\": No such file or directory. Call list_directory or find_files to see what is there.");
  EXPECT_EQ(advice_text({Errc::invalid_field, "/a: expected a string", "/a"}),
            "invalid_field: /a: expected a string. Correct that argument and call the tool again.");
  EXPECT_EQ(
      advice_text({Errc::in_use, "remove \"x\": it is a mount"}),
      "in_use: remove \"x\": it is a mount. It is a mount, or the kernel uses it: unmount it with run_command, or "
      "choose another path.");
  EXPECT_EQ(advice_text({Errc::internal, "why", "/b"}), "internal: why (/b).");
}

TEST(McpTools, TheirPageIsTheCommittedOne) {
  test::expect_page("mcp.md", mcp_page());
}

}  // namespace
}  // namespace skiff::runtime::mcp
