#include "runtime/dialects/e2b/messages.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <csignal>
#include <cstring>
#include <utility>

#include <nlohmann/json.hpp>

#include "protocol/json/base64.hpp"
#include "protocol/json/schema.hpp"
#include "protocol/json/text.hpp"
#include "runtime/reader/outcome.hpp"

namespace skiff::runtime::dialects::e2b {
namespace {

using nlohmann::json;

/// This limit is above --max-json-bytes, which bounds a body before it is parsed.
constexpr std::size_t kMostMessage = std::size_t{1} << 30U;

/// A field's name in the .proto file: "resume_from" for "resumeFrom".
std::string proto_name(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0) text += '_';
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

/// Decodes base64 in both alphabets, with padding or without, as protobuf's JSON allows.
std::optional<std::string> decode_any_base64(const std::string& text) {
  auto usual = protocol::decode_base64(text);
  if (usual) return usual;
  std::string other = text;
  for (int i = 0; i < 2 && other.ends_with('='); ++i) other.pop_back();
  std::ranges::replace(other, '+', '-');
  std::ranges::replace(other, '/', '_');
  return protocol::decode_base64url(other);
}

/// A whole number of at least 0, in every form that JSON has for it, also in a string.
std::optional<std::uint64_t> whole_number(const json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    const bool is_whole = number >= 0 && number <= 0x1p53 && std::floor(number) == number;
    return is_whole ? std::optional{static_cast<std::uint64_t>(number)} : std::nullopt;
  }
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  if (text.find_first_not_of("0123456789.eE+-") != std::string::npos) return std::nullopt;
  const auto inner = protocol::parse_json(text);
  return inner ? whole_number(*inner) : std::nullopt;
}

/// Reads the fields of an object. It keeps the first error; after it every field is empty.
class Reader {
 public:
  Reader(const json* value, std::optional<Error>* error, std::string where = {})
      : value_{value}, error_{error}, where_{std::move(where)} {
    if (value_ != nullptr && !value_->is_object()) {
      blame({}, "expected an object");
      value_ = nullptr;
    }
  }

  [[nodiscard]] bool exists() const noexcept { return value_ != nullptr; }
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  [[nodiscard]] bool is(std::string_view name, const json& value) const { return has(name) && *find(name) == value; }
  [[nodiscard]] bool is_empty(std::string_view name) const {
    return !has(name) || find(name)->empty() || is(name, json(""));
  }

  [[nodiscard]] Reader object(std::string_view name) const {
    return {find(name), error_, where_ + '/' + std::string{name}};
  }

  [[nodiscard]] std::string text(std::string_view name) const {
    const json* const value = find(name);
    if (value == nullptr) return {};
    if (!value->is_string()) {
      blame(name, "expected a string");
      return {};
    }
    return without_nul(name, value->get<std::string>());
  }
  [[nodiscard]] std::optional<std::string> optional_text(std::string_view name) const {
    return has(name) ? std::optional{text(name)} : std::nullopt;
  }
  [[nodiscard]] std::string needed_text(std::string_view name) const {
    if (!has(name)) require(name);
    return text(name);
  }

  [[nodiscard]] bool flag(std::string_view name, bool otherwise) const {
    const json* const value = find(name);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) blame(name, "expected true or false");
    return value->is_boolean() && value->get<bool>();
  }

  /// Protobuf's JSON allows 7, 7.0, 0.7e1, and each of them as a string.
  [[nodiscard]] std::uint64_t number(std::string_view name, std::uint64_t most) const {
    const json* const value = find(name);
    if (value == nullptr) return 0;
    if (const auto number = whole_number(*value); number && *number <= most) return *number;
    blame(name, "expected a number from 0 to " + std::to_string(most));
    return 0;
  }

  [[nodiscard]] std::string bytes(std::string_view name) const {
    const json* const value = find(name);
    if (value == nullptr) return {};
    auto decoded = value->is_string() ? decode_any_base64(value->get_ref<const std::string&>()) : std::nullopt;
    if (!decoded) blame(name, "expected base64");
    return std::move(decoded).value_or(std::string{});
  }

  [[nodiscard]] std::vector<std::string> texts(std::string_view name) const {
    std::vector<std::string> found;
    const json* const value = find(name);
    if (value == nullptr) return found;
    if (!value->is_array()) {
      blame(name, "expected a list of strings");
      return found;
    }
    for (const json& one : *value) {
      if (!one.is_string()) {
        blame(name, "expected a list of strings");
        break;
      }
      found.push_back(without_nul(name, one.get<std::string>()));
    }
    return found;
  }

  [[nodiscard]] std::map<std::string, std::string> map(std::string_view name) const {
    std::map<std::string, std::string> found;
    const json* const value = find(name);
    if (value == nullptr) return found;
    if (!value->is_object()) {
      blame(name, "expected an object of strings");
      return found;
    }
    for (const auto& [key, one] : value->items()) {
      const bool is_name = !key.empty() && key.find('=') == std::string::npos && key.find('\0') == std::string::npos;
      if (!is_name || !one.is_string()) {
        blame(name, "expected names of variables, and strings");
        break;
      }
      found.emplace(key, without_nul(name, one.get<std::string>()));
    }
    return found;
  }

  void require(std::string_view name) const {
    if (!*error_) *error_ = Error{Errc::missing_field, where_ + '/' + std::string{name} + ": this field is needed"};
  }
  void blame(std::string_view name, const std::string& why, Errc code = Errc::invalid_field) const {
    if (!*error_) *error_ = Error{code, where_ + '/' + std::string{name} + ": " + why};
  }

 private:
  [[nodiscard]] const json* find(std::string_view name) const {
    if (value_ == nullptr || *error_) return nullptr;
    auto found = value_->find(name);
    if (found == value_->end()) found = value_->find(proto_name(name));
    return found == value_->end() || found->is_null() ? nullptr : &*found;
  }
  std::string without_nul(std::string_view name, std::string text) const {
    if (text.find('\0') == std::string::npos) return text;
    blame(name, "holds a NUL byte");
    return {};
  }

  const json* value_;
  std::optional<Error>* error_;
  std::string where_;
};

/// Parses `text` and returns `read(reader)`, or the first error.
template <class Read>
auto read_message(std::string_view text, Read read) -> Result<decltype(read(std::declval<const Reader&>()))> {
  SKIFF_TRY(auto value,
            protocol::parse_json(text.empty() ? std::string_view{"{}"} : text, {.max_bytes = kMostMessage}));
  std::optional<Error> error;
  auto message = read(Reader{&value, &error});
  if (error) return std::unexpected{std::move(*error)};
  return message;
}

ProcessSelector selector(const Reader& reader) {
  const Reader process = reader.object("process");
  ProcessSelector found;
  if (process.has("pid")) {
    found.pid = static_cast<std::uint32_t>(process.number("pid", UINT32_MAX));
  } else {
    found.tag = process.text("tag");
    if (found.tag.empty()) reader.require("process");
  }
  return found;
}

std::optional<sessions::TerminalSize> terminal_size(const Reader& reader) {
  const Reader pty = reader.object("pty");
  const Reader size = pty.object("size");
  if (!pty.exists()) return std::nullopt;
  return sessions::TerminalSize{.cols = static_cast<std::uint16_t>(size.number("cols", UINT16_MAX)),
                                .rows = static_cast<std::uint16_t>(size.number("rows", UINT16_MAX))};
}

ProcessInput process_input(const Reader& reader) {
  const Reader input = reader.object("input");
  ProcessInput found;
  found.is_pty = input.has("pty");
  if (!found.is_pty && !input.has("stdin")) reader.require("input");
  found.bytes = input.bytes(found.is_pty ? "pty" : "stdin");
  return found;
}

/// The name of the signal as Go prints it: "killed", "segmentation fault (core dumped)".
std::string signal_words(const sessions::ExitStatus& status) {
  const char* const described = ::sigdescr_np(*status.signal);
  std::string text = described != nullptr ? described : "signal " + std::to_string(*status.signal);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (status.core_dumped) text += " (core dumped)";
  return text;
}

}  // namespace

Result<StartMessage> read_start(std::string_view text) {
  return read_message(text, [](const Reader& reader) {
    const Reader process = reader.object("process");
    StartMessage message;
    message.argv.push_back(process.text("cmd"));
    if (message.argv.front().empty()) process.require("cmd");
    for (std::string& argument : process.texts("args")) message.argv.push_back(std::move(argument));
    message.envs = process.map("envs");
    message.cwd = process.text("cwd");
    message.pty = terminal_size(reader);
    message.tag = reader.text("tag");
    message.stdin_open = reader.flag("stdin", true);
    return message;
  });
}

Result<> read_list(std::string_view text) {
  SKIFF_TRY_VOID(read_message(text, [](const Reader&) { return true; }));
  return {};
}

Result<ConnectMessage> read_connect(std::string_view text) {
  return read_message(text, [](const Reader& reader) {
    ConnectMessage message{.process = selector(reader), .resume_from = {}};
    const Reader from = reader.object("resumeFrom");
    if (from.exists()) {
      // A process has either a terminal or two streams.
      message.resume_from = {.out = std::max(from.number("stdout", INT64_MAX), from.number("pty", INT64_MAX)),
                             .err = from.number("stderr", INT64_MAX)};
    }
    return message;
  });
}

Result<UpdateMessage> read_update(std::string_view text) {
  return read_message(text, [](const Reader& reader) {
    return UpdateMessage{.process = selector(reader), .pty = terminal_size(reader)};
  });
}

Result<SendInputMessage> read_send_input(std::string_view text) {
  return read_message(text, [](const Reader& reader) {
    return SendInputMessage{.process = selector(reader), .input = process_input(reader)};
  });
}

Result<StreamInputMessage> read_stream_input(std::string_view text) {
  return read_message(text, [](const Reader& reader) {
    StreamInputMessage message;
    if (const Reader start = reader.object("start"); start.exists()) message.start = selector(start);
    if (const Reader data = reader.object("data"); data.exists()) message.data = process_input(data);
    return message;
  });
}

Result<SendSignalMessage> read_send_signal(std::string_view text) {
  return read_message(text, [](const Reader& reader) {
    SendSignalMessage message{.process = selector(reader)};
    // An enum is sent as its name or its number.
    if (reader.is("signal", "SIGNAL_SIGTERM") || reader.is("signal", SIGTERM)) message.signal = SIGTERM;
    if (reader.is("signal", "SIGNAL_SIGKILL") || reader.is("signal", SIGKILL)) message.signal = SIGKILL;
    if (message.signal == 0) {
      reader.blame("signal", "SIGNAL_SIGTERM and SIGNAL_SIGKILL are what can be sent", Errc::not_supported);
    }
    return message;
  });
}

Result<ProcessSelector> read_close_stdin(std::string_view text) {
  return read_message(text, [](const Reader& reader) { return selector(reader); });
}

Result<PathMessage> read_path(std::string_view text) {
  return read_message(text, [](const Reader& reader) {
    PathMessage message;
    message.path = reader.text("path");
    message.depth = std::max(static_cast<std::uint32_t>(reader.number("depth", UINT32_MAX)), 1U);
    message.recursive = reader.flag("recursive", false);
    message.include_entry = reader.flag("includeEntry", false);
    return message;
  });
}

Result<MoveMessage> read_move(std::string_view text) {
  return read_message(text, [](const Reader& reader) {
    return MoveMessage{.source = reader.needed_text("source"), .destination = reader.needed_text("destination")};
  });
}

Result<std::string> read_watcher_id(std::string_view text) {
  return read_message(text, [](const Reader& reader) { return reader.needed_text("watcherId"); });
}

Result<InitMessage> read_init(std::string_view text) {
  return read_message(text, [](const Reader& reader) {
    InitMessage message;
    if (reader.has("envVars")) message.env_vars = reader.map("envVars");
    message.access_token = reader.optional_text("accessToken");
    message.default_user = reader.optional_text("defaultUser");
    message.default_workdir = reader.optional_text("defaultWorkdir");
    for (const std::string_view absent : {"volumeMounts", "caBundle"}) {
      if (!reader.is_empty(absent)) {
        reader.blame(absent, "an agent in a container can't do this: it belongs to the image or the Pod",
                     Errc::not_supported);
      }
    }
    return message;
  });
}

std::string start_event(std::int64_t pid, const std::optional<OutputOffsets>& offsets) {
  std::string text = R"({"event":{"start":{)";
  protocol::append_json_number(text, "pid", static_cast<std::uint64_t>(pid));
  if (offsets) {
    // 64-bit numbers are strings in protobuf's JSON.
    text += R"(,"offsets":{"stdout":")" + std::to_string(offsets->out) + R"(","stderr":")" +
            std::to_string(offsets->err) + R"(","pty":")" + std::to_string(offsets->out) + "\"}";
  }
  return text + "}}}";
}

std::string data_event(std::string_view stream, std::string_view bytes, std::optional<std::uint64_t> offset) {
  std::string text;
  text.reserve(64 + protocol::base64_size(bytes.size()));
  text += R"({"event":{"data":{")";
  text += stream;
  text += R"(":")";
  protocol::append_base64(text, bytes);
  text += '"';
  if (offset) text += R"(,"offset":")" + std::to_string(*offset) + '"';
  return text + "}}}";
}

std::string end_event(const sessions::ExitStatus& status) {
  const int code = go_exit_code(status);
  const std::string words = status.signal ? "signal: " + signal_words(status) : "exit status " + std::to_string(code);
  std::string text = R"({"event":{"end":{"exitCode":)" + std::to_string(code);
  protocol::append_json_flag(text, "exited", !status.signal);
  protocol::append_json_text(text, "status", words);
  if (code != 0) protocol::append_json_text(text, "error", words);
  return text + "}}}";
}

}  // namespace skiff::runtime::dialects::e2b
