#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "protocol/socket_io/packets.hpp"
#include "runtime/dialects/kubebox/events.hpp"

namespace {

using namespace skiff;
using namespace skiff::protocol::socket_io;

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

/// Frames of Engine.IO with Socket.IO in them: a packet that is taken means the same when it is written again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const auto frame = parse_frame(text);
  if (!frame || frame->type != FrameType::message) return 0;
  const auto packet = parse_packet(frame->content);
  if (!packet) {
    require(packet.error().code == Errc::invalid_request && !packet.error().message.empty());
    return 0;
  }
  const std::string written = to_frame(*packet);
  const auto again = parse_packet(std::string_view{written}.substr(1));
  require(again.has_value() && again->type == packet->type && again->id == packet->id);
  require(again->payload == packet->payload);
  if (packet->type == PacketType::event) (void)runtime::dialects::kubebox::parse_client_event(packet->payload);
  return 0;
}
