#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace skiff::fs {

/// A part of a sparse file that the archive holds; what lies between two is zeros.
struct TarPiece {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// What the headers of a sparse member say of it, in the forms of GNU tar: its own ("old", type S), and those of pax
/// extended headers, 0.0 and 0.1, where the header holds the map, and 1.0, where the content begins with it.
class TarSparse {
 public:
  static constexpr std::size_t kMostPieces = std::size_t{1} << 16U;

  /// Takes a record of an extended header whose key begins with "GNU.sparse.". Errors: malformed_archive.
  [[nodiscard]] Result<> take(std::string_view key, std::string_view value);
  /// Takes up to `most` pairs of numbers that stand in a header of type S or behind it. Errors: malformed_archive.
  [[nodiscard]] Result<> take_header(std::span<const char> block, std::size_t at, std::size_t most);
  /// Takes the lines of what stands at the beginning of the content of a member of form 1.0, and leaves the rest of
  /// `text`. True once that is all of the map. Errors: malformed_archive.
  [[nodiscard]] Result<bool> take_map(std::string& text);

  [[nodiscard]] bool any() const noexcept { return any_; }
  [[nodiscard]] bool map_is_content() const noexcept { return major_ == 1; }
  [[nodiscard]] const std::optional<std::string>& name() const noexcept { return name_; }
  void set_size(std::uint64_t size) noexcept {
    any_ = true;
    size_ = size;
  }

  /// The pieces of a file of `stored` bytes of content, in their order, without empty ones. Errors: malformed_archive
  /// for those that overlap, lie outside of the file, or are not so many bytes.
  [[nodiscard]] Result<std::vector<TarPiece>> pieces(std::uint64_t stored) const;
  [[nodiscard]] Result<std::uint64_t> size() const;

 private:
  [[nodiscard]] Result<> add(std::optional<std::uint64_t> number);

  bool any_ = false;
  std::uint64_t major_ = 0;
  std::optional<std::uint64_t> size_;
  std::optional<std::string> name_;
  std::optional<std::uint64_t> count_;  // of pieces, as form 1.0 tells it
  std::vector<std::uint64_t> numbers_;  // offset and size in turn
};

}  // namespace skiff::fs
