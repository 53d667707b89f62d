#include "sessions/input/stdin_probe.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.hpp"
#include "sessions/process/process_tree.hpp"

namespace skiff::sessions {
namespace {

/// The system call that a process is blocked in.
struct Blocked {
  long number = -1;
  std::array<std::uint64_t, 6> arguments{};
};

/// Parses /proc/PID/syscall: "0 0x0 0x7ffd... ...", or "running". The file shows the first thread only, which is the
/// one that reads in shells and in nearly all interactive programs.
std::optional<Blocked> blocked_in(pid_t pid) {
  const UniqueFd file{::open(("/proc/" + std::to_string(pid) + "/syscall").c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file) return std::nullopt;
  std::array<char, 256> buffer;
  const ssize_t size = ::read(file.get(), buffer.data(), buffer.size());
  if (size <= 0) return std::nullopt;
  const char* at = buffer.data();
  const char* const end = at + size;
  Blocked blocked;
  auto parsed = std::from_chars(at, end, blocked.number);
  if (parsed.ec != std::errc{} || blocked.number < 0) return std::nullopt;
  for (std::uint64_t& argument : blocked.arguments) {
    at = parsed.ptr;
    if (end - at < 4) return std::nullopt;
    parsed = std::from_chars(at + 3, end, argument, 16);  // " 0x"
    if (parsed.ec != std::errc{}) return std::nullopt;
  }
  return blocked;
}

/// The descriptor whose input the process waits for, if it waits for this one only.
std::optional<int> awaited_descriptor(pid_t pid, const Blocked& blocked) {
  const auto& arguments = blocked.arguments;
  switch (blocked.number) {
    case SYS_read:
    case SYS_readv:
      return static_cast<int>(arguments[0]);
#ifdef SYS_select
    case SYS_select:
#endif
    case SYS_pselect6:
      // nfds is 1: the set contains stdin or nothing.
      if (arguments[0] == 1 && arguments[1] != 0) return 0;
      return std::nullopt;
#ifdef SYS_poll
    case SYS_poll:
#endif
    case SYS_ppoll: {
      if (arguments[1] != 1) return std::nullopt;
      pollfd one{};
      const iovec here{&one, sizeof one};
      const iovec there{reinterpret_cast<void*>(arguments[0]), sizeof one};
      if (::process_vm_readv(pid, &here, 1, &there, 1, 0) != sizeof one || (one.events & POLLIN) == 0)
        return std::nullopt;
      return one.fd;
    }
    default:
      return std::nullopt;
  }
}

bool is_input(pid_t pid, int fd, ino_t inode) {
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd);
  struct stat info{};
  if (!leads_to_pipe_or_device(path) || ::stat(path.c_str(), &info) != 0) return false;
  if (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode)) return info.st_ino == inode;
  if (!S_ISCHR(info.st_mode)) return false;
  // A password prompt opens /dev/tty (5, 0), which for a command with a terminal is that terminal. Other terminals have
  // one of the majors of devpts. The inode number of another device may be equal by chance.
  if (info.st_rdev == makedev(5, 0)) return true;
  return major(info.st_rdev) >= 136 && major(info.st_rdev) <= 143 && info.st_ino == inode;
}

}  // namespace

bool waits_for_input(const Tree& tree, ino_t inode) {
  return std::ranges::any_of(pids_of(tree), [inode](pid_t pid) {
    const auto blocked = blocked_in(pid);
    if (!blocked) return false;
    const auto fd = awaited_descriptor(pid, *blocked);
    return fd && is_input(pid, *fd, inode);
  });
}

}  // namespace skiff::sessions
