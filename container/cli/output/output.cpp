#include "container/cli/output/output.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <utility>

#include <yaml-cpp/yaml.h>
#include <nlohmann/json.hpp>

#include "container/cli/output/printable.hpp"
#include "container/net/time.hpp"

namespace skiff::container {
namespace {

/// True for a text that begins with a letter or a slash and that YAML 1.1 and 1.2 do not read as another type.
bool is_plain_text(std::string_view text) {
  constexpr std::array<std::string_view, 9> kWords{"true", "false", "yes", "no", "on", "off", "null", "y", "n"};
  if (text.empty()) return false;
  std::string lower{text};
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return (lower.front() == '/' || (lower.front() >= 'a' && lower.front() <= 'z')) &&
         std::ranges::count(kWords, lower) == 0;
}

/// Plain text has no escapes.
void emit_text(YAML::Emitter& out, const std::string& text, bool is_plain) {
  if (is_plain && !needs_escape(text)) {
    out << text;
  } else {
    out << YAML::DoubleQuoted << text;
  }
}

void emit(YAML::Emitter& out, const nlohmann::json& value) {
  switch (value.type()) {
    case nlohmann::json::value_t::object:
      out << YAML::BeginMap;
      for (const auto& [key, member] : value.items()) {
        out << YAML::Key;
        emit_text(out, key, true);
        out << YAML::Value;
        emit(out, member);
      }
      out << YAML::EndMap;
      return;
    case nlohmann::json::value_t::array:
      out << YAML::BeginSeq;
      for (const auto& item : value) emit(out, item);
      out << YAML::EndSeq;
      return;
    case nlohmann::json::value_t::string: {
      const auto& text = value.get_ref<const std::string&>();
      emit_text(out, text, is_plain_text(text));
      return;
    }
    case nlohmann::json::value_t::null:
      out << YAML::Null;
      return;
    default:
      out << value.dump();
  }
}

}  // namespace

std::string format_table(const std::vector<std::vector<std::string>>& rows, const CellColour& colour) {
  constexpr std::string_view kPlain = "\033[0m";
  std::vector<std::vector<std::string>> cells = rows;
  std::vector<std::size_t> widths;
  for (auto& row : cells) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = printable(row[i]);
      widths[i] = std::max(widths[i], width_of(row[i]));
    }
  }
  std::string text;
  for (std::size_t at = 0; at < cells.size(); ++at) {
    const auto& row = cells[at];
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string_view before = colour ? colour(at, i) : std::string_view{};
      line += before;
      line += row[i];
      if (!before.empty()) line += kPlain;
      if (i + 1 < row.size()) line.append(widths[i] - width_of(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string format_yaml(const nlohmann::json& value) {
  YAML::Emitter out;
  emit(out, value);
  return escape_unprintable(out.c_str()) + "\n";
}

std::string format_json(const nlohmann::json& value) {
  return escape_unprintable(value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace)) + "\n";
}

long long unix_ms(std::string_view time) {
  const auto parsed = net::parse_time(time);
  return parsed ? std::chrono::floor<std::chrono::milliseconds>(parsed->time_since_epoch()).count() : -1;
}

std::string format_duration(long long ms) {
  const long long seconds = std::max(0LL, ms / 1000);
  constexpr std::array<std::pair<long long, char>, 3> kUnits{{{86'400, 'd'}, {3'600, 'h'}, {60, 'm'}}};
  for (const auto& [size, letter] : kUnits) {
    if (seconds >= 2 * size) return std::to_string(seconds / size) + letter;
  }
  return std::to_string(seconds) + "s";
}

std::string format_age(std::string_view time, long long now_ms) {
  const long long began = unix_ms(time);
  return began < 0 ? "-" : format_duration(now_ms - began);
}

std::string format_size(unsigned long long bytes) {
  constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (size >= 1024 && unit + 1 < kUnits.size()) {
    size /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 || size >= 100 ? "%.0f%s" : "%.1f%s", size, kUnits.at(unit));
  return text.data();
}

int write_all(int fd, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return errno;
    pollfd room{.fd = fd, .events = POLLOUT, .revents = 0};
    if (::poll(&room, 1, -1) < 0 && errno != EINTR) return errno;
  }
  return 0;
}

void end_by_broken_pipe() noexcept {
  std::signal(SIGPIPE, SIG_DFL);
  ::raise(SIGPIPE);
}

Result<> print(std::string_view text) {
  const int error = write_all(STDOUT_FILENO, text);
  if (error == EPIPE) end_by_broken_pipe();
  if (error != 0) return std::unexpected{system_error(error, "write to stdout")};
  return {};
}

void say(std::string_view message) {
  constexpr std::string_view kIndent = "  ";
  const std::string lines = printable_lines(message.substr(0, message.find_last_not_of('\n') + 1));
  std::string text = "skiff: ";
  for (std::string_view rest = lines;;) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    text += line;
    text += '\n';
    if (line.size() == rest.size()) break;
    rest.remove_prefix(line.size() + 1);
    if (!rest.starts_with(kIndent)) text += kIndent;
  }
  // An error of stderr cannot be reported anywhere.
  [[maybe_unused]] const int error = write_all(STDERR_FILENO, text);
}

}  // namespace skiff::container
