#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace skiff::container::egress {

/// Reads a file that a BoundedLog writes, and the ones in its place later, while they grow. Each line comes once.
class AuditReader {
 public:
  /// `directory` must outlive it.
  AuditReader(const UniqueFd& directory, std::string_view file) : directory_{&directory}, name_{file} {}

  /// The next whole lines, some KiB of them; empty: there are none at present. A file that was dropped before it could
  /// be read leaves a line with the verdict `missing`. Errors: those of open(2) and read(2).
  [[nodiscard]] Result<std::string> read();

 private:
  [[nodiscard]] Result<UniqueFd> open(const std::string& name) const;
  [[nodiscard]] Result<std::string> read_lines();
  /// Opens the file after this one; false if there is none yet.
  [[nodiscard]] Result<bool> open_next();

  const UniqueFd* directory_;
  std::string name_;
  UniqueFd file_;
  UniqueFd next_;    ///< once it is there, nobody writes to `file_` any more
  UniqueFd before_;  ///< the file that was read before it: as long as it is open, no other one has its inode
  std::uint64_t offset_ = 0;
  bool misses_lines_ = false;
};

/// Passes the lines of the audit log in that directory to `take`, the oldest first, and then each new one, until the
/// directory goes or `take` fails.
[[nodiscard]] Task<Result<>> follow_audit(std::filesystem::path directory,
                                          std::function<Result<>(std::string_view lines)> take);

}  // namespace skiff::container::egress
