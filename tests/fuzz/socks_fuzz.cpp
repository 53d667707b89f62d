#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "container/egress/socks.hpp"

/// A message that is whole stays the same with more bytes behind it, none is longer than its bytes, and a name has no
/// other characters than those of DNS.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace skiff::container::egress;
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  for (std::size_t end = 0; end <= size; ++end) {
    const auto greeting = read_socks_greeting(bytes.substr(0, end));
    if (greeting && *greeting > end) std::abort();
    const auto request = read_socks_request(bytes.substr(0, end));
    if (!request || request->size == 0) continue;
    if (request->size > end || request->target.host.empty() || request->target.port == 0) std::abort();
    if (request->target.host.find_first_of(std::string_view{"\0/:@ *", 6}) != std::string::npos) std::abort();
    const auto whole = read_socks_request(bytes);
    if (!whole || whole->size != request->size || whole->target.host != request->target.host) std::abort();
  }
  return 0;
}
