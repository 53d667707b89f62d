#include "runtime/process/self_defence.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <openssl/crypto.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace skiff::runtime {
namespace {

std::unexpected<Error> failed(std::string_view attempted) {
  return std::unexpected{system_error(errno, attempted)};
}

/// Opens missing standard descriptors: the next file or socket would get the number, and log lines would go there.
Result<> open_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // open(2) returns this number, the lowest free one: those below are open by now.
    if (::open("/dev/null", O_RDWR | O_NOCTTY) < 0)
      return failed("open \"/dev/null\"");  // NOLINT: inherited on purpose
  }
  return {};
}

Result<> close_inherited_on_exec() {
  constexpr unsigned kFirst = STDERR_FILENO + 1;
  if (::syscall(SYS_close_range, kFirst, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return {};
  // The call is absent (ENOSYS), filtered (EPERM), or too old for the flag (EINVAL).
  const std::unique_ptr<DIR, int (*)(DIR*)> directory{::opendir("/proc/self/fd"), &::closedir};
  if (!directory) return failed("open \"/proc/self/fd\"");
  while (const dirent* entry = ::readdir(directory.get())) {
    char* end = nullptr;
    const long fd = std::strtol(entry->d_name, &end, 10);
    if (end == entry->d_name || *end != '\0' || fd < static_cast<long>(kFirst)) continue;
    ::fcntl(static_cast<int>(fd), F_SETFD, FD_CLOEXEC);
  }
  return {};
}

Result<rlimit> raise_open_files() {
  rlimit before{};
  if (::getrlimit(RLIMIT_NOFILE, &before) != 0) return failed("getrlimit(RLIMIT_NOFILE)");
  rlimit raised = before;
  raised.rlim_cur = raised.rlim_max;
  // Not fatal: with fewer descriptors the agent refuses connections sooner.
  ::setrlimit(RLIMIT_NOFILE, &raised);
  return before;
}

}  // namespace

Result<InheritedLimits> defend_process() {
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return failed("prctl(PR_SET_DUMPABLE)");
  if (auto opened = open_standard_descriptors(); !opened) return std::unexpected{opened.error()};
  if (auto closed = close_inherited_on_exec(); !closed) return std::unexpected{closed.error()};
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGXCPU}) {
    if (std::signal(signal, SIG_IGN) == SIG_ERR) return failed("ignore a signal");
  }
  const auto open_files = raise_open_files();
  if (!open_files) return std::unexpected{open_files.error()};
  return InheritedLimits{.open_files = *open_files};
}

void wipe_environment(const char* variable) {
  if (char* value = std::getenv(variable); value != nullptr) OPENSSL_cleanse(value, std::strlen(value));
  ::unsetenv(variable);
}

}  // namespace skiff::runtime
