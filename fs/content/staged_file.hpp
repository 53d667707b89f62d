#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "fs/path/temporary_name.hpp"

namespace skiff::fs {

enum class Existing : unsigned char { refuse, replace };

/// Whether a file that is not complete yet has a temporary name. Nameless leaves nothing behind whatever happens; a
/// name is cheaper, for bytes that are all at hand so that it lives for microseconds.
enum class Naming : unsigned char { nameless, temporary };

/// renameat2(2) with RENAME_NOREPLACE, also where the kernel or the file system lacks it. Gives an errno, 0 when done.
[[nodiscard]] int rename_new(int from_directory, const std::string& from, int to_directory, const std::string& to);

/// A new file in a directory that shows under its name only when it is complete. Until then it has no name at all
/// (O_TMPFILE), so that not even SIGKILL leaves anything behind; where the file system lacks that, a temporary name
/// that goes with the object.
class StagedFile {
 public:
  /// `directory` (O_PATH will do) must stay open for as long as this. The mode is `mode` without the umask's bits.
  [[nodiscard]] static Result<StagedFile> make(int directory, mode_t mode, Naming naming = Naming::nameless,
                                               Becomes becomes = Becomes::replacement);
  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&&) = delete;
  ~StagedFile();

  /// Open for reading and writing.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  /// Gives it that name in its directory. Errors: already_exists (Existing::refuse), and what link and rename say.
  [[nodiscard]] Result<> publish(const std::string& name, Existing existing);

  /// Its temporary name, which it is given now if it has none: for who puts it in the place of something himself and
  /// then calls `renamed()`.
  [[nodiscard]] Result<std::string> name_it();
  void renamed() noexcept { name_.clear(); }

 private:
  StagedFile(int directory, UniqueFd fd, std::string name) noexcept;
  /// 0 or an errno.
  [[nodiscard]] int link(const std::string& name) const;

  int directory_;
  UniqueFd fd_;
  std::string name_;  // empty: none (any more)
};

}  // namespace skiff::fs
