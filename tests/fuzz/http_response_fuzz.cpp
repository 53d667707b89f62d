#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "protocol/http/parser.hpp"

/// What a server may send to the client: a head that is taken must be harmless and framed in one way.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace skiff::protocol;
  if (size < 1) return 0;
  const std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
  const auto end = HeadScanner{{.header_bytes = 4096, .target_bytes = 4096}}.scan(bytes);
  if (!end || *end == 0) return 0;
  const std::string_view method = data[0] % 2 == 0 ? "GET" : "HEAD";
  const auto response = parse_response_head(bytes.substr(0, *end), method);
  if (!response) return 0;
  if (response->status < 100 || response->status > 999) std::abort();
  for (const auto [name, value] : response->headers) {
    if (!is_token(name) || !is_field_value(value)) std::abort();
  }
  if (method == "HEAD" && response->body.kind != BodyFraming::Kind::none) std::abort();
  if (response->body.kind == BodyFraming::Kind::until_close && response->keep_alive) std::abort();
  return 0;
}
