#include "container/host/state_directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/id.hpp"
#include "base/small_file.hpp"
#include "base/unique_fd.hpp"

namespace skiff::container {
namespace {

namespace files = std::filesystem;

constexpr std::size_t kLongestKeyFile = 4096;
/// Passes over a directory that is removed: at most one for each level of it. More are needed only if somebody fills
/// it.
constexpr unsigned kMostPasses = 1'000'000;

std::string shown(const files::path& path) {
  return "\"" + path.string() + "\"";
}

Result<std::string> default_path() {
  // The specification says that a relative path is to be ignored.
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && state[0] == '/') {
    return std::string{state} + "/skiff";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
    return std::string{home} + "/.local/state/skiff";
  }
  return fail(Errc::invalid_field, "skiff has no directory for its state: set HOME or XDG_STATE_HOME");
}

std::string proc_path(const UniqueFd& fd) {
  return "/proc/self/fd/" + std::to_string(fd.get());
}

/// Removes what is in a directory, with two open directories at a time, however deep it is: a command may nest
/// thousands. Directories in its directories move up into it, and are emptied in a later pass. It works by descriptors,
/// because a command may replace a name by a link.
class Emptying {
 public:
  /// `root` is the directory, opened with O_PATH.
  explicit Emptying(int root) : root_{root} {}

  /// Returns true if it has removed or moved something.
  bool pass() {
    has_changed_ = false;
    error_ = 0;
    empty(root_);
    return has_changed_;
  }
  /// errno of the last failure of a pass; 0: none.
  [[nodiscard]] int error() const noexcept { return error_; }

  /// Opens a directory, to whose owner all is permitted then. An invalid descriptor with errno if it is none.
  static UniqueFd open(int parent, const char* name) {
    UniqueFd directory{::openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
    struct stat status{};
    if (directory && ::fstat(directory.get(), &status) == 0 && (status.st_mode & S_IRWXU) != S_IRWXU) {
      (void)::chmod(proc_path(directory).c_str(), (status.st_mode & 07777U) | S_IRWXU);
    }
    return directory;
  }

 private:
  void note(bool is_done) {
    if (is_done) {
      has_changed_ = true;
    } else if (errno != ENOENT) {
      error_ = errno;
    }
  }

  void empty(int directory) {
    const std::unique_ptr<DIR, int (*)(DIR*)> reader{
        ::fdopendir(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), &::closedir};
    if (!reader) return note(false);
    while (const dirent* entry = ::readdir(reader.get())) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") remove(directory, entry->d_name);
    }
  }

  void remove(int directory, const char* name) {
    const bool is_removed = ::unlinkat(directory, name, 0) == 0;
    // Linux reports a directory with EISDIR, POSIX says EPERM.
    if (is_removed || (errno != EISDIR && errno != EPERM)) return note(is_removed);
    const UniqueFd inner = open(directory, name);
    if (!inner) return note(false);
    if (directory == root_) {
      empty(inner.get());
      return note(::unlinkat(root_, name, AT_REMOVEDIR) == 0);
    }
    note(move_up(directory, name));
  }

  bool move_up(int directory, const char* name) {
    for (;;) {
      const std::string above = ".above-" + std::to_string(names_++);
      if (::renameat2(directory, name, root_, above.c_str(), RENAME_NOREPLACE) == 0) return true;
      if (errno != EEXIST) return false;
    }
  }

  int root_;
  std::uint64_t names_ = 0;  ///< count of names in the root that were tried
  bool has_changed_ = false;
  int error_ = 0;
};

Result<> write_all(int fd, std::string_view text, const files::path& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return std::unexpected{system_error(errno, "write " + shown(path))};
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

/// Creates a file beside `path` that contains `text`.
Result<files::path> write_beside(const files::path& path, std::string_view text, Durable durable = Durable::yes) {
  files::path temporary = path;
  temporary += "." + new_id("tmp");
  const UniqueFd file{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
  if (!file) return std::unexpected{system_error(errno, "create " + shown(temporary))};
  auto written = write_all(file.get(), text, temporary);
  if (written && durable == Durable::yes && ::fsync(file.get()) != 0) {
    written = std::unexpected{system_error(errno, "write " + shown(temporary))};
  }
  if (!written) {
    ::unlink(temporary.c_str());
    return std::unexpected{std::move(written.error())};
  }
  return temporary;
}

/// True if the ids of this user namespace are those of the machine, so that a user who is not root is another one.
bool has_all_users() {
  std::istringstream map{read_small_file("/proc/self/uid_map", kLongestKeyFile).value_or("")};
  std::uint64_t inner = 1, outer = 1, count = 0;
  map >> inner >> outer >> count;
  return inner == 0 && count == 0xffff'ffffU;
}

/// For root: whoever can replace a directory above the state chooses the files that root writes and removes.
Result<> check_above(const files::path& directory) {
  if (::geteuid() != 0 || !has_all_users()) return {};
  files::path above;
  for (const files::path& name : directory.parent_path()) {
    above /= name;
    struct stat found{};
    if (::stat(above.c_str(), &found) != 0) return {};
    const bool is_open = (found.st_mode & S_IWOTH) != 0 && (found.st_mode & S_ISVTX) == 0;
    if (found.st_uid == 0 && !is_open) continue;
    return fail(Errc::permission_denied,
                "root's state would be in " + shown(directory) + ", and " +
                    (is_open ? "every user" : "user " + std::to_string(found.st_uid)) + " can replace " + shown(above) +
                    ": set XDG_STATE_HOME to a directory of root, as /var/lib, or do not run skiff as "
                    "root");
  }
  return {};
}

}  // namespace

Result<StateDirectory> StateDirectory::open(std::string path) {
  if (path.empty()) {
    SKIFF_TRY(path, default_path());
  }
  std::error_code error;
  const files::path directory = files::absolute(path, error).lexically_normal();
  if (error) return std::unexpected{system_error(error.value(), "find " + shown(path))};
  // The names on the way, and the directories that links among them lead to.
  SKIFF_TRY_VOID(check_above(directory));
  if (const files::path real = files::weakly_canonical(directory, error); !error) SKIFF_TRY_VOID(check_above(real));
  files::create_directories(directory.parent_path(), error);
  if (error) return std::unexpected{system_error(error.value(), "create " + shown(directory.parent_path()))};
  if (auto made = create_private_directory(directory); !made && made.error().code != Errc::already_exists) {
    return std::unexpected{std::move(made.error())};
  }
  // By descriptor, so that the directory that was checked is the one that is changed.
  const UniqueFd opened{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  struct stat status{};
  if (!opened || ::fstat(opened.get(), &status) != 0) {
    return std::unexpected{system_error(errno, "open " + shown(directory))};
  }
  if (status.st_uid != ::geteuid()) {
    return fail(Errc::permission_denied, shown(directory) + " belongs to another user: set XDG_STATE_HOME");
  }
  if ((status.st_mode & 077U) != 0 && ::fchmod(opened.get(), 0700) != 0) {
    return std::unexpected{system_error(errno, "close " + shown(directory) + " to others")};
  }
  return StateDirectory{directory};
}

Result<SigningKey> StateDirectory::signing_key() const {
  const files::path file = path_ / "signing-key.pem";
  auto text = read_small_file(file, kLongestKeyFile);
  if (!text && text.error().code == Errc::path_not_found) {
    auto key = SigningKey::generate();
    if (!key) return key;
    SKIFF_TRY(auto pem, key->private_pem());
    SKIFF_TRY(auto temporary, write_beside(file, pem));
    // link(2) does not replace: the first key wins, and every process reads that one.
    const int linked = ::link(temporary.c_str(), file.c_str()) == 0 ? 0 : errno;
    ::unlink(temporary.c_str());
    if (linked != 0 && linked != EEXIST) return std::unexpected{system_error(linked, "create " + shown(file))};
    text = read_small_file(file, kLongestKeyFile);
  }
  if (!text) return std::unexpected{std::move(text.error())};
  auto key = SigningKey::parse_pem(*text);
  if (!key) key.error().message = shown(file) + ": " + key.error().message;
  return key;
}

Result<> write_private_file(const files::path& path, std::string_view text, Durable durable) {
  SKIFF_TRY(auto temporary, write_beside(path, text, durable));
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    auto error = system_error(errno, "replace " + shown(path));
    ::unlink(temporary.c_str());
    return std::unexpected{std::move(error)};
  }
  return {};
}

Result<> create_private_directory(const files::path& path) {
  if (::mkdir(path.c_str(), 0700) == 0) return {};
  return std::unexpected{system_error(errno, "create " + shown(path))};
}

Result<> remove_directory(const files::path& path) {
  const auto failed = [&path](int error) { return std::unexpected{system_error(error, "remove " + shown(path))}; };
  const UniqueFd root = Emptying::open(AT_FDCWD, path.c_str());
  if (!root && errno == ENOENT) return {};
  if (!root) {
    if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
    return failed(errno);
  }
  Emptying emptying{root.get()};
  for (unsigned passes = 0; passes < kMostPasses; ++passes) {
    const bool goes_on = emptying.pass();
    if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return {};
    if (!goes_on) return failed(emptying.error() != 0 ? emptying.error() : errno);
  }
  return failed(ENOTEMPTY);
}

}  // namespace skiff::container
