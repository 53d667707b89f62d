#include "sessions/process/process_tree.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <ranges>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/kernel_features.hpp"
#include "base/unique_fd.hpp"
#include "sessions/process/numbered_entries.hpp"

namespace skiff::sessions {
namespace {

thread_local bool lacking = false;

/// Call it after an open: notes a lack of descriptors or memory by the current errno.
void note_lack(bool opened) {
  if (!opened && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) lacking = true;
}

template <class Visit>
void visit_numbers(const char* path, Visit visit) {
  note_lack(each_numbered_entry(path, std::move(visit)));
}

/// Descriptors that a scan holds at a time: /proc, the process, and a file of the process.
constexpr std::size_t kDescriptorsOfALook = 3;
thread_local std::array<UniqueFd, kDescriptorsOfALook> kept_back;
thread_local bool keeps_back = false;

void keep_back() {
  if (!keeps_back) return;
  for (UniqueFd& one : kept_back) {
    if (!one) one.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
}

/// While it lives, the thread's reserved descriptors are free for use.
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

/// Reads the first bytes of a /proc file, as many as `buffer` holds. Empty when the file cannot be read.
std::string_view read_start(const std::string& path, std::span<char> buffer) {
  const UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  note_lack(static_cast<bool>(file));
  if (!file) return {};
  const ssize_t size = ::read(file.get(), buffer.data(), buffer.size());
  return {buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

/// Empty for a process that is gone or has ended.
std::optional<ProcessInfo> read_stat(pid_t pid) {
  std::array<char, 1024> buffer;
  const std::string_view text = read_start(proc_path(pid, "stat"), buffer);
  // The name is in parentheses and may contain any byte, so the last ')' ends it.
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close + 2 > text.size()) return std::nullopt;
  std::array<std::string_view, 24> fields{};  // fields 3 and up, proc(5)
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

/// The properties of a process that show its tree.
struct Marks {
  pid_t pid = 0;
  pid_t group = 0;
  pid_t session = 0;
  std::uint64_t mark = 0;
};

/// Empty for a process that is gone, and for the agent itself: another process of its user can give it any lower mark.
std::optional<Marks> marks_of(pid_t pid) {
  if (pid == ::getpid()) return std::nullopt;
  const auto mark = mark_of(pid);
  if (!mark) {
    note_lack(false);
    return std::nullopt;
  }
  return Marks{.pid = pid, .group = ::getpgid(pid), .session = ::getsid(pid), .mark = *mark};
}

/// Whether a process with these marks belongs to the tree. The state of the leader's pid is read last: while the pid is
/// the leader's own, the session and group in `marks` were the leader's. Once it is free, the kernel does not reuse it
/// while a process is in that session or group; so if a process has it, they are empty.
bool is_member(const Tree& tree, const Marks& marks) {
  if (belongs(marks.mark, tree.tag)) return true;
  if (!tree.leader) return false;
  const pid_t leader = tree.leader->pid;
  if (leader == 0 || (marks.pid != leader && marks.session != leader && marks.group != leader)) return false;
  Leader::Number number = tree.leader->number;
  // The reaper is just freeing the pid.
  while (number == Leader::Number::changing) {
    ::sched_yield();
    number = tree.leader->number;
  }
  if (number == Leader::Number::its_own) return true;
  // A process with another command's tag belongs to that command, in case the pid was reused.
  return !is_tag(marks.mark) && ::kill(leader, 0) != 0 && errno == ESRCH;
}

bool is_member(const Tree& tree, pid_t pid) {
  const auto marks = marks_of(pid);
  return marks && is_member(tree, *marks);
}

/// The children of all threads of `pid`, if the kernel lists them (CONFIG_PROC_CHILDREN).
std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> threads;
  const std::string directory = proc_path(pid, "task/");
  visit_numbers(directory.c_str(), [&](pid_t thread) { threads.push_back(thread); });
  std::vector<pid_t> children;
  for (const pid_t thread : threads) {
    const UniqueFd file{::open((directory + std::to_string(thread) + "/children").c_str(), O_RDONLY | O_CLOEXEC)};
    note_lack(static_cast<bool>(file));
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

/// Calls `visit(pid, parent)` for each process of the tree. `parent` is 0 if the process's own marks show that it is a
/// member, else the parent that makes it one. A parent comes after the children that only it makes members. Otherwise
/// the leader comes first: after a wrap of the pids its children have lower ones, and a shell that sees a signal end
/// its child before it gets the signal itself exits as if it had got none.
template <class Visit>
void each_member(const Tree& tree, Visit visit) {
  const Look look;
  const auto visit_with_children = [&](pid_t pid) {
    if (!is_member(tree, pid) || !read_stat(pid)) return;
    std::vector<std::pair<pid_t, pid_t>> below;
    const auto add_children = [&](pid_t parent) {
      for (const pid_t child : children_of(parent)) {
        // Members by their own marks are found in /proc.
        if (!is_member(tree, child) && read_stat(child)) below.emplace_back(child, parent);
      }
    };
    add_children(pid);
    for (std::size_t next = 0; next < below.size(); ++next) add_children(below[next].first);
    for (const auto& [child, parent] : std::views::reverse(below)) visit(child, parent);
    visit(pid, 0);
  };
  const pid_t leader = tree.leader ? tree.leader->pid.load() : 0;
  if (leader > 0) visit_with_children(leader);
  visit_numbers("/proc", [&](pid_t pid) {
    if (pid != leader) visit_with_children(pid);
  });
}

bool signal_member(const Tree& tree, pid_t pid, pid_t parent, int signal, Among among) {
  const auto still_is = [&] {
    if (among == Among::leaders_group && (!tree.leader || ::getpgid(pid) != tree.leader->pid)) return false;
    if (parent == 0) return is_member(tree, pid);
    const auto info = read_stat(pid);
    return info && info->parent == parent;
  };
  if (!kernel_features().pidfd) return still_is() && ::kill(pid, signal) == 0;
  const UniqueFd process{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
  note_lack(static_cast<bool>(process));
  if (!process) return false;
  // If the pid was reused before this check, the descriptor refers to a process that is gone, and the signal goes
  // nowhere.
  return still_is() && ::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0) == 0;
}

}  // namespace

bool leads_to_pipe_or_device(const std::string& link) {
  std::array<char, 16> text;
  const ssize_t size = ::readlink(link.c_str(), text.data(), text.size());
  const std::string_view target{text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  return target.starts_with("pipe:[") || target.starts_with("socket:[") || target.starts_with("/dev/");
}

bool lacked_descriptors() {
  return std::exchange(lacking, false);
}

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
  auto found = processes_of_each({tree});
  read_command_lines(found.front());
  return std::move(found.front());
}

std::vector<std::vector<ProcessInfo>> processes_of_each(const std::vector<Tree>& trees) {
  const Look look;
  std::vector<std::vector<ProcessInfo>> found(trees.size());
  std::unordered_map<pid_t, std::size_t> tree_of;
  std::vector<ProcessInfo> others;
  visit_numbers("/proc", [&](pid_t pid) {
    const auto marks = marks_of(pid);
    if (!marks) return;
    auto info = read_stat(pid);
    if (!info) return;
    const auto tree = std::ranges::find_if(trees, [&](const Tree& one) { return is_member(one, *marks); });
    if (tree == trees.end()) {
      others.push_back(std::move(*info));
      return;
    }
    const auto index = static_cast<std::size_t>(tree - trees.begin());
    tree_of.emplace(pid, index);
    found[index].push_back(std::move(*info));
  });
  // Add the processes that are members only through their parents, generation by generation.
  for (bool more = !found.empty(); more;) {
    more = false;
    std::erase_if(others, [&](ProcessInfo& one) {
      const auto parent = tree_of.find(one.parent);
      if (parent == tree_of.end()) return false;
      tree_of.emplace(one.pid, parent->second);
      found[parent->second].push_back(std::move(one));
      return more = true;
    });
  }
  return found;
}

void read_command_lines(std::vector<ProcessInfo>& processes) {
  for (ProcessInfo& one : processes) one.command_line = read_command_line(one.pid);
}

std::size_t signal_tree(const Tree& tree, int signal, Among among) {
  // Send during the pass, not after it: a tree that forks fast must not gain the time of a whole pass.
  std::size_t count = 0;
  each_member(tree, [&](pid_t pid, pid_t parent) {
    if (signal_member(tree, pid, parent, signal, among)) ++count;
  });
  return count;
}

}  // namespace skiff::sessions
