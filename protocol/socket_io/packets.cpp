#include "protocol/socket_io/packets.hpp"

#include <algorithm>
#include <charconv>

#include <nlohmann/json.hpp>

#include "protocol/json/schema.hpp"
#include "protocol/json/text.hpp"

namespace skiff::protocol::socket_io {
namespace {

constexpr JsonLimits kEventLimits{.max_bytes = std::size_t{1} << 20U, .max_depth = 16};
constexpr std::size_t kLongestNamespace = 256;
constexpr std::uint64_t kLargestNumber = (std::uint64_t{1} << 53U) - 1;

}  // namespace

Result<Frame> parse_frame(std::string_view text) {
  if (text.empty()) return fail(Errc::invalid_request, "an Engine.IO frame begins with its type");
  const auto type = static_cast<FrameType>(text.front());
  if (type != FrameType::close && type != FrameType::pong && type != FrameType::message) {
    return fail(Errc::invalid_request, "a client sends the Engine.IO frames 1 (close), 3 (pong) and 4 (message)");
  }
  return Frame{type, text.substr(1)};
}

std::string to_frame(const Opening& opening) {
  std::string text{"0{"};
  append_json_text(text, "sid", opening.id);
  text += R"(,"upgrades":[])";
  append_json_number(text, "pingInterval", static_cast<std::uint64_t>(opening.ping_interval.count()));
  append_json_number(text, "pingTimeout", static_cast<std::uint64_t>(opening.ping_timeout.count()));
  append_json_number(text, "maxPayload", opening.max_payload);
  text += '}';
  return text;
}

Result<Packet> parse_packet(std::string_view message) {
  if (message.empty() || message.front() < '0' || message.front() > '3') {
    return fail(Errc::invalid_request,
                "a client's Socket.IO packet begins with its type, 0 to 3: binary packets are not supported");
  }
  Packet packet{.type = static_cast<PacketType>(message.front() - '0')};
  message.remove_prefix(1);
  if (message.starts_with('/')) {
    const std::string_view name = message.substr(0, message.find(','));
    message.remove_prefix(std::min(name.size() + 1, message.size()));
    if (name != "/") packet.other = name;
    if (!packet.other.empty() && (packet.type != PacketType::connect || name.size() > kLongestNamespace)) {
      return fail(Errc::invalid_request, "only the namespace / exists");
    }
  }
  const std::size_t digits = std::min(message.find_first_not_of("0123456789"), message.size());
  if (digits > 0) {
    packet.id = parse_number(message.substr(0, digits));
    if (!packet.id) return fail(Errc::invalid_request, "the id of a Socket.IO packet is above 2^53 - 1");
    message.remove_prefix(digits);
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

std::string to_frame(const Packet& packet) {
  std::string frame{static_cast<char>(FrameType::message), static_cast<char>('0' + static_cast<int>(packet.type))};
  if (packet.id) frame += std::to_string(*packet.id);
  frame += packet.payload;
  return frame;
}

std::string refusal_frame(std::string_view other) {
  return "44" + std::string{other} + R"(,{"message":"Invalid namespace"})";
}

Result<nlohmann::json> parse_event(std::string_view payload) {
  auto parsed = parse_json(payload, kEventLimits);
  if (!parsed) return fail(Errc::invalid_request, "an event's payload: " + parsed.error().message);
  if (!parsed->is_array() || parsed->empty() || !parsed->front().is_string()) {
    return fail(Errc::invalid_request, "an event's payload is an array that begins with its name");
  }
  return parsed;
}

std::string begin_event(std::string_view name, std::optional<std::uint64_t> id) {
  std::string frame = to_frame(Packet{.type = PacketType::event, .id = id, .payload = "[\""});
  frame += name;
  frame += "\",{";
  return frame;
}

std::optional<std::uint64_t> parse_number(std::string_view digits) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size() || number > kLargestNumber) return std::nullopt;
  return number;
}

}  // namespace skiff::protocol::socket_io
