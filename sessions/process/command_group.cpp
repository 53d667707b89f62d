#include "sessions/process/command_group.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>

#include "sessions/process/cgroup_directory.hpp"

namespace skiff::sessions {
namespace {

struct Controller {
  std::string_view name;
  std::string_view limit;  ///< the field of a request that needs it
};
constexpr std::array kControllers{Controller{"memory", "memory_bytes"}, Controller{"pids", "pids"},
                                  Controller{"cpu", "cpu_millis"}};
/// Period of cpu.max, in microseconds.
constexpr std::uint64_t kCpuPeriod = 100'000;

/// Returns 0 or an errno. Control files exist already; O_CREAT is for the plain directories of tests.
int write_file(const std::filesystem::path& file, std::string_view text) {
  const UniqueFd opened{::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644)};
  if (!opened) return errno;
  return ::write(opened.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : errno;
}

std::vector<std::string> words_in(const std::filesystem::path& file) {
  std::ifstream in{file};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::vector<std::pair<std::string_view, bool>> wanted_by(const ResourceLimits& limits) {
  return {{"memory_bytes", limits.memory_bytes.has_value()},
          {"pids", limits.pids.has_value()},
          {"cpu_millis", limits.cpu_millis.has_value()}};
}

}  // namespace

CommandGroup::~CommandGroup() {
  processes_.reset();
  // EBUSY while a process is still ending: the empty directory stays then, which costs almost nothing.
  ::rmdir(directory_.c_str());
}

bool CommandGroup::kill() const {
  const auto file = directory_ / "cgroup.kill";
  std::error_code ignored;
  return std::filesystem::exists(file, ignored) && write_file(file, "1") == 0;
}

std::optional<std::uint64_t> CommandGroup::peak_bytes() const {
  return read_cgroup_number(directory_ / "memory.peak");
}

bool CommandGroup::out_of_memory() const {
  return read_cgroup_entry(directory_ / "memory.events", "oom_kill").value_or(0) > 0;
}

CgroupHome::CgroupHome(std::string_view wanted, const std::filesystem::path& root) {
  if (wanted == "none") return;
  if (wanted != "auto") {
    offer(wanted);
    return;
  }
  const auto own = find_cgroup(root, {"", "", "cgroup.controllers"});
  if (!own || !own->version2 || ::access(own->group.c_str(), W_OK) != 0) return;
  const auto controllers = words_in(own->group / "cgroup.controllers");
  const bool useful = std::ranges::any_of(kControllers, [&](const Controller& one) {
    return std::ranges::find(controllers, one.name) != controllers.end();
  });
  if (!useful || words_in(own->group / "cgroup.procs") != std::vector{std::to_string(::getpid())}) return;
  // A group that has processes cannot give controllers to the groups below it (cgroups(7)).
  const auto leaf = own->group / "skiffd";
  if (::mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST) return;
  if (write_file(leaf / "cgroup.procs", "0") == 0) offer(own->group);
}

void CgroupHome::offer(const std::filesystem::path& directory) {
  const auto there = words_in(directory / "cgroup.controllers");
  if (there.empty() && ::access((directory / "cgroup.controllers").c_str(), R_OK) != 0) {
    refused_ = system_error(errno, "read \"" + (directory / "cgroup.controllers").string() + '"').message;
  }
  for (const Controller& one : kControllers) {
    if (std::ranges::find(there, one.name) == there.end()) continue;
    const auto control = directory / "cgroup.subtree_control";
    if (const int error = write_file(control, '+' + std::string{one.name})) {
      refused_ = system_error(error, "write to \"" + control.string() + '"').message;
      continue;
    }
    offered_.push_back(one.limit);
  }
  directory_ = directory;
}

Result<> CgroupHome::check(const ResourceLimits& limits) const {
  for (const auto& [limit, wanted] : wanted_by(limits)) {
    if (!wanted || std::ranges::find(offered_, limit) != offered_.end()) continue;
    return fail(Errc::limit_unavailable,
                std::string{limit} + " needs a cgroup v2 that the agent may write to, with that controller (--cgroup)" +
                    (refused_.empty() ? "" : ": " + refused_),
                "/limits/" + std::string{limit});
  }
  return {};
}

bool CgroupHome::is_for(const ResourceLimits& limits) {
  return std::ranges::any_of(wanted_by(limits), [](const auto& one) { return one.second; });
}

std::expected<std::unique_ptr<CommandGroup>, SpawnFailure> CgroupHome::make(Tag tag,
                                                                            const ResourceLimits& limits) const {
  if (!is_for(limits)) return nullptr;
  if (auto possible = check(limits); !possible) {
    return std::unexpected{SpawnFailure{"cgroup", ENOTSUP, std::move(possible.error().message)}};
  }
  // Name the directory by the tag, which is unique: clients may use the same id in many sessions.
  const auto directory = directory_ / ("skiff-" + std::to_string(tag));
  const auto failure = [](int error, const std::filesystem::path& what) {
    return std::unexpected{
        SpawnFailure{"cgroup", error, system_error(error, "bound the command by \"" + what.string() + '"').message}};
  };
  if (::mkdir(directory.c_str(), 0755) != 0) return failure(errno, directory);
  const auto failed = [&](int error, const std::filesystem::path& what) {
    ::rmdir(directory.c_str());
    return failure(error, what);
  };
  std::vector<std::pair<std::string_view, std::string>> files;
  if (limits.memory_bytes) {
    files.emplace_back("memory.max", std::to_string(*limits.memory_bytes));
    // Let the kernel end the whole group: with a single victim the others could wait for it for ever.
    files.emplace_back("memory.oom.group", "1");
  }
  if (limits.pids) files.emplace_back("pids.max", std::to_string(*limits.pids));
  if (limits.cpu_millis) {
    const std::uint64_t share = std::max<std::uint64_t>(*limits.cpu_millis * kCpuPeriod / 1000, 1000);
    files.emplace_back("cpu.max", std::to_string(share) + ' ' + std::to_string(kCpuPeriod));
  }
  for (const auto& [file, text] : files) {
    if (const int error = write_file(directory / file, text)) return failed(error, directory / file);
  }
  UniqueFd processes{::open((directory / "cgroup.procs").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644)};
  if (const int error = errno; !processes) return failed(error, directory / "cgroup.procs");
  return std::make_unique<CommandGroup>(directory, std::move(processes));
}

}  // namespace skiff::sessions
