#include "fs/archive/tar_header.hpp"

#include <algorithm>

namespace skiff::fs {

std::uint32_t tar_sum(std::span<const char> block) noexcept {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < kTarBlock; ++i) {
    const bool own = i >= tar_field::kSum.at && i < tar_field::kSum.at + tar_field::kSum.size;
    sum += own ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return sum;
}

std::optional<std::int64_t> tar_number(std::span<const char> block, TarField field) noexcept {
  const auto bytes = block.subspan(field.at, field.size);
  if ((static_cast<unsigned char>(bytes[0]) & 0x80U) != 0) {
    // Two's complement: the first bit is the mark, the second the sign.
    const bool negative = (static_cast<unsigned char>(bytes[0]) & 0x40U) != 0;
    std::uint64_t number = negative ? ~std::uint64_t{0} : 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      std::uint64_t byte = static_cast<unsigned char>(bytes[i]);
      if (i == 0) byte = negative ? byte : byte & 0x7FU;
      if (bytes.size() - i > 8 && byte != (negative ? 0xFFU : 0U)) return std::nullopt;
      number = (number << 8U) | byte;
    }
    const auto result = static_cast<std::int64_t>(number);
    if ((result < 0) != negative) return std::nullopt;
    return result;
  }
  std::size_t at = 0;
  while (at < bytes.size() && bytes[at] == ' ') ++at;
  std::int64_t number = 0;
  for (; at < bytes.size() && bytes[at] >= '0' && bytes[at] <= '7'; ++at) number = number * 8 + (bytes[at] - '0');
  for (; at < bytes.size(); ++at) {
    if (bytes[at] != ' ' && bytes[at] != '\0') return std::nullopt;
  }
  return number;
}

std::string_view tar_text(std::span<const char> block, TarField field) noexcept {
  const auto bytes = block.subspan(field.at, field.size);
  return {bytes.data(), static_cast<std::size_t>(std::ranges::find(bytes, '\0') - bytes.begin())};
}

bool put_tar_number(std::span<char> block, TarField field, std::uint64_t number) noexcept {
  const auto bytes = block.subspan(field.at, field.size);
  bytes.back() = '\0';
  for (std::size_t i = bytes.size() - 1; i-- > 0;) {
    bytes[i] = static_cast<char>('0' + number % 8);
    number /= 8;
  }
  return number == 0;
}

}  // namespace skiff::fs
