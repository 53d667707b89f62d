#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "fs/path/temporary_name.hpp"

namespace skiff::fs {

enum class Existing : unsigned char { refuse, replace };

/// Whether an incomplete file has a temporary name. A nameless file leaves nothing behind in any case. A temporary name
/// is cheaper; use it when all bytes are at hand, so that it exists for microseconds.
enum class Naming : unsigned char { nameless, temporary };

/// renameat2(2) with RENAME_NOREPLACE, with a fallback where the kernel or the file system lacks it. Returns 0 or an
/// errno.
[[nodiscard]] int rename_new(int from_directory, const std::string& from, int to_directory, const std::string& to);

/// A new file that appears under its name only when it is complete. Until then it is nameless (O_TMPFILE), so not even
/// SIGKILL leaves anything behind. Where the file system lacks O_TMPFILE, it has a temporary name, which the destructor
/// removes.
class StagedFile {
 public:
  /// `directory` (O_PATH suffices) must stay open while this lives. The file gets `mode` without the umask's bits.
  [[nodiscard]] static Result<StagedFile> make(int directory, mode_t mode, Naming naming = Naming::nameless,
                                               Becomes becomes = Becomes::replacement);
  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&&) = delete;
  ~StagedFile();

  /// The descriptor is open for reading and writing.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  /// Gives the file this name in its directory. Errors: already_exists (Existing::refuse), and those of link and
  /// rename.
  [[nodiscard]] Result<> publish(const std::string& name, Existing existing);

  /// Returns the temporary name, and creates one if the file has none: for a caller that renames the file itself and
  /// then calls `renamed()`.
  [[nodiscard]] Result<std::string> name_it();
  void renamed() noexcept { name_.clear(); }

 private:
  StagedFile(int directory, UniqueFd fd, std::string name) noexcept;
  /// Returns 0 or an errno.
  [[nodiscard]] int link(const std::string& name) const;

  int directory_;
  UniqueFd fd_;
  std::string name_;  // empty: the file has no temporary name
};

}  // namespace skiff::fs
