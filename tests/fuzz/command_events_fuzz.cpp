#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>

#include "container/agent/stream/command_events.hpp"
#include "tests/support/agent_frames.hpp"

namespace {

using namespace skiff;
using namespace skiff::container;
using Kind = CommandEvent::Kind;

void require(bool condition) {
  if (!condition) std::abort();
}

/// The next message: a line of text; behind a '>' an output frame, its offset in decimal up to a space; behind a '='
/// any binary frame.
protocol::WebSocket::Message take_message(std::string_view& rest) {
  const std::string_view line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  if (line.starts_with('=')) {
    return {.kind = protocol::WebSocket::Kind::binary, .payload = std::string{line.substr(1)}};
  }
  if (!line.starts_with('>')) return test::text_frame(line);
  std::uint64_t offset = 0;
  std::size_t at = 1;
  for (; at < line.size() && line[at] >= '0' && line[at] <= '9'; ++at) {
    offset = offset * 10 + static_cast<unsigned>(line[at] - '0');
  }
  return test::output_frame(line.size() % 2 == 0 ? 1 : 2, offset, line.substr(std::min(at + 1, line.size())));
}

}  // namespace

/// Whatever an agent says: nothing throws, the command begins once, and its log is told in order, each byte once.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view rest{reinterpret_cast<const char*>(data) + 1, size - 1};
  const std::uint64_t from = data[0] % 16;
  CommandEvents events = from == 0 ? CommandEvents{} : CommandEvents{from};
  std::uint64_t told = from;
  bool begun = false;
  while (!rest.empty()) {
    const bool knew = events.started();
    const auto event = events.take(take_message(rest));
    require(!knew || events.started());
    if (!event || !*event) {
      require(events.next_offset() == told);
      continue;
    }
    switch ((*event)->kind) {
      case Kind::started:
        require(!begun && events.started());
        begun = true;
        break;
      case Kind::output:
        require((*event)->offset >= told && !(*event)->bytes.empty());
        require((*event)->bytes.size() <= std::numeric_limits<std::uint64_t>::max() - (*event)->offset);
        told = (*event)->offset + (*event)->bytes.size();
        break;
      case Kind::gap:
        require((*event)->offset >= told && (*event)->lost_bytes > 0);
        require((*event)->lost_bytes <= std::numeric_limits<std::uint64_t>::max() - (*event)->offset);
        told = (*event)->offset + (*event)->lost_bytes;
        break;
      case Kind::exit:
        require(!(*event)->exit.exit_code || (*(*event)->exit.exit_code >= 0 && *(*event)->exit.exit_code <= 255));
        break;
    }
    require(events.next_offset() == told);
  }
  return 0;
}
