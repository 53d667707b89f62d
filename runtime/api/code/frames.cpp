#include "runtime/api/code/frames.hpp"

#include <algorithm>
#include <utility>

namespace skiff::runtime::api {

namespace {

/// About the number of values in a JSON text. Each takes much more memory than its text.
std::size_t count_values(std::string_view json) {
  std::size_t count = 0;
  bool is_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (is_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      is_string = !is_string;
    } else if (!is_string && (c == ',' || c == '[' || c == '{')) {
      ++count;
    }
  }
  return count;
}

}  // namespace

Result<CodeFrame> read_code_frame(std::string_view line) {
  if (count_values(line) > kMostValues) {
    return fail(Errc::payload_too_large, "it has more than " + std::to_string(kMostValues) + " values");
  }
  return protocol::decode<CodeFrame>(line, {.max_bytes = CodeLines::kMost});
}

Result<std::optional<std::string>> CodeLines::next() {
  const std::size_t end = bytes_.find('\n', looked_);
  if (std::min(end, bytes_.size()) - begin_ > kMost) {
    return fail(Errc::payload_too_large, "a line of the worker is longer than " + std::to_string(kMost) + " bytes");
  }
  if (end == std::string::npos) {
    bytes_.erase(0, begin_);
    begin_ = 0;
    looked_ = bytes_.size();
    return std::nullopt;
  }
  std::string line = bytes_.substr(begin_, end - begin_);
  begin_ = looked_ = end + 1;
  return line;
}

}  // namespace skiff::runtime::api
