#include "fs/tree/remove.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "fs/content/staged_file.hpp"
#include "fs/path/descriptor.hpp"
#include "fs/path/directory_reader.hpp"
#include "fs/path/path.hpp"
#include "fs/path/stop.hpp"

namespace skiff::fs {
namespace {

constexpr std::size_t kMostLevels = 64;
constexpr int kMostSwaps = 1000;
constexpr int kMostPasses = 16;  // passes over one directory; more are needed only when other processes fill it

class Removal {
 public:
  Removal(const Tree& tree, int directory, const std::stop_token& stop)
      : tree_{tree}, directory_{directory}, stop_{stop} {}

  Result<> run(const std::string& name) {
    SKIFF_TRY_VOID(remove(directory_, name));
    while (!levels_.empty()) {
      if (stop_.stop_requested()) return stopped_error();
      SKIFF_TRY_VOID(step());
    }
    return {};
  }

 private:
  struct Level {
    DirectoryReader reader;
    std::string name;  // name in the level above
    int passes = 1;
  };

  [[nodiscard]] int above() const { return levels_.size() > 1 ? levels_[levels_.size() - 2].reader.fd() : directory_; }

  static std::unexpected<Error> failed(int error, const std::string& name) {
    return std::unexpected{system_error(error, "remove " + in_quotes(name))};
  }

  Result<> step() {
    DirectoryReader::Name found;
    SKIFF_TRY(auto got, levels_.back().reader.next(found));
    if (got) {
      const std::string name{found.name};
      return remove(levels_.back().reader.fd(), name);
    }
    Level& level = levels_.back();
    if (::unlinkat(above(), level.name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) {
      levels_.pop_back();
      return {};
    }
    const int error = errno;
    if (error == ENOTDIR && swaps_++ < kMostSwaps) {
      // Another object has the name now. The directory may have been moved anywhere, even outside, so do not go on in
      // it.
      const std::string name = std::move(level.name);
      const int directory = above();
      levels_.pop_back();
      return remove(directory, name);
    }
    // A name was added, or the reader skipped a name because others were removed during the read.
    if ((error != ENOTEMPTY && error != EEXIST) || level.passes++ == kMostPasses) return failed(error, level.name);
    level.reader.rewind();
    return {};
  }

  /// Removes a name that is not a directory at once; a directory becomes the next level.
  Result<> remove(int directory, const std::string& name) {
    UniqueFd inside;
    while (!inside) {
      if (::unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) return {};
      // Linux reports a directory with EISDIR, POSIX says EPERM.
      const int error = errno;
      if (error != EISDIR && error != EPERM) return failed(error, name);
      inside.reset(::openat(directory, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (inside || errno == ENOENT) continue;
      if (errno != ENOTDIR || error == EPERM || swaps_++ == kMostSwaps) return failed(error, name);
    }
    SKIFF_TRY(auto status, status_of(inside.get()));
    if (tree_.is_read_only_root(status)) return refuse_write(name);
    if (levels_.size() == kMostLevels) return raise(directory, name);
    SKIFF_TRY(auto reader, DirectoryReader::open(inside.get()));
    levels_.push_back({.reader = std::move(reader), .name = name});
    return {};
  }

  /// Moves a directory that lies too deep to the top level, where a later pass finds it, so no depth needs more
  /// descriptors.
  Result<> raise(int directory, const std::string& name) {
    const int error = rename_new(directory, name, levels_.front().reader.fd(), temporary_name());
    if (error != 0 && error != ENOENT) return failed(error, name);
    levels_.front().passes = 0;
    return {};
  }

  const Tree& tree_;
  int directory_;
  const std::stop_token& stop_;
  std::vector<Level> levels_;
  int swaps_ = 0;
};

}  // namespace

Result<> remove_tree(const Tree& tree, int directory, const std::string& name, const std::stop_token& stop) {
  return Removal{tree, directory, stop}.run(name);
}

}  // namespace skiff::fs
