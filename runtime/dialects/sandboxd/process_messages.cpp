#include "runtime/dialects/sandboxd/process_messages.hpp"

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <protozero/varint.hpp>

#include <algorithm>
#include <limits>
#include <utility>

#include "sessions/spawn/environment.hpp"

namespace skiff::runtime::dialects::sandboxd {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::tag_and_type;

/// The most words or variables of a command, as in a request of the agent's own API.
constexpr std::size_t kMostWords = 65'536;

std::unexpected<Error> wrong(std::string sentence, std::string field) {
  return fail(Errc::invalid_field, std::move(sentence), std::move(field));
}

/// Reads a message. protozero throws at bytes that are not one; the exception becomes an error.
template <class T, class Read>
Result<T> decoded(std::string_view message, Read read) {
  T value;
  try {
    SKIFF_TRY_VOID(read(pbf_reader{message.data(), message.size()}, value));
  } catch (const protozero::exception& error) {
    return fail(Errc::invalid_field, std::string{"the message is not what the method takes: "} + error.what());
  }
  return value;
}

Result<> read_variable(pbf_reader entry, std::map<std::string, std::string>& variables) {
  std::string name;
  std::string value;
  while (entry.next()) {
    if (entry.tag_and_type() == tag_and_type(1, pbf_wire_type::length_delimited)) {
      name = entry.get_string();
    } else if (entry.tag_and_type() == tag_and_type(2, pbf_wire_type::length_delimited)) {
      value = entry.get_string();
    } else {
      entry.skip();
    }
  }
  if (!sessions::is_valid_variable(name) || value.contains('\0')) {
    return wrong("env_vars: a name must not be empty or hold \"=\", and neither name nor value a NUL byte", "env_vars");
  }
  variables[std::move(name)] = std::move(value);
  if (variables.size() > kMostWords) return wrong("env_vars has too many entries", "env_vars");
  return {};
}

Result<> read_config(pbf_reader config, ProcessConfig& into) {
  while (config.next()) {
    switch (config.tag_and_type()) {
      case tag_and_type(1, pbf_wire_type::length_delimited):
        if (into.command.size() == kMostWords) return wrong("command has too many words", "command");
        into.command.push_back(config.get_string());
        break;
      case tag_and_type(2, pbf_wire_type::length_delimited):
        SKIFF_TRY_VOID(read_variable(config.get_message(), into.env_vars));
        break;
      case tag_and_type(3, pbf_wire_type::length_delimited):
        into.cwd = config.get_string();
        break;
      default:
        config.skip();
    }
  }
  return {};
}

Result<> read_pty(pbf_reader pty, std::optional<sessions::TerminalSize>& into) {
  std::uint32_t cols = 0;
  std::uint32_t rows = 0;
  while (pty.next()) {
    switch (pty.tag_and_type()) {
      case tag_and_type(1, pbf_wire_type::varint):
        cols = pty.get_uint32();
        break;
      case tag_and_type(2, pbf_wire_type::varint):
        rows = pty.get_uint32();
        break;
      default:
        pty.skip();
    }
  }
  SKIFF_TRY(into, size_but_for_zeros(cols, rows));
  return {};
}

}  // namespace

Result<ProcessRequest> read_process_request(std::string_view message) {
  auto request = decoded<ProcessRequest>(message, [](pbf_reader reader, ProcessRequest& into) -> Result<> {
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case tag_and_type(1, pbf_wire_type::length_delimited):
          SKIFF_TRY_VOID(read_config(reader.get_message(), into.config));
          break;
        case tag_and_type(2, pbf_wire_type::length_delimited):
          SKIFF_TRY_VOID(read_pty(reader.get_message(), into.pty));
          break;
        default:
          reader.skip();
      }
    }
    return {};
  });
  if (request && request->config.command.empty()) return fail(Errc::missing_field, "command is required", "command");
  return request;
}

Result<WriteStdinRequest> read_write_stdin(std::string_view message) {
  return decoded<WriteStdinRequest>(message, [](pbf_reader reader, WriteStdinRequest& into) -> Result<> {
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case tag_and_type(1, pbf_wire_type::varint):
          into.process_id = reader.get_int32();
          break;
        // The two are a oneof: the last one counts.
        case tag_and_type(2, pbf_wire_type::length_delimited):
          into.input = reader.get_string();
          into.eof = false;
          break;
        case tag_and_type(3, pbf_wire_type::length_delimited):
          reader.skip();
          into.input.clear();
          into.eof = true;
          break;
        default:
          reader.skip();
      }
    }
    return {};
  });
}

Result<SendSignalRequest> read_send_signal(std::string_view message) {
  return decoded<SendSignalRequest>(message, [](pbf_reader reader, SendSignalRequest& into) -> Result<> {
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case tag_and_type(1, pbf_wire_type::varint):
          into.process_id = reader.get_int32();
          break;
        case tag_and_type(2, pbf_wire_type::varint):
          into.signal = reader.get_enum();
          break;
        default:
          reader.skip();
      }
    }
    return {};
  });
}

Result<ResizeRequest> read_resize(std::string_view message) {
  return decoded<ResizeRequest>(message, [](pbf_reader reader, ResizeRequest& into) -> Result<> {
    while (reader.next()) {
      switch (reader.tag_and_type()) {
        case tag_and_type(1, pbf_wire_type::varint):
          into.process_id = reader.get_int32();
          break;
        case tag_and_type(2, pbf_wire_type::varint):
          into.cols = reader.get_uint32();
          break;
        case tag_and_type(3, pbf_wire_type::varint):
          into.rows = reader.get_uint32();
          break;
        default:
          reader.skip();
      }
    }
    return {};
  });
}

Result<sessions::TerminalSize> size_but_for_zeros(std::uint32_t cols, std::uint32_t rows) {
  SKIFF_TRY(auto size, terminal_size(std::max(cols, 1U), std::max(rows, 1U)));
  if (cols == 0) size.cols = 0;
  if (rows == 0) size.rows = 0;
  return size;
}

Result<sessions::TerminalSize> terminal_size(std::uint32_t cols, std::uint32_t rows) {
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint16_t>::max();
  if (cols == 0 || rows == 0 || cols > kMost || rows > kMost) {
    return wrong("a terminal has 1 to 65,535 columns and rows", "pty");
  }
  return sessions::TerminalSize{.cols = static_cast<std::uint16_t>(cols), .rows = static_cast<std::uint16_t>(rows)};
}

std::string init_event(std::int32_t process_id) {
  std::string text;
  {
    // The destructor writes the message's length.
    protozero::pbf_writer event{text};
    protozero::pbf_writer init{event, 1};
    init.add_int32(1, process_id);
  }
  return text;
}

std::string exit_event(std::int32_t exit_code) {
  // An exit with code 0 is an empty message. A nested writer would remove it again.
  const std::string exit = execute_head(exit_code);
  std::string text;
  protozero::pbf_writer{text}.add_message(4, exit);
  return text;
}

void append_bytes_head(std::string& out, std::uint32_t field, std::size_t size) {
  constexpr std::uint32_t kLengthDelimited = 2;
  protozero::add_varint_to_buffer(&out, field << 3U | kLengthDelimited);
  protozero::add_varint_to_buffer(&out, size);
}

std::string execute_head(std::int32_t exit_code) {
  std::string text;
  if (exit_code != 0) protozero::pbf_writer{text}.add_int32(1, exit_code);
  return text;
}

}  // namespace skiff::runtime::dialects::sandboxd
