#include "sessions/process/pipe_holders.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/scope_counter.hpp"
#include "sessions/process/numbered_entries.hpp"

namespace skiff::sessions {
namespace {

/// Most descriptors of a command's own processes that one call looks at.
constexpr std::size_t kMostOwn = 65'536;
/// Most descriptors of all other processes that one call looks at: some ten milliseconds.
constexpr std::size_t kMostOthers = 16'384;

/// Whether the descriptor of `link` is open for writing to one of these pipes. The link's target names the pipe, and
/// its mode shows how the descriptor is open.
bool writes_to(const std::string& link, const std::vector<ino_t>& inodes) {
  constexpr std::string_view kBefore = "pipe:[";
  std::array<char, 32> text;
  const ssize_t size = ::readlink(link.c_str(), text.data(), text.size());
  std::string_view target{text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  if (!target.starts_with(kBefore) || !target.ends_with(']')) return false;
  target.remove_prefix(kBefore.size());
  target.remove_suffix(1);
  const auto inode = number_of<ino_t>(target);
  if (!inode || std::ranges::find(inodes, *inode) == inodes.end()) return false;
  struct stat info{};
  return ::lstat(link.c_str(), &info) == 0 && (info.st_mode & S_IWUSR) != 0;
}

enum class Holds : unsigned char { no, yes, unknown };

/// `left` is the number of descriptors that may still be looked at.
Holds holds(pid_t pid, const std::vector<ino_t>& inodes, std::size_t& left) {
  const std::string directory = "/proc/" + std::to_string(pid) + "/fd/";
  if (left == 0) return Holds::unknown;
  Holds answer = Holds::no;
  const bool looked = each_numbered_entry(directory.c_str(), [&](int fd) {
    if (left == 0) {
      answer = Holds::unknown;
    } else if (--left; writes_to(directory + std::to_string(fd), inodes)) {
      answer = Holds::yes;
    }
    return answer == Holds::no;
  });
  // The agent has no descriptor left to look with.
  if (!looked && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) return Holds::unknown;
  return answer;
}

}  // namespace

std::vector<pid_t> holders_of(const Tree& tree, const std::vector<ino_t>& inodes) {
  std::vector<pid_t> found = pids_of(tree);
  std::size_t left = kMostOwn;
  std::erase_if(found, [&](pid_t pid) { return holds(pid, inodes, left) == Holds::no; });
  return found;
}

std::vector<pid_t> other_holders_of(const std::vector<ino_t>& inodes, const std::vector<pid_t>& known) {
  std::vector<pid_t> found;
  each_numbered_entry("/proc", [&found](pid_t pid) { found.push_back(pid); });
  std::ranges::sort(found, std::greater{});
  std::size_t left = kMostOthers;
  std::erase_if(found, [&](pid_t pid) {
    if (pid == ::getpid() || std::ranges::find(known, pid) != known.end()) return true;
    return holds(pid, inodes, left) != Holds::yes;
  });
  return found;
}

Task<std::vector<pid_t>> HolderLooks::others(std::vector<ino_t> inodes, std::vector<pid_t> known) {
  if (looks_ == kMost) co_return std::vector<pid_t>{};
  const ScopeCounter looking{looks_};
  auto look = [&] { return other_holders_of(inodes, known); };
  co_return co_await thread_.run(std::move(look));
}

}  // namespace skiff::sessions
