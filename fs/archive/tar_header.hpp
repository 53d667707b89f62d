#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace skiff::fs {

constexpr std::size_t kTarBlock = 512;

/// Returns the number of bytes that fill the last block.
constexpr std::size_t tar_padding(std::uint64_t size) noexcept {
  return static_cast<std::size_t>((kTarBlock - size % kTarBlock) % kTarBlock);
}

/// Position and length of a field in a header.
struct TarField {
  std::size_t at;
  std::size_t size;
};
namespace tar_field {
constexpr TarField kName{0, 100}, kMode{100, 8}, kUid{108, 8}, kGid{116, 8}, kSize{124, 12}, kTime{136, 12},
    kSum{148, 8}, kType{156, 1}, kLink{157, 100}, kMagic{257, 8}, kPrefix{345, 155};
}  // namespace tar_field

/// Returns the sum of a header's bytes; the checksum field counts as spaces.
[[nodiscard]] std::uint32_t tar_sum(std::span<const char> block) noexcept;

/// Parses a number in octal digits, or in base 256 when the first bit is set. Returns nothing when it is malformed or
/// out of range.
[[nodiscard]] std::optional<std::int64_t> tar_number(std::span<const char> block, TarField field) noexcept;

/// Returns the text up to the first zero byte.
[[nodiscard]] std::string_view tar_text(std::span<const char> block, TarField field) noexcept;

/// Writes octal digits and a zero byte. Returns false when the number does not fit.
bool put_tar_number(std::span<char> block, TarField field, std::uint64_t number) noexcept;

}  // namespace skiff::fs
