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

/// What the parser says about `bytes` when they come in steps of at most `step` bytes.
std::vector<MessageParser::Event> parse(std::string_view bytes, Side side, std::size_t step, bool use_direct) {
  MessageParser parser{side, kMost};
  std::vector<MessageParser::Event> events;
  while (!bytes.empty()) {
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

}  // namespace

/// The same events must come out however the bytes are cut.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const Side side = (data[0] & 1) != 0 ? Side::server : Side::client;
  const std::size_t step = 1 + data[1] % 64;
  const std::string_view bytes{reinterpret_cast<const char*>(data) + 2, size - 2};
  const auto whole = parse(bytes, side, bytes.size() + 1, false);
  for (const bool direct : {false, true}) {
    const auto pieces = parse(bytes, side, step, direct);
    require(pieces.size() == whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i) {
      require(pieces[i].kind == whole[i].kind && pieces[i].code == whole[i].code &&
              pieces[i].payload == whole[i].payload);
    }
  }
  return 0;
}
