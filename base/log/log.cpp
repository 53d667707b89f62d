#include "base/log/log.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/bytes/decimal.hpp"
#include "base/clock.hpp"

namespace skiff::log {
namespace {

Level g_least = Level::info;
Form g_form = Form::json;
LogQueue* g_queue = nullptr;  ///< null: the caller writes its lines itself

constexpr std::array kLevels{std::string_view{"debug"}, std::string_view{"info"}, std::string_view{"warning"},
                             std::string_view{"error"}};

/// Whether a byte must be escaped or checked: quotation mark, backslash, control characters and all outside of ASCII.
bool needs_care(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return c == '"' || c == '\\' || byte < 0x20 || byte >= 0x7f;
}

/// Returns the length of the character at the front in bytes; 0 if it is not UTF-8 (Unicode 15, table 3-7).
std::size_t character_size(std::string_view text) noexcept {
  const auto byte = [text](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first < 0xc2 || first > 0xf4 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (size == 0 || text.size() < size) return 0;
  const unsigned least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < least || byte(1) > most) return 0;
  for (std::size_t at = 2; at < size; ++at) {
    if ((byte(at) & 0xc0U) != 0x80) return 0;
  }
  return size;
}

void append_escaped(std::string& out, unsigned code) {
  std::array<char, 8> escaped{};
  std::snprintf(escaped.data(), escaped.size(), "\\u%04x", code);
  out += escaped.data();
}

/// Appends any bytes as a JSON string. Invalid UTF-8 becomes U+FFFD. Control characters, also those above ASCII, are
/// escaped, because the log may be shown on a terminal.
void append_quoted(std::string& out, std::string_view text) {
  out.push_back('"');
  while (!text.empty()) {
    const auto clean = static_cast<std::size_t>(std::ranges::find_if(text, needs_care) - text.begin());
    out.append(text.substr(0, clean));
    text.remove_prefix(clean);
    if (text.empty()) break;
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t size = character_size(text);
    if (first == '"' || first == '\\') {
      out.push_back('\\');
      out.push_back(text.front());
    } else if (size == 0) {
      append_escaped(out, 0xfffd);
    } else if (size == 1) {
      append_escaped(out, first);
    } else if (first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0) {
      append_escaped(out, static_cast<unsigned char>(text[1]));
    } else {
      out.append(text.substr(0, size));
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  out.push_back('"');
}

void append_value(std::string& out, const Field& field) {
  if (const auto* text = std::get_if<std::string_view>(&field.value)) {
    append_quoted(out, *text);
  } else if (const auto* number = std::get_if<std::int64_t>(&field.value)) {
    out += std::to_string(*number);
  } else if (const auto* time = std::get_if<std::chrono::microseconds>(&field.value)) {
    append_decimal(out, time->count(), 3);
  } else {
    out += std::get<bool>(field.value) ? "true" : "false";
  }
}

std::string line_of(Level level, std::string_view message, Fields fields) {
  std::string line;
  line.reserve(256);
  const std::string_view word = kLevels[static_cast<std::size_t>(level)];
  if (g_form == Form::json) {
    line += R"({"time":")";
    line += rfc3339(wall_now());
    line += R"(","level":")";
    line += word;
    line += R"(","message":)";
    append_quoted(line, message);
    for (const Field& field : fields) {
      line.push_back(',');
      append_quoted(line, field.key);
      line.push_back(':');
      append_value(line, field);
    }
    line += "}\n";
  } else {
    line += rfc3339(wall_now()).substr(11, 12);
    line.push_back(' ');
    line += word;
    line.append(9 - word.size(), ' ');
    line += message;
    for (const Field& field : fields) {
      line.push_back(' ');
      line += field.key;
      line.push_back('=');
      append_value(line, field);
    }
    line.push_back('\n');
  }
  return line;
}

std::string line_of_lost(std::uint64_t lines) {
  return line_of(Level::warning, "log lines were lost", {{"lines", lines}});
}

}  // namespace

void configure(Level least, Form form) {
  g_least = least;
  g_form = form;
}

bool enabled(Level level) noexcept {
  return level >= g_least;
}

void write(Level level, std::string_view message, Fields fields) {
  if (!enabled(level)) return;
  const std::string line = line_of(level, message, fields);
  if (g_queue != nullptr) {
    g_queue->put(line, level >= Level::warning);
    return;
  }
  // A log that cannot be written must not stop the program, and there is no place to report it.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

Background::Background() : queue_{STDERR_FILENO, line_of_lost} {
  g_queue = &queue_;
}

Background::~Background() {
  g_queue = nullptr;
}

void flush() noexcept {
  if (g_queue != nullptr) g_queue->flush();
}

std::uint64_t lost() noexcept {
  return g_queue != nullptr ? g_queue->lost() : 0;
}

}  // namespace skiff::log
