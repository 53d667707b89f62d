#include "sessions/spawn/isolation.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/kernel_features.hpp"
#include "fs/path/descriptor.hpp"
#include "sessions/process/cgroup_directory.hpp"

namespace skiff::sessions {
namespace {

// Constants of landlock(7), because the headers of Debian 12 have no scopes.
constexpr std::uint64_t kExecute = 1U << 0U, kWriteFile = 1U << 1U, kReadFile = 1U << 2U, kReadDirectory = 1U << 3U,
                        kRemoveDirectory = 1U << 4U, kRefer = 1U << 13U, kIoctlDevice = 1U << 15U;
constexpr std::uint64_t kEveryAccess = (1U << 16U) - 1;  // ABI 5: the first 16 rights
constexpr std::uint64_t kScopeSignal = 1U << 1U;
constexpr int kScopesSince = 6;
constexpr int kPathBeneath = 1;

struct RulesetAttributes {
  std::uint64_t handled_fs = 0;
  std::uint64_t handled_net = 0;
  std::uint64_t scoped = 0;
};

struct [[gnu::packed]] PathRule {
  std::uint64_t allowed = 0;
  std::int32_t directory = -1;
};

/// The rights that let a command end or freeze a cgroup, move a process into another, or remove a command's cgroup.
constexpr std::uint64_t kChangesCgroup = kWriteFile | kRemoveDirectory;
/// The part of `kChangesCgroup` that applies to files.
constexpr std::uint64_t kOfAFile = kWriteFile;
constexpr std::uint64_t kRead = kExecute | kReadFile | kReadDirectory;

struct SystemDirectory {
  const char* path;
  std::uint64_t allowed;
};
/// Directories that the image lacks are left out. Devices (/dev/null, terminals) may be written to, not created.
constexpr std::array kSystem{
    SystemDirectory{"/bin", kRead},
    SystemDirectory{"/etc", kRead},
    SystemDirectory{"/lib", kRead},
    SystemDirectory{"/lib32", kRead},
    SystemDirectory{"/lib64", kRead},
    SystemDirectory{"/nix", kRead},
    SystemDirectory{"/opt", kRead},
    SystemDirectory{"/proc", kRead},
    SystemDirectory{"/run", kRead},
    SystemDirectory{"/sbin", kRead},
    SystemDirectory{"/sys", kRead},
    SystemDirectory{"/usr", kRead},
    SystemDirectory{"/var", kRead},
    SystemDirectory{"/tmp", kEveryAccess},
    SystemDirectory{"/dev", kRead | kWriteFile | kIoctlDevice},
};

/// Adds a rule; returns 0 or an errno.
int allow(int ruleset, const UniqueFd& directory, std::uint64_t access) {
  const PathRule rule{.allowed = access, .directory = directory.get()};
  return ::syscall(SYS_landlock_add_rule, ruleset, kPathBeneath, &rule, 0) == 0 ? 0 : errno;
}

bool is_absent(int error) {
  return error == ENOENT || error == ENOTDIR;
}

using Paths = std::vector<std::filesystem::path>;

bool lies_below(const std::filesystem::path& inner, const std::filesystem::path& outer) {
  return std::ranges::mismatch(outer, inner).in1 == outer.end();
}

/// Like `allow`, for the directory that is now at `path`, but does not let commands change a cgroup below it. Landlock
/// has no exceptions from a rule. So if a directory of `closed` is below, the rights are given to every entry beside
/// the path there. Entries created later in a directory on that path are closed, too.
int allow_but(int ruleset, const UniqueFd& directory, const std::filesystem::path& path, std::uint64_t access,
              const Paths& closed) {
  if (std::ranges::none_of(closed, [&](const auto& point) { return lies_below(point, path); })) {
    return allow(ruleset, directory, access);
  }
  if (const std::uint64_t rest = access & ~kChangesCgroup; rest != 0) {
    if (const int error = allow(ruleset, directory, rest)) return error;
  }
  const std::uint64_t changes = access & kChangesCgroup;
  if (changes == 0 || std::ranges::find(closed, path) != closed.end()) return 0;
  std::error_code error;
  for (std::filesystem::directory_iterator entry{fs::proc_path(directory.get()), error}, end; !error && entry != end;
       entry.increment(error)) {
    const std::filesystem::path inner_path = path / entry->path().filename();
    const UniqueFd inner{::openat(directory.get(), inner_path.filename().c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
    struct stat status{};
    // An entry that is gone or cannot be opened stays closed. A link's target has its own rule.
    if (!inner || ::fstat(inner.get(), &status) != 0 || S_ISLNK(status.st_mode)) continue;
    const bool is_directory = S_ISDIR(status.st_mode);
    const int failed = is_directory ? allow_but(ruleset, inner, inner_path, changes, closed)
                       : std::ranges::find(closed, inner_path) == closed.end()
                           ? allow(ruleset, inner, changes & kOfAFile)
                           : 0;
    if (failed != 0 && failed != EBADFD) return failed;  // EBADFD: a kernel file, which takes no rules
  }
  // A directory whose names cannot be read stays closed: it is another user's private one, on the path to a mount.
  return error == std::errc::permission_denied ? 0 : error.value();
}

/// The current path of the open directory, without links.
Result<std::filesystem::path> path_of(const UniqueFd& directory) {
  std::error_code error;
  auto path = std::filesystem::read_symlink(fs::proc_path(directory.get()), error);
  if (error) return std::unexpected{system_error(error.value(), "read the path of a directory that commands may use")};
  return path;
}

Result<> allow_open(int ruleset, const UniqueFd& directory, std::uint64_t access, const Paths& closed,
                    const std::string& attempted) {
  SKIFF_TRY(const auto path, path_of(directory));
  if (const int error = allow_but(ruleset, directory, path, access, closed)) {
    return std::unexpected{system_error(error, attempted)};
  }
  return {};
}

/// Adds the rules for the files that commands may open.
Result<> allow_files(int ruleset, Isolation level, const fs::Tree& roots, const Paths& closed) {
  if (level == Isolation::protect) {
    const UniqueFd all{::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    return allow_open(ruleset, all, kChangesCgroup | kRefer, closed, "keep commands from cgroups");
  }
  for (const auto& [path, allowed] : kSystem) {
    const UniqueFd directory{::open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)};
    const std::string attempted = "let commands into \"" + std::string{path} + '"';
    if (!directory && is_absent(errno)) continue;
    if (!directory) return std::unexpected{system_error(errno, attempted)};
    SKIFF_TRY_VOID(allow_open(ruleset, directory, allowed, closed, attempted));
  }
  for (const fs::RootDirectory& root : roots.roots()) {
    const bool writable = root.access == fs::Access::read_write;
    SKIFF_TRY_VOID(allow_open(ruleset, root.fd, writable ? kEveryAccess : kRead, closed,
                              "let commands into a root of the session"));
  }
  return {};
}

}  // namespace

std::string_view name(Isolation level) noexcept {
  switch (level) {
    case Isolation::none:
      return "none";
    case Isolation::protect:
      return "protect";
    case Isolation::landlock:
      return "landlock";
  }
  return "none";
}

std::vector<Isolation> offered_isolation() {
  if (kernel_features().landlock_abi < kScopesSince || !kernel_features().call_filter) return {Isolation::none};
  return {Isolation::none, Isolation::protect, Isolation::landlock};
}

Result<> check_offered(Isolation level) {
  const int abi = kernel_features().landlock_abi;
  if (level == Isolation::none) return {};
  if (abi >= kScopesSince && kernel_features().call_filter) return {};
  if (abi >= kScopesSince) {
    return fail(Errc::isolation_unavailable,
                std::string{name(level)} + " needs seccomp filters, which this kernel does not have", "/isolation");
  }
  return fail(Errc::isolation_unavailable,
              std::string{name(level)} +
                  " needs Landlock with scopes (ABI 6), of which this kernel, or the filter in " + "front of it, has " +
                  (abi == 0 ? "nothing" : "only ABI " + std::to_string(abi)),
              "/isolation");
}

Result<std::shared_ptr<const Ruleset>> Ruleset::create(Isolation level, const fs::Tree& roots) {
  if (level == Isolation::none) return nullptr;
  SKIFF_TRY_VOID(check_offered(level));
  const auto closed = writable_cgroup_mounts("/");
  if (!closed) {
    return fail(Errc::isolation_unavailable,
                std::string{name(level)} + " needs /proc, to know the cgroups that commands could change",
                "/isolation");
  }
  RulesetAttributes attributes{.scoped = kScopeSignal};
  if (level == Isolation::landlock) {
    attributes.handled_fs = kEveryAccess;
  } else if (!closed->empty() || ::geteuid() == 0) {
    // Rules for files also forbid mounts: root could mount cgroups again elsewhere.
    attributes.handled_fs = kChangesCgroup | kRefer;
  }
  UniqueFd ruleset{static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0))};
  if (!ruleset) {
    return fail(Errc::isolation_unavailable, "make a Landlock ruleset: " + errno_text(errno), "/isolation");
  }
  if (attributes.handled_fs != 0) {
    SKIFF_TRY_VOID(allow_files(ruleset.get(), level, roots, *closed));
  }
  return std::make_shared<const Ruleset>(std::move(ruleset));
}

}  // namespace skiff::sessions
