#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace skiff::protocol::service {

/// One line of an audit log: `{"time":...,"event":...,...}`. Bytes that are not UTF-8 are replaced.
class AuditLine {
 public:
  /// Bytes of a request's method that are logged; a client may send any method.
  static constexpr std::size_t kLongestMethod = 32;

  explicit AuditLine(std::string_view event);

  /// Adds a member unless `text` is empty.
  AuditLine& text(std::string_view key, std::string_view text);
  AuditLine& texts(std::string_view key, std::span<const std::string> texts);
  AuditLine& number(std::string_view key, std::uint64_t value);
  /// Adds `duration_ms`.
  AuditLine& duration(std::chrono::microseconds took);

  /// The whole line, without a newline.
  [[nodiscard]] std::string done() const { return line_ + '}'; }

 private:
  std::string line_;
};

}  // namespace skiff::protocol::service
