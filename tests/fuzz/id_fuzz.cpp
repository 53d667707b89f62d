#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/id.hpp"

namespace {

/// `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`, written down a second time and in another way.
bool matches(std::string_view text) {
  constexpr std::string_view kFirst = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  return !text.empty() && text.size() <= 64 && kFirst.contains(text.front()) &&
         text.find_first_not_of("-_.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") ==
             std::string_view::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  if (skiff::is_valid_id(text) != matches(text)) std::abort();
  return 0;
}
