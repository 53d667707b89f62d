#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "fs/content/target.hpp"
#include "fs/path/tree.hpp"

namespace skiff::fs {

struct AppendOptions {
  std::optional<std::uint64_t> offset = {};  ///< where the file must end; none: anywhere
  Conditions conditions = {};
  std::optional<mode_t> mode = {};  ///< mode of a new file
  Parents parents = Parents::make;
};

/// Appends bytes to a file in place, piece by piece. Bytes that have arrived stay when the rest does not come, so an
/// upload can be resumed. Each piece first checks, with the name locked, that the file still has its name and ends at
/// the expected offset. A missing file is created when the offset is 0 or absent. One thread at a time.
class Appender {
 public:
  /// Succeeds with a wrong offset: see `check`. Errors: those of Writer::begin.
  [[nodiscard]] static Result<Appender> begin(const Tree& tree, std::string_view path, AppendOptions options = {},
                                              const std::stop_token& stop = {});

  /// Checks that the file ends at the offset. Errors: append_offset_mismatch; then `size()` is the actual end.
  [[nodiscard]] Result<> check();
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// Checks, then writes all bytes. A failed write may leave a part of them in the file. Errors:
  /// append_offset_mismatch, no_space.
  [[nodiscard]] Result<> write(std::span<const char> bytes);

  /// Describes the file after the last piece. Errors: append_offset_mismatch.
  [[nodiscard]] Result<Written> finish();

 private:
  Appender(std::string path, Location location, UniqueFd fd, std::optional<std::uint64_t> offset, bool created);
  [[nodiscard]] Result<> check_locked();

  std::string path_;
  Location location_;
  UniqueFd fd_;  // none: the file is missing and the offset is not 0
  std::optional<std::uint64_t> offset_;
  std::uint64_t size_ = 0;
  bool created_ = false;
};

}  // namespace skiff::fs
