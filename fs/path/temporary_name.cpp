#include "fs/path/temporary_name.hpp"

#include <sys/random.h>

#include <cstdint>

namespace skiff::fs {
namespace {

constexpr std::string_view kNameBegin = ".skiff-";
constexpr std::size_t kNameDigits = 16;
constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

std::string temporary_name(Becomes becomes) {
  std::uint64_t number = 0;
  // This cannot fail for so few bytes once the kernel has started.
  (void)::getrandom(&number, sizeof number, 0);
  // An odd first digit marks a replacement.
  constexpr std::uint64_t kMark = std::uint64_t{1} << 60U;
  number = becomes == Becomes::replacement ? number | kMark : number & ~kMark;
  std::string name{kNameBegin};
  for (int shift = 60; shift >= 0; shift -= 4) name += kDigits[(number >> static_cast<unsigned>(shift)) & 15U];
  return name;
}

bool is_temporary(std::string_view path) noexcept {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.size() == kNameBegin.size() + kNameDigits && name.starts_with(kNameBegin) &&
         name.find_first_not_of(kDigits, kNameBegin.size()) == std::string_view::npos;
}

Becomes becomes(std::string_view path) noexcept {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const bool is_odd = is_temporary(name) && kDigits.find(name[kNameBegin.size()]) % 2 == 1;
  return is_odd ? Becomes::replacement : Becomes::something_new;
}

}  // namespace skiff::fs
