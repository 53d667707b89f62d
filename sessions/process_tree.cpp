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
#include <ranges>
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

/// Of a look at processes: /proc, the process, and a file of its own.
constexpr std::size_t kDescriptorsOfALook = 3;
std::array<UniqueFd, kDescriptorsOfALook> kept_back;
bool keeps_back = false;

void keep_back() {
  if (!keeps_back) return;
  for (UniqueFd& one : kept_back) {
    if (!one) one.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
}

/// As long as it lives, what was kept back can be used.
class Look {
 public:
  Look() { give_up(); }
  ~Look() { keep_back(); }
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;
  static void give_up() {
    for (UniqueFd& one : kept_back) one.reset();
  }
};

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

/// Whether the leader's pid still stands for it, its session and its group. While it isn't reaped, it does. Then the
/// kernel gives the number to nobody as long as a process is in that session or group; so if a process has it, they are
/// empty.
bool number_is_the_leaders(const Leader& leader) {
  return !leader.reaped || (::kill(leader.pid, 0) != 0 && errno == ESRCH);
}

/// Whether `pid` itself shows that it belongs to the tree.
bool is_member(const Tree& tree, pid_t pid) {
  if (pid == ::getpid()) return false;  // another process of its user can give it any lower mark
  const auto mark = mark_of(pid);
  if (!mark) return false;
  if (belongs(*mark, tree.tag)) return true;
  if (!tree.leader || tree.leader->pid == 0) return false;
  const pid_t leader = tree.leader->pid;
  if (pid != leader && ::getsid(pid) != leader && ::getpgid(pid) != leader) return false;
  if (!number_is_the_leaders(*tree.leader)) return false;
  // What carries a tag that is another command's is that one's, should the number have come round.
  return !tree.leader->reaped || !is_tag(*mark);
}

/// The children of all threads of `pid`, of a kernel that tells them (CONFIG_PROC_CHILDREN).
std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> threads;
  const std::string folder = proc_path(pid, "task/");
  each_number(folder.c_str(), [&](pid_t thread) { threads.push_back(thread); });
  std::vector<pid_t> children;
  for (const pid_t thread : threads) {
    const UniqueFd file{::open((folder + std::to_string(thread) + "/children").c_str(), O_RDONLY | O_CLOEXEC)};
    if (!file) continue;
    std::array<char, 4096> buffer;
    std::string text;
    for (ssize_t size = 0; (size = ::read(file.get(), buffer.data(), buffer.size())) > 0;) {
      text.append(buffer.data(), static_cast<std::size_t>(size));
    }
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view word = rest.substr(0, rest.find(' '));
      if (const auto child = number_of<pid_t>(word)) children.push_back(*child);
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    }
  }
  return children;
}

/// Calls `visit(pid, parent)` for each process of the tree: `parent` is 0 where the process shows by itself that it is
/// one, else that of its parents which is. Parents come after their children, which are known by them alone.
template <class Visit>
void each_member(const Tree& tree, Visit visit) {
  const Look look;
  each_number("/proc", [&](pid_t pid) {
    if (!is_member(tree, pid) || !read_stat(pid)) return;
    std::vector<std::pair<pid_t, pid_t>> below;
    const auto add_children = [&](pid_t parent) {
      for (const pid_t child : children_of(parent)) {
        // The others are found by what they show.
        if (!is_member(tree, child) && read_stat(child)) below.emplace_back(child, parent);
      }
    };
    add_children(pid);
    for (std::size_t next = 0; next < below.size(); ++next) add_children(below[next].first);
    for (const auto& [child, parent] : std::views::reverse(below)) visit(child, parent);
    visit(pid, 0);
  });
}

bool signal_member(const Tree& tree, pid_t pid, pid_t parent, int signal) {
  const auto still_is = [&] {
    if (parent == 0) return is_member(tree, pid);
    const auto info = read_stat(pid);
    return info && info->parent == parent;
  };
  if (!kernel_features().pidfd) return still_is() && ::kill(pid, signal) == 0;
  const UniqueFd process{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
  if (!process) return false;
  // If the pid changed hands before this look, the descriptor means one that is gone and the signal goes nowhere.
  return still_is() && ::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0) == 0;
}

}  // namespace

LastDescriptors::LastDescriptors() {
  keeps_back = true;
  keep_back();
}

LastDescriptors::~LastDescriptors() {
  keeps_back = false;
  Look::give_up();
}

std::vector<pid_t> pids_of(const Tree& tree) {
  std::vector<pid_t> found;
  each_member(tree, [&](pid_t pid, pid_t /*parent*/) { found.push_back(pid); });
  return found;
}

std::vector<ProcessInfo> processes_of(const Tree& tree) {
  std::vector<ProcessInfo> found;
  for (const pid_t pid : pids_of(tree)) {
    auto info = read_stat(pid);
    if (!info) continue;
    info->command_line = read_command_line(pid);
    found.push_back(std::move(*info));
  }
  return found;
}

std::vector<pid_t> holders_of(const Tree& tree, const std::vector<ino_t>& inodes) {
  std::vector<pid_t> found = pids_of(tree);
  std::erase_if(found, [&](pid_t pid) { return !holds(pid, inodes); });
  return found;
}

std::size_t signal_tree(const Tree& tree, int signal) {
  // In the pass, not after it: a tree that forks fast must not be given the time of a whole list.
  std::size_t count = 0;
  each_member(tree, [&](pid_t pid, pid_t parent) {
    if (signal_member(tree, pid, parent, signal)) ++count;
  });
  return count;
}

}  // namespace skiff::sessions
