#include "runtime/dialects/kubebox/packets.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

#include "protocol/json/schema.hpp"

namespace skiff::runtime::dialects::kubebox {
namespace {

constexpr protocol::JsonLimits kEventLimits{.max_bytes = std::size_t{1} << 20U, .max_depth = 16};
/// JavaScript counts ids in doubles.
constexpr std::uint64_t kLargestId = (std::uint64_t{1} << 53U) - 1;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Digits alone; nothing for a number above 2^53 - 1.
std::optional<std::uint64_t> number_of(std::string_view digits) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size() || number > kLargestId) return std::nullopt;
  return number;
}

}  // namespace

Result<Frame> parse_frame(std::string_view text) {
  if (text.empty()) return fail(Errc::invalid_request, "an Engine.IO frame begins with its type");
  const auto type = static_cast<FrameType>(text.front());
  if (type != FrameType::close && type != FrameType::pong && type != FrameType::message) {
    return fail(Errc::invalid_request, "a client sends the Engine.IO frames 1 (close), 3 (pong) and 4 (message)");
  }
  return Frame{type, text.substr(1)};
}

Result<Packet> parse_packet(std::string_view message) {
  if (message.empty() || message.front() < '0' || message.front() > '4') {
    return fail(Errc::invalid_request, "a Socket.IO packet begins with its type, 0 to 4: binary ones are not taken");
  }
  Packet packet{.type = static_cast<PacketType>(message.front() - '0'), .id = {}, .payload = {}};
  message.remove_prefix(1);
  if (message.starts_with('/')) {
    packet.name_space = message.substr(0, message.find(','));
    if (packet.name_space.size() > kLongestNamespace) {
      return fail(Errc::invalid_request,
                  "a namespace has at most " + std::to_string(kLongestNamespace) + " characters");
    }
    message.remove_prefix(std::min(packet.name_space.size() + 1, message.size()));
  }
  const auto* const digits = std::ranges::find_if_not(message, is_digit);
  const auto size = static_cast<std::size_t>(digits - message.begin());
  if (size > 0) {
    packet.id = number_of(message.substr(0, size));
    if (!packet.id) return fail(Errc::invalid_request, "the id of a Socket.IO packet is above 2^53 - 1");
    message.remove_prefix(size);
  }
  if (!message.empty() && message.front() != '[' && message.front() != '{') {
    return fail(Errc::invalid_request, "the payload of a Socket.IO packet is a JSON array or object");
  }
  packet.payload = message;
  const bool counted = packet.type == PacketType::event || packet.type == PacketType::ack;
  if ((packet.id && !counted) || (packet.type == PacketType::ack && !packet.id)) {
    return fail(Errc::invalid_request, "events may have an id, acknowledgements must have one, others have none");
  }
  return packet;
}

void append_packet(std::string& out, const Packet& packet) {
  out += static_cast<char>('0' + static_cast<char>(packet.type));
  if (packet.name_space != "/") {
    out += packet.name_space;
    out += ',';
  }
  if (packet.id) out += std::to_string(*packet.id);
  out += packet.payload;
}

Result<ClientEvent> parse_event(std::string_view payload) {
  auto parsed = protocol::parse_json(payload, kEventLimits);
  if (!parsed) return fail(Errc::invalid_request, "an event's payload: " + parsed.error().message);
  if (!parsed->is_array() || parsed->empty() || !parsed->front().is_string()) {
    return fail(Errc::invalid_request, "an event's payload is an array that begins with its name");
  }
  ClientEvent event{.name = parsed->front().get<std::string>(), .data = {}};
  if (parsed->size() < 2 || !(*parsed)[1].is_object()) return event;
  const auto& data = (*parsed)[1];
  if (const auto found = data.find("session_id"); found != data.end() && found->is_string()) {
    event.data.session_id = found->get<std::string>();
  }
  if (const auto found = data.find("process_id"); found != data.end()) event.data.process_id = process_id_of(*found);
  return event;
}

std::optional<std::uint64_t> process_id_of(const nlohmann::json& value) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() <= kLargestId) return value.get<std::uint64_t>();
  if (value.is_string()) return number_of(value.get_ref<const std::string&>());
  return std::nullopt;
}

}  // namespace skiff::runtime::dialects::kubebox
