#include "fs/archive/tar_sparse.hpp"

#include <algorithm>
#include <charconv>

#include "fs/archive/tar_header.hpp"

namespace skiff::fs {
namespace {

std::unexpected<Error> bad_map() {
  return fail(Errc::malformed_archive, "the map of a sparse file is damaged");
}

std::optional<std::uint64_t> sparse_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

Result<> TarSparse::add(std::optional<std::uint64_t> number) {
  constexpr std::uint64_t most = std::uint64_t{1} << 62U;
  if (!number || *number > most) return bad_map();
  if (numbers_.size() >= 2 * kMostPieces) {
    return fail(Errc::not_supported, "a sparse file in the archive has more than 65,536 pieces");
  }
  numbers_.push_back(*number);
  return {};
}

Result<> TarSparse::take(std::string_view key, std::string_view value) {
  any_ = true;
  key.remove_prefix(std::string_view{"GNU.sparse."}.size());
  if (key == "name") {
    name_ = value;
  } else if (key == "size" || key == "realsize") {
    size_ = sparse_number(value);
    if (!size_) return bad_map();
  } else if (key == "offset" || key == "numbytes") {
    // Offset and size alternate: the offset first.
    if ((numbers_.size() % 2 == 0) != (key == "offset")) return bad_map();
    return add(sparse_number(value));
  } else if (key == "map") {
    numbers_.clear();
    while (!value.empty()) {
      const std::size_t comma = std::min(value.find(','), value.size());
      SKIFF_TRY_VOID(add(sparse_number(value.substr(0, comma))));
      value.remove_prefix(std::min(comma + 1, value.size()));
    }
  } else if (key == "major") {
    const auto number = sparse_number(value);
    if (!number || *number > 1) return fail(Errc::not_supported, "the archive holds sparse files of an unknown form");
    major_ = *number;
  }
  return {};
}

Result<> TarSparse::take_header(std::span<const char> block, std::size_t at, std::size_t most) {
  for (std::size_t i = 0; i < most; ++i, at += 24) {
    if (block[at] == '\0') return {};
    for (const std::size_t field : {at, at + 12}) {
      const auto number = tar_number(block, {field, 12});
      if (!number || *number < 0) return bad_map();
      SKIFF_TRY_VOID(add(static_cast<std::uint64_t>(*number)));
    }
  }
  return {};
}

Result<bool> TarSparse::take_map(std::string& text) {
  constexpr std::size_t longest = 20;
  std::size_t at = 0;
  while (!count_ || numbers_.size() < 2 * *count_) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) {
      text.erase(0, at);
      if (text.size() > longest) return bad_map();
      return false;
    }
    const auto number = sparse_number(std::string_view{text}.substr(at, end - at));
    at = end + 1;
    if (count_) {
      SKIFF_TRY_VOID(add(number));
    } else if (!number || *number > kMostPieces) {
      return bad_map();
    } else {
      numbers_.clear();
      count_ = number;
    }
  }
  return true;
}

Result<std::uint64_t> TarSparse::size() const {
  if (!size_) return bad_map();
  return *size_;
}

Result<std::vector<TarPiece>> TarSparse::pieces(std::uint64_t stored) const {
  SKIFF_TRY(const auto whole, size());
  if (numbers_.size() % 2 != 0) return bad_map();
  std::vector<TarPiece> pieces;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < numbers_.size(); i += 2) {
    const TarPiece piece{.offset = numbers_[i], .size = numbers_[i + 1]};
    if (piece.offset < end || piece.offset > whole || piece.size > whole - piece.offset || piece.size > stored) {
      return bad_map();
    }
    end = piece.offset + piece.size;
    stored -= piece.size;
    if (piece.size > 0) pieces.push_back(piece);
  }
  if (stored != 0) return bad_map();
  return pieces;
}

}  // namespace skiff::fs
