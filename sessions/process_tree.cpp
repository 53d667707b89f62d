#include "sessions/process_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/kernel_features.hpp"
#include "base/unique_fd.hpp"

namespace skiff::sessions {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { ::closedir(folder); }
};

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc{} || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Calls `visit` with every name in the folder that is a number.
template <class Visit>
void each_number(const char* path, Visit visit) {
  const std::unique_ptr<DIR, CloseFolder> folder{::opendir(path)};
  if (!folder) return;
  while (const dirent* entry = ::readdir(folder.get())) {
    if (const auto number = number_of<int>(entry->d_name)) visit(*number);
  }
}

std::string proc_path(pid_t pid, std::string_view name) {
  return "/proc/" + std::to_string(pid) + "/" + std::string{name};
}

/// The first bytes of a /proc file: enough for those read here. Empty when it can't be read.
std::string_view read_start(const std::string& path, std::span<char> buffer) {
  const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file) return {};
  const ssize_t size = ::read(file.get(), buffer.data(), buffer.size());
  return {buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

/// Nothing for a process that is gone or has ended.
std::optional<ProcessInfo> read_stat(pid_t pid) {
  std::array<char, 1024> buffer;
  const std::string_view text = read_start(proc_path(pid, "stat"), buffer);
  // The name is in parentheses and may hold any byte, so the last one counts.
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close + 2 > text.size()) return std::nullopt;
  std::array<std::string_view, 24> fields{};  // from the third one on, proc(5)
  std::string_view rest = text.substr(close + 2);
  for (std::string_view& field : fields) {
    field = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(field.size() + 1, rest.size()));
  }
  const auto field = [&fields](std::size_t number) { return fields[number - 3]; };

  ProcessInfo info;
  info.pid = pid;
  info.name = text.substr(open + 1, close - open - 1);
  info.state = field(3).empty() ? '?' : field(3).front();
  // A first thread that ended before the others looks like a zombie, but the process lives.
  const int threads = number_of<int>(field(20)).value_or(0);
  if ((info.state == 'Z' && threads <= 1) || info.state == 'X') return std::nullopt;
  info.parent = number_of<pid_t>(field(4)).value_or(0);
  info.group = number_of<pid_t>(field(5)).value_or(0);
  info.session = number_of<pid_t>(field(6)).value_or(0);
  info.start_ticks = number_of<std::uint64_t>(field(22)).value_or(0);
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  info.rss_bytes = number_of<std::uint64_t>(field(24)).value_or(0) * page;
  return info;
}

std::string read_command_line(pid_t pid) {
  std::array<char, 4096> buffer;
  std::string line{read_start(proc_path(pid, "cmdline"), buffer)};
  while (line.ends_with('\0')) line.pop_back();
  std::ranges::replace(line, '\0', ' ');
  return line;
}

bool holds(pid_t pid, const std::vector<ino_t>& inodes) {
  const std::string folder = proc_path(pid, "fd/");
  bool found = false;
  each_number(folder.c_str(), [&](int fd) {
    struct stat info{};
    if (found || ::stat((folder + std::to_string(fd)).c_str(), &info) != 0) return;
    // Inode numbers are only unique within a file system: those of terminals (devpts, majors 136 to 143) are small, so
    // that the devices in /dev have the same.
    const bool terminal = S_ISCHR(info.st_mode) && major(info.st_rdev) >= 136 && major(info.st_rdev) <= 143;
    if (!terminal && !S_ISFIFO(info.st_mode) && !S_ISSOCK(info.st_mode)) return;
    found = std::ranges::find(inodes, info.st_ino) != inodes.end();
  });
  return found;
}

}  // namespace

std::vector<pid_t> pids_with(Tag tag) {
  std::vector<pid_t> found;
  each_number("/proc", [&](pid_t pid) {
    if (const auto mark = mark_of(pid); mark && belongs(*mark, tag) && read_stat(pid)) found.push_back(pid);
  });
  return found;
}

std::vector<ProcessInfo> processes_with(Tag tag) {
  std::vector<ProcessInfo> found;
  for (const pid_t pid : pids_with(tag)) {
    auto info = read_stat(pid);
    if (!info) continue;
    info->command_line = read_command_line(pid);
    found.push_back(std::move(*info));
  }
  return found;
}

std::vector<pid_t> holders_of(Tag tag, const std::vector<ino_t>& inodes) {
  std::vector<pid_t> found = pids_with(tag);
  std::erase_if(found, [&](pid_t pid) { return !holds(pid, inodes); });
  return found;
}

bool signal_one(Tag tag, pid_t pid, int signal) {
  if (!kernel_features().pidfd) {
    const auto mark = mark_of(pid);
    return mark && belongs(*mark, tag) && ::kill(pid, signal) == 0;
  }
  const UniqueFd process{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
  if (!process) return false;
  // If the pid changed hands before this look, the descriptor means one that is gone and the signal goes nowhere.
  const auto mark = mark_of(pid);
  return mark && belongs(*mark, tag) && ::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0) == 0;
}

std::size_t signal_tree(Tag tag, int signal) {
  // In the pass, not after it: a tree that forks fast must not be given the time of a whole list.
  std::size_t count = 0;
  each_number("/proc", [&](pid_t pid) {
    if (const auto mark = mark_of(pid); !mark || !belongs(*mark, tag) || !read_stat(pid)) return;
    if (signal_one(tag, pid, signal)) ++count;
  });
  return count;
}

}  // namespace skiff::sessions
