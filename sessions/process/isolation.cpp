#include "sessions/process/isolation.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "base/kernel_features.hpp"

namespace skiff::sessions {
namespace {

// As landlock(7) has them; written out, because the headers of Debian 12 are older than scopes.
constexpr std::uint64_t kExecute = 1U << 0U, kWriteFile = 1U << 1U, kReadFile = 1U << 2U, kReadDirectory = 1U << 3U,
                        kIoctlDevice = 1U << 15U;
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

constexpr std::uint64_t kRead = kExecute | kReadFile | kReadDirectory;

struct SystemDirectory {
  const char* path;
  std::uint64_t allowed;
};
/// Those that an image does not have are left out. Devices are written to (/dev/null, terminals), not made.
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

/// 0 or errno.
int allow(int ruleset, const UniqueFd& directory, std::uint64_t access) {
  const PathRule rule{.allowed = access, .directory = directory.get()};
  return ::syscall(SYS_landlock_add_rule, ruleset, kPathBeneath, &rule, 0) == 0 ? 0 : errno;
}

int allow_system(int ruleset, const char* path, std::uint64_t access) {
  const UniqueFd directory{::open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)};
  return directory ? allow(ruleset, directory, access) : errno;
}

bool is_absent(int error) {
  return error == ENOENT || error == ENOTDIR;
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
  RulesetAttributes attributes{.scoped = kScopeSignal};
  if (level == Isolation::landlock) attributes.handled_fs = kEveryAccess;
  UniqueFd ruleset{static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0))};
  if (!ruleset) {
    return fail(Errc::isolation_unavailable, "make a Landlock ruleset: " + errno_text(errno), "/isolation");
  }
  if (level == Isolation::landlock) {
    for (const auto& [path, allowed] : kSystem) {
      if (const int error = allow_system(ruleset.get(), path, allowed); error != 0 && !is_absent(error)) {
        return std::unexpected{system_error(error, "let commands into \"" + std::string{path} + '"')};
      }
    }
    for (const fs::RootDirectory& root : roots.roots()) {
      const bool writable = root.access == fs::Access::read_write;
      if (const int error = allow(ruleset.get(), root.fd, writable ? kEveryAccess : kRead)) {
        return std::unexpected{system_error(error, "let commands into a root of the session")};
      }
    }
  }
  return std::make_shared<const Ruleset>(std::move(ruleset));
}

}  // namespace skiff::sessions
