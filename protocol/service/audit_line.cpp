#include "protocol/service/audit_line.hpp"

#include "base/clock.hpp"
#include "protocol/json/text.hpp"
#include "protocol/json/utf8.hpp"

namespace skiff::protocol::service {

AuditLine::AuditLine(std::string_view event) : line_{'{'} {
  text("time", rfc3339(wall_now()));
  text("event", event);
}

AuditLine& AuditLine::text(std::string_view key, std::string_view text) {
  if (!text.empty()) append_json_text(line_, key, text);
  return *this;
}

AuditLine& AuditLine::texts(std::string_view key, std::span<const std::string> texts) {
  append_json_key(line_, key);
  line_ += '[';
  for (const std::string& text : texts) {
    if (!line_.ends_with('[')) line_ += ',';
    append_json_string(line_, to_valid_utf8(text));
  }
  line_ += ']';
  return *this;
}

AuditLine& AuditLine::number(std::string_view key, std::uint64_t value) {
  append_json_number(line_, key, value);
  return *this;
}

AuditLine& AuditLine::duration(std::chrono::microseconds took) {
  return number("duration_ms", static_cast<std::uint64_t>(std::chrono::floor<std::chrono::milliseconds>(took).count()));
}

}  // namespace skiff::protocol::service
