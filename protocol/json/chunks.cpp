#include "protocol/json/chunks.hpp"

#include "protocol/json/text.hpp"

namespace skiff::protocol {

void append_json_bytes(std::string& out, std::string_view bytes) {
  if (is_valid_utf8(bytes)) {
    append_json_escaped(out, bytes);
  } else {
    append_json_escaped(out, to_valid_utf8(bytes));
  }
}

void JsonChunks::append(std::string& out, std::string_view chunk) {
  const auto pieces = splitter_.push(chunk);
  append_json_bytes(out, pieces.head);
  append_json_bytes(out, pieces.body);
}

}  // namespace skiff::protocol
