#include "runtime/api/openapi/event_schemas.hpp"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "protocol/websocket/frame.hpp"
#include "runtime/api/events.hpp"
#include "runtime/api/route.hpp"
#include "runtime/api/sockets/messages.hpp"
#include "runtime/api/sockets/socket_routes.hpp"
#include "tests/runtime/api/openapi/schema_page.hpp"

namespace skiff::runtime::api {
namespace {

using test::MarkdownTable;

constexpr std::string_view kEventsIntroduction =
    "# Events, records and messages of skiffd\n\n"
    "Every line of NDJSON, every `data` of a server-sent event and every text frame of a WebSocket is one JSON object. "
    "Server-sent events\nrepeat `type` as `event:`; their `id:` is `next` (in a watch `cursor`), so that "
    "`Last-Event-ID` resumes without repeating events. A field marked\n`?` may be absent. Fields and events are only "
    "ever added: ignore those that you do not know.\n\n"
    "This page is generated from the schemas of `/asyncapi.json`: run `runtime_tests` with "
    "`SKIFF_UPDATE_DOCS=1` after a change. `/openapi.json`\ndescribes all events of a stream by one object.\n";

constexpr std::string_view kSockets =
    "\n## Messages on a WebSocket\n\n"
    "`/v1/connect`, `.../attach` and `.../run` speak `skiff.v1.json` (also if the client offers no subprotocol) or "
    "`skiff.v1.binary`. The server\nsends the events above, `pong` and `detached`; a client sends the others. On "
    "`/v1/connect` each message of either side has a `channel`:\nthe number, from 1 to 4294967295, that the client "
    "chose when it started the command or attached to it. Each message of a client\nneeds the scope that is given "
    "below, "
    "whatever scope the upgrade needed; a refused message is answered with `error`.\n\n"
    "A page in a browser can't send `Authorization`. It shows the token as the subprotocol `skiff.bearer.TOKEN`, with "
    "the token in base64url\nwithout padding, and offers `skiff.v1.json` (or `skiff.v1.binary`) beside it: the server "
    "never names the former in its answer, and a browser\nrefuses an answer that names none of what it has offered. "
    "This is the same on `/v1/shell`. `new WebSocket(url, [\"skiff.v1.json\", \"skiff.bearer.\" + "
    "base64url(token)])`\n";

constexpr std::string_view kBinary =
    "\n## Binary frames\n\n"
    "With `skiff.v1.binary`, output and stdin are binary frames: this header, big-endian, then bytes of one stream. "
    "All other messages are JSON text.\n\n";

constexpr std::string_view kShell =
    "\n## The terminal of /v1/shell\n\n"
    "Binary frames are raw bytes, in both directions. A text frame of the client has these fields, and is never "
    "keys; the reason of the "
    "close frame says how the shell ended.\n\n";

/// A field of the binary header, with a value that identifies it in an encoded header.
struct HeaderPart {
  const char* type;
  const char* name;
  std::size_t size;
  const char* meaning;
  std::uint64_t value;
};

constexpr std::array kHeader{
    HeaderPart{"u8", "version", 1, "1", BinaryHeader::kVersion},
    HeaderPart{"u8", "kind", 1, "1 output, 2 stdin", BinaryHeader::kStdin},
    HeaderPart{"u8", "stream", 1, "0 stdin, 1 stdout, 2 stderr", 2},
    HeaderPart{"u8", "flags", 1, "1: after the exit, from a process in the background", BinaryHeader::kLate},
    HeaderPart{"u32", "channel", 4, "On `/v1/connect` the client's number, elsewhere 0", 0x01020304},
    HeaderPart{"u64", "offset", 8,
               "Of the first byte. Of stdin: where it belongs, for exact retries; 2^64-1 is wherever the input is",
               0x1112131415161718},
    HeaderPart{"u64", "time_us", 8, "Microseconds since 1970, when it was read; 0 of stdin", 0x2122232425262728},
};

struct CloseCode {
  std::uint16_t code;
  const char* meaning;
};

constexpr std::array kCloseCodes{
    CloseCode{protocol::close_code::kNormal, "The command's last event was sent, or the client detached."},
    CloseCode{protocol::close_code::kGoingAway, "The agent is stopping."},
    CloseCode{protocol::close_code::kProtocolError, "A frame that is not a message, or breaks RFC 6455."},
    CloseCode{protocol::close_code::kUnsupported, "On `/v1/shell`: keys as a text frame. Send binary frames."},
    CloseCode{protocol::close_code::kBadData, "A text frame that is not UTF-8."},
    CloseCode{protocol::close_code::kTooBig, "A message larger than `--max-frame-bytes`."},
    CloseCode{kClosedSessionDeleted, "The session was deleted."},
    CloseCode{kClosedTooSlow, "The client took nothing for `--write-timeout`: attach again at the last `next`."},
    CloseCode{kClosedExpired, "The token has expired."},
};

class Page {
 public:
  Page() : text_{kEventsIntroduction} {}

  void say(std::string_view text) { text_ += text; }

  /// Adds a heading and a table for each schema, unless it was shown before.
  void show_all_of(const Schemas& schemas) {
    for (const protocol::SchemaRef& one : schemas) show(one.name, Json::parse(one.json));
  }

  void show(const std::string& name, Json schema) {
    if (std::ranges::find(shown_, name) != shown_.end()) return;
    shown_.push_back(name);
    const Json type = schema["properties"].value("type", Json::object()).value("enum", Json::array());
    say("\n### " + (type.size() == 1 ? type[0].get<std::string>() : name) + "\n");
    if (schema.contains("description")) say("\n" + schema["description"].get<std::string>() + "\n");
    if (type.size() == 1) schema["properties"].erase("type");
    schema["properties"].erase("channel");  // said once, for all of them
    if (name == "StartMessage") {
      const Json request = Json::parse(openapi_document())["components"]["schemas"]["CommandRequest"];
      for (const auto& [field, is] : request["properties"].items()) {
        schema["properties"].erase(field);
      }
    }
    if (!schema["properties"].empty()) {
      say("\n");
      table_of(schema);
    }
    if (name == "StartMessage") say("\nAnd the fields of a [CommandRequest](routes.md#commandrequest).\n");
  }

  void table_of(const Json& schema) { say(members_table(schema)); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::vector<std::string> shown_;
};

std::string header_table() {
  MarkdownTable table{{"Bytes", "Type", "Field", "Meaning"}};
  std::size_t at = 0;
  for (const HeaderPart& part : kHeader) {
    const std::string last = part.size == 1 ? "" : "-" + std::to_string(at + part.size - 1);
    table.add({std::to_string(at) + last, part.type, part.name, part.meaning});
    at += part.size;
  }
  return table.text();
}

std::string close_table() {
  MarkdownTable table{{"Code", "Meaning"}};
  for (const CloseCode& one : kCloseCodes) table.add({std::to_string(one.code), one.meaning});
  return table.text();
}

TEST(EventSchemas, AreDocumentedAsTheyAre) {
  Page page;
  page.say("\n## Events of a command\n");
  page.show_all_of(stream_events());
  page.say(kSockets);
  page.show_all_of(server_messages());
  page.show_all_of(client_messages());
  page.say(kBinary);
  page.say(header_table());
  page.say("\n## Close codes\n\n");
  page.say(close_table());
  page.say(kShell);
  page.table_of(Json::parse(terminal_message().json));
  page.say("\n## Records of files:glob and files:grep\n");
  page.show_all_of(glob_records());
  page.show_all_of(grep_records());
  page.say("\n## Events of files:watch\n");
  page.show_all_of(watch_events());
  test::expect_page("events.md", page.text());
}

TEST(EventSchemas, MergeIntoOneObject) {
  const Json merged = Json::parse(event_schema().json);
  std::size_t types = 0;
  for (const protocol::SchemaRef& event : stream_events()) {
    const Json one = Json::parse(event.json);
    for (const auto& [name, schema] : one["properties"].items()) {
      if (name == "channel" || name == "type") continue;
      EXPECT_EQ(type_in_words(merged["properties"][name]), type_in_words(schema))
          << event.name << ": two members are called " << name;
    }
    EXPECT_EQ(merged["properties"]["type"]["enum"][types++], one["properties"]["type"]["enum"][0]);
  }
  EXPECT_EQ(merged["required"], Json::array({"type"}));
  EXPECT_FALSE(merged["properties"].contains("channel"));
}

TEST(EventSchemas, DescribeTheLayoutOfTheBinaryHeader) {
  const BinaryHeader header{.kind = BinaryHeader::kStdin,
                            .stream = 2,
                            .flags = BinaryHeader::kLate,
                            .channel = 0x01020304,
                            .offset = 0x1112131415161718,
                            .time_us = 0x2122232425262728};
  const auto bytes = header.encode();
  std::size_t at = 0;
  for (const HeaderPart& part : kHeader) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < part.size; ++i) value = value << 8U | static_cast<unsigned char>(bytes.at(at++));
    EXPECT_EQ(value, part.value) << part.name;
  }
  EXPECT_EQ(at, BinaryHeader::kSize);
}

}  // namespace
}  // namespace skiff::runtime::api
