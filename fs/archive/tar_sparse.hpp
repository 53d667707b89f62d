#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace skiff::fs {

/// A part of a sparse file that the archive holds; the gaps between the parts are zeros.
struct TarPiece {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// The description of a sparse member in its headers, in the forms of GNU tar: its own ("old", type S), and the pax
/// forms 0.0 and 0.1, where the extended header holds the map, and 1.0, where the content begins with it.
class TarSparse {
 public:
  static constexpr std::size_t kMostPieces = std::size_t{1} << 16U;

  /// Takes a record of an extended header whose key begins with "GNU.sparse.". Errors: malformed_archive.
  [[nodiscard]] Result<> take(std::string_view key, std::string_view value);
  /// Takes up to `most` pairs of numbers from a header of type S or its extension. Errors: malformed_archive.
  [[nodiscard]] Result<> take_header(std::span<const char> block, std::size_t at, std::size_t most);
  /// Takes the complete lines of the map at the beginning of the content of a form 1.0 member, and leaves the rest in
  /// `text`. Returns true when the map is complete. Errors: malformed_archive.
  [[nodiscard]] Result<bool> take_map(std::string& text);

  [[nodiscard]] bool any() const noexcept { return any_; }
  [[nodiscard]] bool map_is_content() const noexcept { return major_ == 1; }
  [[nodiscard]] const std::optional<std::string>& name() const noexcept { return name_; }
  void set_size(std::uint64_t size) noexcept {
    any_ = true;
    size_ = size;
  }

  /// Returns the pieces of a file with `stored` bytes of content, in order, without empty ones. Errors:
  /// malformed_archive for pieces that overlap, lie outside of the file, or have another total size.
  [[nodiscard]] Result<std::vector<TarPiece>> pieces(std::uint64_t stored) const;
  [[nodiscard]] Result<std::uint64_t> size() const;

 private:
  [[nodiscard]] Result<> add(std::optional<std::uint64_t> number);

  bool any_ = false;
  std::uint64_t major_ = 0;
  std::optional<std::uint64_t> size_;
  std::optional<std::string> name_;
  std::optional<std::uint64_t> count_;  // number of pieces, as form 1.0 states it
  std::vector<std::uint64_t> numbers_;  // alternating: offset, size
};

}  // namespace skiff::fs
