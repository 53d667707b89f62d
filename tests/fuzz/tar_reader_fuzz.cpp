#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "fs/archive/compression.hpp"
#include "fs/archive/tar.hpp"
#include "fs/path/descend.hpp"

namespace {

using namespace skiff;
using namespace skiff::fs;

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

/// Any bytes, compressed or not: what comes out of the reader keeps its bounds, and every member can be written and
/// read back as it is.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view left{reinterpret_cast<const char*>(data), size};
  std::size_t budget = std::size_t{4} << 20U;  // bytes that may come out: compressed zeros are many
  Decompressor bytes{[&left](std::span<char> into) -> Result<std::size_t> {
    const std::size_t count = std::min({into.size(), left.size(), std::size_t{700}});
    std::memcpy(into.data(), left.data(), count);
    left.remove_prefix(count);
    return count;
  }};
  TarReader reader{[&](std::span<char> into) -> Result<std::size_t> {
    const auto got = bytes.read(into.first(std::min(into.size(), budget)));
    if (got) budget -= *got;
    return got;
  }};
  std::array<char, 1000> content;
  for (;;) {
    const auto entry = reader.next();
    if (!entry || !*entry) break;
    require(!(*entry)->path.empty() && (*entry)->path.size() <= TarReader::kLongestPath);
    require(!(*entry)->path.contains('\0') && !(*entry)->target.contains('\0'));
    require((*entry)->nanoseconds < 1'000'000'000 && (*entry)->mode <= 07777U);
    if (const auto clean = clean_path((*entry)->path)) {
      require(!clean->starts_with('/') && !("/" + *clean + "/").contains("/../"));
    }
    std::string archive;
    TarWriter writer{[&archive](std::string_view part) -> Result<> {
      archive += part;
      return {};
    }};
    TarEntry copy = **entry;
    if (copy.kind != TarEntry::Kind::other) {
      copy.size = 0;
      require(writer.begin(copy).has_value() && writer.finish().has_value());
      std::string_view rest = archive;
      TarReader again{[&rest](std::span<char> into) -> Result<std::size_t> {
        const std::size_t count = std::min(into.size(), rest.size());
        std::memcpy(into.data(), rest.data(), count);
        rest.remove_prefix(count);
        return count;
      }};
      const auto same = again.next();
      require(same && *same && (*same)->kind == copy.kind && (*same)->mode == copy.mode);
      require((*same)->seconds == copy.seconds && (*same)->nanoseconds == copy.nanoseconds);
      require((*same)->target == copy.target && (*same)->path.starts_with(copy.path));
    }
    std::uint64_t read = 0;
    for (std::uint64_t end = 0;;) {
      const std::uint64_t at = reader.offset();
      const auto got = reader.read(content);
      if (!got || *got == 0) break;
      read += *got;
      // Pieces of a sparse file come in their order, within it.
      require(at >= end && at + *got <= (*entry)->size);
      end = at + *got;
    }
    require(read <= (*entry)->stored && (*entry)->stored <= (*entry)->size);
  }
  return 0;
}
