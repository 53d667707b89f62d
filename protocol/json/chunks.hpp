#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "protocol/json/utf8.hpp"

namespace skiff::protocol {

/// As `append_json_escaped`, of any bytes: what is not UTF-8 becomes U+FFFD.
void append_json_bytes(std::string& out, std::string_view bytes);

/// One JSON string's content, of bytes that come in chunks: no character is cut between two of them.
class JsonChunks {
 public:
  /// Appends a chunk, but for the half of a character at its end, which is kept for the next call.
  void append(std::string& out, std::string_view chunk);
  /// Appends the half that is kept, at the end.
  void finish(std::string& out) { append_json_bytes(out, splitter_.flush()); }
  /// Bytes that are kept, 0 to 3.
  [[nodiscard]] std::size_t held() const noexcept { return splitter_.held(); }

 private:
  Utf8Splitter splitter_;
};

}  // namespace skiff::protocol
