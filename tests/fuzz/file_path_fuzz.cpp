#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fs/path/path.hpp"

/// A path that is taken has only names that the kernel would take too, and joined again it is cut the same way.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace skiff::fs;
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const auto split = split_path(text);
  if (!split) return 0;
  for (const std::string_view name : split->names) {
    if (name.empty() || name == "." || name.size() > kMostNameBytes) std::abort();
    if (name.find('/') != std::string_view::npos || name.find('\0') != std::string_view::npos) std::abort();
  }
  if (split->absolute != text.starts_with('/')) std::abort();
  if (split->names.empty() && !split->directory) std::abort();
  const std::string again = join(split->names, split->directory);
  const auto second = split_path(again);
  if (!second || second->absolute || second->directory != split->directory) std::abort();
  if (!std::ranges::equal(second->names, split->names)) std::abort();
  return 0;
}
