#pragma once

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "fs/archive/compression.hpp"

namespace skiff::test {

/// A member of a tar archive made byte by byte, so that a test can say what no program would write.
inline std::string tar_member(std::string_view name, char type = '0', std::string_view content = "",
                              std::string_view target = "", std::string_view magic = "ustar") {
  std::string block(512, '\0');
  const auto put = [&block](std::size_t at, std::string_view text) { text.copy(block.data() + at, text.size()); };
  put(0, name.substr(0, 100));
  put(100, type == '5' ? "0000755" : "0000644");
  put(108, "0000000");
  put(116, "0000000");
  char size[13];
  std::snprintf(size, sizeof size, "%011zo", content.size());
  put(124, size);
  put(136, "00000000000");
  put(148, "        ");
  block[156] = type;
  put(157, target.substr(0, 100));
  put(257, magic);
  if (magic == "ustar") put(263, "00");
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", sum);
  put(148, std::string_view{digits, 7});
  block += content;
  block.append((512 - content.size() % 512) % 512, '\0');
  return block;
}

inline std::string tar_end() {
  return std::string(1024, '\0');
}

/// One record of a pax header.
inline std::string pax(std::string_view key, std::string_view value) {
  std::string record = std::string{key} + "=" + std::string{value} + "\n";
  std::size_t size = record.size() + 2;
  while (std::to_string(size).size() + 1 + record.size() != size) ++size;
  return std::to_string(size) + " " + record;
}

/// Gives `bytes`, at most `step` at once. They must outlive it.
inline fs::ByteSource source_of(std::string_view bytes, std::size_t step = std::string_view::npos) {
  return [bytes, step](std::span<char> into) mutable -> Result<std::size_t> {
    const std::size_t size = std::min({into.size(), bytes.size(), step});
    bytes.copy(into.data(), size);
    bytes.remove_prefix(size);
    return size;
  };
}

}  // namespace skiff::test
