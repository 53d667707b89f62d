#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace skiff::fs {

/// Bytes that are kept in a file without a name until they are read. Zeros take no room in it.
class Spool {
 public:
  /// The file is in the file system of `directory`.
  [[nodiscard]] static Result<Spool> open(int directory);

  [[nodiscard]] Result<> append(std::string_view bytes);
  /// Appends zeros without a write.
  [[nodiscard]] Result<> append_zeros(std::uint64_t count);
  /// Nothing more follows: the spool can be read.
  [[nodiscard]] Result<> finish();

 private:
  friend class SpoolReader;
  explicit Spool(UniqueFd file) : file_{std::move(file)} {}
  [[nodiscard]] Result<> flush();

  UniqueFd file_;
  std::uint64_t size_ = 0;     // bytes in the file
  std::vector<char> waiting_;  // bytes that follow them
};

/// Reads a spool from its start.
class SpoolReader {
 public:
  /// `spool` is the caller's, and finished.
  explicit SpoolReader(const Spool& spool) : spool_{spool} {}

  /// Reads the next bytes and returns their number: 0 at the end.
  [[nodiscard]] Result<std::size_t> read(std::span<char> into);
  /// Passes over bytes without reading them.
  void skip(std::uint64_t count) noexcept;

 private:
  [[nodiscard]] Result<std::size_t> read_at(std::span<char> into);

  const Spool& spool_;
  std::uint64_t at_ = 0;  // position behind what was read
  std::vector<char> ahead_;
  std::size_t from_ = 0, to_ = 0;  // range of `ahead_` that was read and not yet taken
};

}  // namespace skiff::fs
