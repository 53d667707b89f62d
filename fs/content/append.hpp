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
  std::optional<std::uint64_t> offset = {};  ///< where the file must end; none: wherever it does
  Conditions conditions = {};
  std::optional<mode_t> mode = {};  ///< of a file that is made
  Parents parents = Parents::make;
};

/// Adds bytes at the end of a file, piece by piece, in place: what has arrived stays when the rest does not come, so
/// that an upload can be resumed. Each piece checks first, with the name locked, that the file still ends where it
/// should and still has its name. Made when it is missing and the offset is 0 or none is given. One thread at a time.
class Appender {
 public:
  /// Does not fail for a wrong offset: see `check`. Errors: as of Writer::begin.
  [[nodiscard]] static Result<Appender> begin(const Tree& tree, std::string_view path, AppendOptions options = {},
                                              const std::stop_token& stop = {});

  /// Whether the file ends at the offset. Errors: append_offset_mismatch; then `size()` is where it ends.
  [[nodiscard]] Result<> check();
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// Checks, then writes all of it; what could not be written is cut off again. Errors: append_offset_mismatch,
  /// no_space.
  [[nodiscard]] Result<> write(std::span<const char> bytes);

  /// What the file is now. Errors: append_offset_mismatch.
  [[nodiscard]] Result<Written> finish();

 private:
  Appender(std::string path, Place place, UniqueFd fd, std::optional<std::uint64_t> offset, bool created);
  [[nodiscard]] Result<> check_locked();

  std::string path_;
  Place place_;
  UniqueFd fd_;  // none: the file is missing and the offset is not 0
  std::optional<std::uint64_t> offset_;
  std::uint64_t size_ = 0;
  bool created_ = false;
};

}  // namespace skiff::fs
