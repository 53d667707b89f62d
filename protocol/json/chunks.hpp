#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "protocol/json/utf8.hpp"

namespace skiff::protocol {

/// As `append_json_escaped`, for any bytes: invalid UTF-8 becomes U+FFFD.
void append_json_bytes(std::string& out, std::string_view bytes);

/// The content of one JSON string, from bytes that come in chunks: no character is split between two of them.
class JsonChunks {
 public:
  /// Appends a chunk, except a partial character at its end, which is kept for the next call.
  void append(std::string& out, std::string_view chunk);
  /// Appends the kept partial character, at the end.
  void finish(std::string& out) { append_json_bytes(out, splitter_.flush()); }
  /// The number of kept bytes, 0 to 3.
  [[nodiscard]] std::size_t held() const noexcept { return splitter_.held(); }

 private:
  Utf8Splitter splitter_;
};

}  // namespace skiff::protocol
