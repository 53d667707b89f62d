#include "runtime/api/sockets/messages.hpp"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "protocol/json/base64.hpp"
#include "protocol/json/schema.hpp"
#include "runtime/api/answers/schema_parts.hpp"
#include "runtime/api/events.hpp"

namespace skiff::runtime::api {
namespace {

/// The client's messages, in the order of ClientMessage's `body`, with their scopes, which equal those of the matching
/// routes.
struct MessageType {
  std::string_view type;
  Scope scope;
};
constexpr std::array<MessageType, std::variant_size_v<decltype(ClientMessage::body)>> kMessageTypes{{
    {"start", Scope::exec},
    {"attach", Scope::read},  // exec for a lossless one, see `scope_of`
    {"detach", Scope::read},
    {"stdin", Scope::exec},
    {"stdin_close", Scope::exec},
    {"signal", Scope::exec},
    {"resize", Scope::exec},
    {"ping", Scope::read},
}};

// Fields of messages without a struct elsewhere. `type`, `channel` and `session` are removed before decoding.

struct AttachFields {
  std::string id;
  std::uint64_t from = 0;
  bool lossless = false;
  std::optional<std::string> until;
  static constexpr auto fields = std::tuple{
      field("id", &AttachFields::id, "Id of the command", {.text = Text::id}),
      field("from", &AttachFields::from, "Offset to begin at", {.minimum = 0, .optional = true}),
      field("lossless", &AttachFields::lossless,
            "Make the command wait for this reader, so that no output is lost; needs the scope exec",
            {.optional = true}),
      field("until", &AttachFields::until, "Last event: exit or end"),
  };
};

struct StdinFields {
  std::optional<std::string> data;
  std::optional<std::string> data_base64;
  std::optional<std::uint64_t> offset;
  static constexpr auto fields = std::tuple{
      field("data", &StdinFields::data, "Input as text"),
      field("data_base64", &StdinFields::data_base64, "Input in base64"),
      field("offset", &StdinFields::offset, "Offset of the input in stdin, for exact retries"),
  };
};

struct PingFields {
  std::string data;
  static constexpr auto fields = std::tuple{
      field("data", &PingFields::data, "Data to return in the pong", {.max_length = 1024, .optional = true})};
};

struct NoFields {
  bool unused = false;
  static constexpr auto fields = std::tuple{};
};

struct TerminalFields {
  std::optional<sessions::TerminalSize> resize;
  static constexpr auto fields = std::tuple{field("resize", &TerminalFields::resize, "New size of the terminal")};
};

Result<bool> until_end(const std::optional<std::string>& until) {
  if (!until || *until == "exit") return false;
  if (*until == "end") return true;
  return fail(Errc::invalid_field, "until must be exit or end", "/until");
}

Result<std::optional<std::string>> take_text(nlohmann::json& message, const char* name) {
  const auto found = message.find(name);
  if (found == message.end()) return std::nullopt;
  if (!found->is_string()) return fail(Errc::invalid_field, "expected a string", std::string{"/"} + name);
  std::string text = std::move(found->get_ref<std::string&>());
  message.erase(found);
  return text;
}

template <class Fields, class Make>
Result<ClientMessage> make(std::uint32_t channel, const nlohmann::json& message, Make body) {
  SKIFF_TRY(auto decoded, protocol::decode_json<Fields>(message));
  SKIFF_TRY(auto made, body(std::move(decoded)));
  return ClientMessage{channel, std::move(made)};
}

template <class Body>
using Made = Result<Body>;

/// The schema of a message. `more` are the members beside type and channel that are removed before its fields are
/// decoded.
template <class Fields>
protocol::SchemaRef message(const char* name, const char* type, const char* help, std::vector<Member> more = {}) {
  using Json = nlohmann::ordered_json;
  more.insert(more.begin(), {{"type", one_of({type})},
                             {"channel", R"({"type":"integer","minimum":0,"maximum":4294967295})", false,
                              "On /v1/connect: a number from 1 that the client chooses; elsewhere absent or 0"}});
  const auto known = std::ranges::find(kMessageTypes, std::string_view{type}, &MessageType::type);
  const std::string text = std::string{help} + " Scope: " + std::string{runtime::name(known->scope)} + '.';
  Json schema = Json::parse(object(more, text));
  Json own = Json::parse(protocol::json_schema<Fields>());
  for (auto& [member, is] : own["properties"].items()) schema["properties"][member] = std::move(is);
  for (auto& member : own["required"]) schema["required"].push_back(std::move(member));
  for (const char* kept : {"properties", "required", "type", "title"}) own.erase(kept);
  schema.update(own);
  return {.name = name, .json = schema.dump()};
}

}  // namespace

Result<ClientMessage> parse_client_message(std::string_view text, std::uint32_t& channel) {
  SKIFF_TRY(auto parsed, protocol::parse_json(text));
  nlohmann::json message = std::move(parsed);
  if (!message.is_object()) return fail(Errc::invalid_request, "a frame is a JSON object with a type");
  if (const auto found = message.find("channel"); found != message.end()) {
    if (!found->is_number_unsigned() || found->get<std::uint64_t>() > 0xFFFFFFFFU) {
      return fail(Errc::invalid_field, "expected a whole number from 0 to 4294967295", "/channel");
    }
    channel = found->get<std::uint32_t>();
    message.erase(found);
  }
  SKIFF_TRY(auto type, take_text(message, "type"));
  if (!type) return fail(Errc::invalid_request, "a frame is a JSON object with a type");
  const std::string& word = *type;

  if (word == "stdin") {
    return make<StdinFields>(channel, message, [](StdinFields fields) -> Made<StdinMessage> {
      if (fields.data.has_value() == fields.data_base64.has_value()) {
        return fail(Errc::invalid_field, "give exactly one of data and data_base64", "/data");
      }
      if (fields.data) return StdinMessage{std::move(*fields.data), fields.offset};
      auto bytes = protocol::decode_base64(*fields.data_base64);
      if (!bytes) return fail(Errc::invalid_field, "not base64 (RFC 4648 section 4, with padding)", "/data_base64");
      return StdinMessage{std::move(*bytes), fields.offset};
    });
  }
  if (word == "stdin_close") {
    return make<NoFields>(channel, message,
                          [](const NoFields&) -> Made<StdinCloseMessage> { return StdinCloseMessage{}; });
  }
  if (word == "signal") {
    return make<SignalRequest>(channel, message, [](SignalRequest request) -> Made<SignalMessage> {
      return SignalMessage{std::move(request)};
    });
  }
  if (word == "resize") {
    return make<sessions::TerminalSize>(
        channel, message, [](sessions::TerminalSize size) -> Made<ResizeMessage> { return ResizeMessage{size}; });
  }
  if (word == "ping") {
    return make<PingFields>(channel, message,
                            [](PingFields fields) -> Made<PingMessage> { return PingMessage{std::move(fields.data)}; });
  }
  if (word == "detach") {
    return make<NoFields>(channel, message, [](const NoFields&) -> Made<DetachMessage> { return DetachMessage{}; });
  }
  if (word != "start" && word != "attach") return fail(Errc::invalid_request, "no message of this type is known");

  SKIFF_TRY(auto session, take_text(message, "session"));
  const std::string session_id = session.value_or("default");
  if (word == "attach") {
    return make<AttachFields>(channel, message, [&](AttachFields fields) -> Made<AttachMessage> {
      SKIFF_TRY(auto end, until_end(fields.until));
      return AttachMessage{session_id, std::move(fields.id), fields.from, fields.lossless, end};
    });
  }
  SKIFF_TRY(auto until, take_text(message, "until"));
  SKIFF_TRY(auto end, until_end(until));
  return make<CommandRequest>(channel, message, [&](CommandRequest request) -> Made<StartMessage> {
    return StartMessage{session_id, std::move(request), end};
  });
}

Scope scope_of(const ClientMessage& message) {
  const auto* attach = std::get_if<AttachMessage>(&message.body);
  if (attach != nullptr && attach->lossless) return Scope::exec;
  return kMessageTypes.at(message.body.index()).scope;
}

Result<ClientMessage> parse_frame(SocketForm form, protocol::WebSocket::Message frame, std::uint32_t& channel) {
  const bool is_text = frame.kind == protocol::WebSocket::Kind::text;
  if (form == SocketForm::terminal) {
    if (!is_text) return ClientMessage{0, StdinMessage{std::move(frame.payload), std::nullopt}};
    SKIFF_TRY(auto size, parse_terminal_message(frame.payload));
    return ClientMessage{0, ResizeMessage{size}};
  }
  if (is_text) return parse_client_message(frame.payload, channel);
  if (form == SocketForm::json) return fail(Errc::invalid_request, "skiff.v1.json has no binary frames");
  SKIFF_TRY(auto header, BinaryHeader::decode(frame.payload));
  if (header.kind != BinaryHeader::kStdin) return fail(Errc::invalid_request, "a client sends frames of kind 2, stdin");
  channel = header.channel;
  frame.payload.erase(0, BinaryHeader::kSize);
  const auto offset = header.offset == BinaryHeader::kNoOffset ? std::nullopt : std::optional{header.offset};
  return ClientMessage{channel, StdinMessage{std::move(frame.payload), offset}};
}

Result<sessions::TerminalSize> parse_terminal_message(std::string_view text) {
  SKIFF_TRY(auto decoded, protocol::decode<TerminalFields>(text));
  if (!decoded.resize) return fail(Errc::missing_field, "required", "/resize");
  return *decoded.resize;
}

std::vector<protocol::SchemaRef> client_messages() {
  const Member session{"session", kId, false, "Id of the session; by default the session named default"};
  const Member until{"until", named("LastEvent", one_of({"exit", "end"})), false, "Last event; default exit"};
  return {
      message<CommandRequest>("StartMessage", "start",
                              "/v1/connect: start a command, as POST .../commands does, and attach to it.",
                              {session, until}),
      message<AttachFields>("AttachMessage", "attach", "/v1/connect: attach to a command.", {session}),
      message<NoFields>("DetachMessage", "detach", "Detach from a command, which continues."),
      message<StdinFields>("StdinMessage", "stdin", "Input: exactly one of data and data_base64."),
      message<NoFields>("StdinCloseMessage", "stdin_close", "Close stdin."),
      message<SignalRequest>("SignalMessage", "signal", "Send a signal."),
      message<sessions::TerminalSize>("ResizeMessage", "resize", "Change the size of the command's terminal."),
      message<PingFields>("PingMessage", "ping", "Ask for a pong."),
  };
}

protocol::SchemaRef terminal_message() {
  return {.name = "TerminalMessage", .json = protocol::json_schema<TerminalFields>()};
}

}  // namespace skiff::runtime::api
