#include "container/agent/stream/command_events.hpp"

#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/agent/client.hpp"
#include "protocol/json/schema.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;
using protocol::WebSocket;

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes) value = value << 8U | static_cast<unsigned char>(c);
  return value;
}

std::unexpected<Error> not_an_event(const std::string& what) {
  return std::unexpected{foreign_answer(what)};
}

}  // namespace

CommandExit CommandExit::of(const json& said) {
  CommandExit exit;
  if (!said.is_object()) return exit;
  exit.cause = text_at(said, "cause");
  exit.signal = text_at(said, "signal");
  if (const auto code = said.find("exit_code"); code != said.end() && code->is_number_unsigned()) {
    if (const auto value = code->get<std::uint64_t>(); value <= 255) exit.exit_code = static_cast<int>(value);
  }
  if (const auto error = said.find("error"); error != said.end() && error->is_object()) {
    exit.error = text_at(*error, "message");
  }
  return exit;
}

Result<std::optional<CommandEvent>> CommandEvents::take_output(std::string frame) {
  // The header of skiff.v1.binary: version, kind, stream, flags, then channel, offset and time.
  constexpr std::size_t kHeader = 24;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(frame[at]); };
  if (frame.size() <= kHeader || byte(0) != 1 || byte(1) != 1) return std::nullopt;
  CommandEvent event{.kind = CommandEvent::Kind::output, .is_stderr = byte(2) == 2};
  event.offset = big_endian(std::string_view{frame}.substr(8, 8));
  frame.erase(0, kHeader);
  const std::uint64_t end = event.offset + frame.size();
  if (event.offset > next_offset_ || end < event.offset) {
    return not_an_event("its output goes on at " + std::to_string(event.offset) + " after " +
                        std::to_string(next_offset_));
  }
  // After a repeated start, the agent sends the log from its beginning.
  if (end <= next_offset_) return std::nullopt;
  if (event.offset < next_offset_) {
    frame.erase(0, next_offset_ - event.offset);
    event.offset = next_offset_;
  }
  next_offset_ = end;
  event.bytes = std::move(frame);
  return event;
}

Result<std::optional<CommandEvent>> CommandEvents::take_gap(const json& said) {
  const auto from = number_at(said, "from");
  const auto to = number_at(said, "to");
  if (!from || !to || *from > next_offset_) return not_an_event("it does not say which output is lost");
  if (*to <= next_offset_) return std::nullopt;
  CommandEvent gap{.kind = CommandEvent::Kind::gap, .offset = next_offset_, .lost_bytes = *to - next_offset_};
  next_offset_ = *to;
  return gap;
}

Result<std::optional<CommandEvent>> CommandEvents::take(WebSocket::Message message) {
  if (message.kind == WebSocket::Kind::binary) return take_output(std::move(message.payload));
  const auto said = protocol::parse_json(message.payload);
  if (!said || !said->is_object()) return not_an_event("it sent a message that isn't an event");
  const std::string type = text_at(*said, "type");
  if (type == "started") {
    started_ = true;
    if (std::exchange(announced_, true)) return std::nullopt;
    return CommandEvent{.kind = CommandEvent::Kind::started};
  }
  if (type == "gap") return take_gap(*said);
  if (type == "exit") {
    return CommandEvent{.kind = CommandEvent::Kind::exit, .offset = next_offset_, .exit = CommandExit::of(*said)};
  }
  if (type == "error") {
    const std::string word = text_at(*said, "code");
    const std::string detail = text_at(*said, "detail");
    return fail(find_code(word).value_or(Errc::invalid_request), detail.empty() ? word : detail,
                text_at(*said, "field"));
  }
  return std::nullopt;
}

}  // namespace skiff::container
