#include "runtime/api/code/frames.hpp"

#include <utility>

namespace skiff::runtime::api {

Result<CodeFrame> read_code_frame(std::string_view line) {
  return protocol::decode<CodeFrame>(line, {.max_bytes = CodeLines::kMost});
}

Result<std::optional<std::string>> CodeLines::next() {
  const std::size_t end = bytes_.find('\n', looked_);
  if (end == std::string::npos ? bytes_.size() > kMost : end > kMost) {
    return fail(Errc::payload_too_large, "a line of the worker is longer than " + std::to_string(kMost) + " bytes");
  }
  if (end == std::string::npos) {
    looked_ = bytes_.size();
    return std::nullopt;
  }
  std::string line = bytes_.substr(0, end);
  bytes_.erase(0, end + 1);
  looked_ = 0;
  return line;
}

}  // namespace skiff::runtime::api
