#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

#include "base/log/log_queue.hpp"

/// The program's own log, on stderr: one JSON object per line, or one readable line per message on a terminal. Each
/// message is written whole, so lines of several threads do not mix. Never log a credential, a query string or command
/// output.
namespace skiff::log {

enum class Level : unsigned char { debug, info, warning, error };
enum class Form : unsigned char { json, text };

struct Field {
  std::string_view key;
  std::variant<std::string_view, std::int64_t, std::chrono::microseconds, bool> value;

  Field(std::string_view k, std::string_view v) : key{k}, value{v} {}
  Field(std::string_view k, const char* v) : key{k}, value{std::string_view{v}} {}
  Field(std::string_view k, const std::string& v) : key{k}, value{std::string_view{v}} {}
  Field(std::string_view k, bool v) : key{k}, value{v} {}
  /// Logged in milliseconds, with up to three decimals.
  Field(std::string_view k, std::chrono::microseconds v) : key{k}, value{v} {}
  template <class Integer>
    requires std::is_integral_v<Integer>
  Field(std::string_view k, Integer v) : key{k}, value{static_cast<std::int64_t>(v)} {}
};

using Fields = std::initializer_list<Field>;

/// Call it once at start, before threads exist. Default: info, JSON.
void configure(Level least, Form form);
[[nodiscard]] bool enabled(Level level) noexcept;

/// While it lives, no caller of the log waits: lines go through a `LogQueue`. At most one may exist. Create it before
/// the threads that log, and destroy it after them. Without it each message is one write(2).
class Background {
 public:
  /// Throws std::system_error when the system refuses a thread.
  Background();
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

 private:
  LogQueue queue_;
};

/// Waits for a bounded time until all messages are written: call it before an exit that runs no destructor.
void flush() noexcept;
/// The number of lines that could not be written, since the queue was created.
[[nodiscard]] std::uint64_t lost() noexcept;

void write(Level level, std::string_view message, Fields fields = {});
inline void debug(std::string_view message, Fields fields = {}) {
  write(Level::debug, message, fields);
}
inline void info(std::string_view message, Fields fields = {}) {
  write(Level::info, message, fields);
}
inline void warning(std::string_view message, Fields fields = {}) {
  write(Level::warning, message, fields);
}
inline void error(std::string_view message, Fields fields = {}) {
  write(Level::error, message, fields);
}

}  // namespace skiff::log
