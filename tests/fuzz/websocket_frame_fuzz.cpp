#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/json/utf8.hpp"
#include "protocol/websocket/frame.hpp"

namespace {

using namespace skiff::protocol;
using Kind = MessageParser::Kind;
constexpr std::size_t kMost = 4096;

void require(bool condition) {
  if (!condition) std::abort();
}

/// What the parser says about the next bytes, at most `step` of them, which are taken off.
MessageParser::Event take_step(MessageParser& parser, std::string_view& bytes, std::size_t step, bool use_direct) {
  MessageParser::Event event;
  std::size_t used = 0;
  const std::string_view chunk = bytes.substr(0, step);
  if (const auto direct = parser.direct(); use_direct && !direct.empty()) {
    used = chunk.copy(direct.data(), direct.size());
    parser.commit(used, event);
  } else {
    used = parser.feed(chunk, event);
  }
  require(used > 0 && used <= chunk.size());
  bytes.remove_prefix(used);
  return event;
}

/// What the parser says about `bytes` when they come in steps of at most `step` bytes.
std::vector<MessageParser::Event> parse(std::string_view bytes, Side side, std::size_t step, bool use_direct) {
  MessageParser parser{side, kMost};
  std::vector<MessageParser::Event> events;
  while (!bytes.empty()) {
    MessageParser::Event event = take_step(parser, bytes, step, use_direct);
    if (event.kind == Kind::need_more) continue;
    require(event.payload.size() <= kMost);
    require(event.kind != Kind::text || is_valid_utf8(event.payload));
    require(event.kind != Kind::violation || is_sendable_close_code(event.code));
    const bool last = event.kind == Kind::violation || event.kind == Kind::close;
    events.push_back(std::move(event));
    if (last) break;
  }
  return events;
}

/// Parses as above, with the bytes of binary messages in pieces; each run of pieces becomes one event.
std::vector<MessageParser::Event> parse_pieces(std::string_view bytes, Side side, std::size_t step, bool use_direct) {
  MessageParser parser{side, kMost, MessageParser::Bytes::in_pieces};
  std::vector<MessageParser::Event> events;
  while (!bytes.empty()) {
    MessageParser::Event event = take_step(parser, bytes, step, use_direct);
    if (event.kind == Kind::need_more) continue;
    require(event.kind != Kind::binary || (!event.payload.empty() && event.payload.size() <= std::size_t{65536}));
    require(event.kind != Kind::text || event.payload.size() <= kMost);
    if (event.kind == Kind::binary && !events.empty() && events.back().kind == Kind::binary) {
      events.back().payload += event.payload;
      continue;
    }
    const bool last = event.kind == Kind::violation || event.kind == Kind::close;
    events.push_back(std::move(event));
    if (last) break;
  }
  return events;
}

void require_same(const std::vector<MessageParser::Event>& some, const std::vector<MessageParser::Event>& others) {
  require(some.size() == others.size());
  for (std::size_t i = 0; i < some.size(); ++i) {
    require(some[i].kind == others[i].kind && some[i].code == others[i].code && some[i].payload == others[i].payload);
  }
}

}  // namespace

/// Checks that the events do not depend on how the bytes are cut.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const Side side = (data[0] & 1) != 0 ? Side::server : Side::client;
  const std::size_t step = 1 + data[1] % 64;
  const std::string_view bytes{reinterpret_cast<const char*>(data) + 2, size - 2};
  const auto whole = parse(bytes, side, bytes.size() + 1, false);
  const auto in_pieces = parse_pieces(bytes, side, bytes.size() + 1, false);
  for (const bool direct : {false, true}) {
    require_same(parse(bytes, side, step, direct), whole);
    require_same(parse_pieces(bytes, side, step, direct), in_pieces);
  }
  return 0;
}
