#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "protocol/json/base64.hpp"
#include "protocol/json/text.hpp"
#include "protocol/json/utf8.hpp"

namespace {

using namespace skiff::protocol;

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

/// Bytes to text and back: repaired text is UTF-8, JSON strings and base64 read back as what went in, and a splitter
/// loses nothing.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  const std::size_t valid = valid_prefix(bytes);
  require(valid <= size);
  const std::string text = to_valid_utf8(bytes);
  require(is_valid_utf8(text));
  require((valid == size) == (text == bytes));

  std::string quoted;
  append_json_string(quoted, text);
  const auto read = nlohmann::json::parse(quoted, nullptr, false);
  require(read.is_string() && read.get_ref<const std::string&>() == text);

  require(decode_base64(encode_base64(bytes)) == bytes);
  require(decode_base64url(encode_base64url(bytes)) == bytes);
  if (const auto decoded = decode_base64(bytes)) require(encode_base64(*decoded) == bytes);
  if (const auto decoded = decode_base64url(bytes)) require(encode_base64url(*decoded) == bytes);

  Utf8Splitter splitter;
  std::string joined, repaired;
  const std::size_t step = size == 0 ? 1 : 1 + data[0] % 9;
  for (std::size_t at = 0; at < size; at += step) {
    const auto pieces = splitter.push(bytes.substr(at, step));
    for (const std::string_view piece : {pieces.head, pieces.body}) {
      joined += piece;
      append_valid_utf8(repaired, piece);
    }
  }
  const std::string_view last = splitter.flush();
  joined += last;
  append_valid_utf8(repaired, last);
  require(joined == bytes);
  require(repaired == text);
  return 0;
}
