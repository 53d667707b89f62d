#pragma once

#include <cstdint>
#include <string_view>

namespace skiff::fs {

/// Writes a new, empty file so that zeros take no room in it: runs of them become holes, page by page.
class SparseFile {
 public:
  /// `fd` is the caller's.
  explicit SparseFile(int fd) noexcept : fd_{fd} {}

  /// From `at` on, which lies behind what was written before. Gives an errno, 0 when done.
  [[nodiscard]] int write(std::uint64_t at, std::string_view bytes) const;
  /// Nothing more follows: the file has so many bytes. Gives an errno, 0 when done.
  [[nodiscard]] int finish(std::uint64_t size) const;

 private:
  int fd_;
};

}  // namespace skiff::fs
