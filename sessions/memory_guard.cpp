#include "sessions/memory_guard.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/post.hpp>

#include "sessions/process_tree.hpp"

namespace skiff::sessions {
namespace asio = boost::asio;

namespace {

/// About twice what two cores can take from the kernel by touching fresh pages.
constexpr double kFastestGrowth = 4.0 * 1024 * 1024 * 1024;  // bytes a second
/// What version 1 shows for "no limit" is the largest multiple of a page.
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60U;

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in{line};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

bool lists(std::string_view comma_list, std::string_view wanted) {
  while (!comma_list.empty()) {
    const std::string_view one = comma_list.substr(0, comma_list.find(','));
    if (one == wanted) return true;
    comma_list.remove_prefix(std::min(one.size() + 1, comma_list.size()));
  }
  return false;
}

struct Mount {
  std::string root;  ///< the part of the hierarchy that is mounted
  std::string point;
};

/// The mount of cgroup version 2, or of version 1's memory controller (proc_pid_mountinfo(5)).
std::optional<Mount> find_mount(const std::filesystem::path& root, bool version2) {
  std::ifstream in{root / "proc/self/mountinfo"};
  for (std::string line; std::getline(in, line);) {
    const auto words = words_of(line);
    const auto dash = std::ranges::find(words, "-");
    if (words.size() < 6 || words.end() - dash < 4) continue;
    if (version2 ? dash[1] == "cgroup2" : dash[1] == "cgroup" && lists(dash[3], "memory"))
      return Mount{words[3], words[4]};
  }
  return std::nullopt;
}

/// The path of this process in that hierarchy (cgroups(7)).
std::optional<std::string> find_group(const std::filesystem::path& root, bool version2) {
  std::ifstream in{root / "proc/self/cgroup"};
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers = std::string_view{line}.substr(first + 1, second - first - 1);
    if (version2 ? line.starts_with("0::") : lists(controllers, "memory")) return line.substr(second + 1);
  }
  return std::nullopt;
}

/// A number in a file; nothing for "max", for what version 1 means by it, and when the file can't be read.
std::optional<std::uint64_t> read_number(const std::filesystem::path& file) {
  std::ifstream in{file};
  std::uint64_t value = 0;
  if (!(in >> value) || value >= kNoLimit) return std::nullopt;
  return value;
}

std::uint64_t read_stat(const std::filesystem::path& file, std::string_view key) {
  std::ifstream in{file};
  std::string name;
  for (std::uint64_t value = 0; in >> name >> value;) {
    if (name == key) return value;
  }
  return 0;
}

/// Strips the leading slashes, so that it can go below another folder.
std::string_view relative(std::string_view path) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  return path;
}

}  // namespace

MemoryGauge::MemoryGauge(const std::filesystem::path& root) {
  for (const bool version2 : {false, true}) {
    const auto mount = find_mount(root, version2);
    const auto group = find_group(root, version2);
    if (!mount || !group) continue;
    // Without a cgroup namespace the group's path starts with what is mounted here; with one, both start at "/".
    std::string_view below = *group;
    const bool inside =
        mount->root == "/" ||
        (below.starts_with(mount->root) && (below.size() == mount->root.size() || below[mount->root.size()] == '/'));
    if (mount->root != "/") below = inside ? below.substr(mount->root.size()) : std::string_view{};
    const auto mounted = root / relative(mount->point);
    auto folder = mounted / relative(below);
    std::error_code ignored;
    if (!std::filesystem::is_directory(folder, ignored)) folder = mounted;
    const char* const usage = version2 ? "memory.current" : "memory.usage_in_bytes";
    // The root group of version 2 has no such file, nor has a group whose controller is on version 1.
    if (!std::filesystem::exists(folder / usage, ignored)) continue;
    version2_ = version2;
    group_ = folder.lexically_normal();
    mount_ = mounted.lexically_normal();
    return;
  }
}

std::optional<MemoryUse> MemoryGauge::read() const {
  if (group_.empty()) return std::nullopt;
  std::optional<MemoryUse> worst;
  const auto same = [](const std::filesystem::path& a, const std::filesystem::path& b) {
    return (a / "").lexically_normal() == (b / "").lexically_normal();
  };
  for (auto folder = group_;; folder = folder.parent_path()) {
    const auto usage = read_number(folder / (version2_ ? "memory.current" : "memory.usage_in_bytes"));
    if (usage) {
      const std::uint64_t cache =
          read_stat(folder / "memory.stat", version2_ ? "inactive_file" : "total_inactive_file");
      const MemoryUse use{
          .used = *usage - std::min(cache, *usage),
          .limit = read_number(folder / (version2_ ? "memory.max" : "memory.limit_in_bytes")).value_or(0)};
      if (!worst || use.share() > worst->share()) worst = use;
    }
    if (same(folder, mount_) || !folder.has_relative_path()) return worst;
  }
}

struct MemoryGuard::State : std::enable_shared_from_this<MemoryGuard::State> {
  State(Executor executor, MemoryGauge source, Options how, std::function<void(MemoryUse)> call)
      : gauge{std::move(source)}, options{how}, reached{std::move(call)}, timer{executor} {}

  MemoryGauge gauge;
  Options options;
  std::function<void(MemoryUse)> reached;
  asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, Executor> timer;
  unsigned run = 0;  ///< odd while started; a look that was planned by an earlier run does nothing

  void look_after(std::chrono::milliseconds time) {
    timer.expires_after(time);
    timer.async_wait([self = shared_from_this(), planned = run](const boost::system::error_code& error) {
      if (!error && self->run == planned) self->look();
    });
  }

  void look() {
    const unsigned started = run;
    const auto use = gauge.read();
    if (!use || use->limit == 0) {
      ++run;
      return;
    }
    if (use->share() * 100 >= options.percent) reached(*use);
    if (run == started) look_after(period(*use, options));
  }
};

MemoryGuard::MemoryGuard(Executor executor, MemoryGauge gauge, Options options, std::function<void(MemoryUse)> reached)
    : state_{std::make_shared<State>(executor, std::move(gauge), options, std::move(reached))} {}

MemoryGuard::~MemoryGuard() {
  stop();
}

void MemoryGuard::start() {
  if (state_->run % 2 == 1) return;
  ++state_->run;
  state_->look_after(std::chrono::milliseconds{0});
}

void MemoryGuard::stop() {
  if (state_->run % 2 == 0) return;
  ++state_->run;
  state_->timer.cancel();
}

std::chrono::milliseconds MemoryGuard::period(MemoryUse use, const Options& options) noexcept {
  const double bound = static_cast<double>(use.limit) * options.percent / 100;
  const double left = std::max(bound - static_cast<double>(use.used), 0.0);
  const std::chrono::duration<double> time{left / kFastestGrowth};
  return std::clamp(
      std::chrono::duration_cast<std::chrono::milliseconds>(std::min(time, std::chrono::duration<double>{3600})),
      options.fastest, options.slowest);
}

std::uint64_t memory_of(Tag tag) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t sum = 0;
  for (const pid_t pid : pids_with(tag)) {
    std::ifstream in{"/proc/" + std::to_string(pid) + "/statm"};
    std::uint64_t size = 0;
    std::uint64_t resident = 0;
    if (in >> size >> resident) sum += resident * page;
  }
  return sum;
}

}  // namespace skiff::sessions
