#include "container/drivers/box/limits/groups.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <sstream>
#include <utility>

#include "base/small_file.hpp"
#include "base/unique_fd.hpp"

namespace skiff::container::box {
namespace {

namespace files = std::filesystem;

constexpr std::size_t kLongestFile = std::size_t{4} << 20U;
constexpr const char* kTop = "skiff";
constexpr std::uint64_t kPeriodMicroseconds = 100'000;

/// The place where groups of a controller can be made.
struct Hierarchy {
  bool is_version2 = false;
  files::path mount;
  std::string controller;

  [[nodiscard]] files::path top() const { return mount / kTop; }
  [[nodiscard]] std::string target() const { return is_version2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/" + controller; }
};

/// True if a list with these separators has the word.
bool lists(std::string_view list, std::string_view word, std::string_view separators) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of(separators), list.size());
    if (list.substr(0, end) == word) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

/// The hierarchy with the controller, which one version alone has.
std::optional<Hierarchy> find_hierarchy(const std::string& controller, const files::path& root) {
  std::istringstream lines{read_small_file(root / "proc/self/mountinfo", kLongestFile).value_or("")};
  for (std::string line; std::getline(lines, line);) {
    // Fields: id, parent, device, root, mount point, ... " - " type, source, options (proc_pid_mountinfo(5)).
    std::istringstream before{line};
    std::string point;
    for (int i = 0; i < 5; ++i) before >> point;
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream after{line.substr(dash + 3)};
    std::string type, source, options;
    after >> type >> source >> options;
    Hierarchy found{.is_version2 = type == "cgroup2", .mount = root / point.substr(1), .controller = controller};
    if (type == "cgroup" && lists(options, controller, ",")) return found;
    const auto offered = read_small_file(found.mount / "cgroup.controllers", kLongestFile);
    if (found.is_version2 && offered && lists(*offered, controller, " \n")) return found;
  }
  return std::nullopt;
}

/// Writes a file of a group. Returns 0 or errno.
int write_value(const files::path& file, const std::string& value) {
  const UniqueFd opened{::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
  if (!opened) return errno;
  return ::write(opened.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size()) ? 0 : errno;
}

std::unexpected<Error> cannot(const Hierarchy& hierarchy, const std::string& what, int error) {
  return fail(Errc::permission_denied,
              what + " (control groups of version " + (hierarchy.is_version2 ? "2" : "1") + "): " + errno_text(error));
}

/// Creates the group, and lets it have the controller.
Result<> create_group(const Hierarchy& hierarchy, const files::path& group) {
  const std::string enabled = "+" + hierarchy.controller;
  // Another launcher may remove the directory above as soon as it is empty.
  constexpr int kMostTries = 100;
  for (int tries = 0; tries < kMostTries; ++tries) {
    for (const files::path& above : {hierarchy.mount, hierarchy.top()}) {
      if (above == hierarchy.top() && ::mkdir(above.c_str(), 0755) != 0 && errno != EEXIST) {
        return cannot(hierarchy, "create " + above.string(), errno);
      }
      if (!hierarchy.is_version2) continue;
      if (const int error = write_value(above / "cgroup.subtree_control", enabled); error != 0 && error != ENOENT) {
        return cannot(hierarchy, "enable " + hierarchy.controller + " in " + above.string(), error);
      }
    }
    if (::mkdir(group.c_str(), 0755) == 0 || errno == EEXIST) return {};
    if (errno != ENOENT) break;
  }
  return cannot(hierarchy, "create " + group.string(), errno);
}

struct Setting {
  const char* file;
  std::string value;
  bool is_optional = false;  ///< not every kernel has it
};

Result<> set_values(const Hierarchy& hierarchy, const files::path& group, const std::vector<Setting>& settings) {
  for (const Setting& setting : settings) {
    const int error = write_value(group / setting.file, setting.value);
    const bool is_absent = error == ENOENT || error == EACCES || error == EPERM;
    if (error != 0 && !(setting.is_optional && is_absent)) {
      return cannot(hierarchy, "set " + (group / setting.file).string(), error);
    }
  }
  return {};
}

/// A limit is held in memory alone: a box that may swap uses the disk instead.
std::vector<Setting> memory_settings(bool is_version2, std::uint64_t bytes) {
  const std::string value = std::to_string(bytes);
  if (is_version2) return {{"memory.max", value}, {"memory.swap.max", "0", true}};
  return {{"memory.limit_in_bytes", value}, {"memory.memsw.limit_in_bytes", value, true}};
}

std::vector<Setting> cpu_settings(bool is_version2, std::uint64_t thousandths) {
  const std::string quota = std::to_string(kPeriodMicroseconds * thousandths / 1000);
  const std::string period = std::to_string(kPeriodMicroseconds);
  if (is_version2) return {{"cpu.max", quota + " " + period}};
  return {{"cpu.cfs_period_us", period}, {"cpu.cfs_quota_us", quota}};
}

Result<Group> create_one(const std::string& name, const std::string& controller, std::uint64_t limit,
                         const files::path& root) {
  const auto hierarchy = find_hierarchy(controller, root);
  if (!hierarchy) {
    return fail(Errc::permission_denied, "no control groups with the controller " + controller + " are mounted");
  }
  const files::path group = hierarchy->top() / name;
  SKIFF_TRY_VOID(create_group(*hierarchy, group));
  const bool is_version2 = hierarchy->is_version2;
  SKIFF_TRY_VOID(
      set_values(*hierarchy, group,
                 controller == "memory" ? memory_settings(is_version2, limit) : cpu_settings(is_version2, limit)));
  return Group{.directory = group, .target = hierarchy->target()};
}

std::unexpected<Error> not_held(std::string_view flag, const Error& why) {
  return fail(Errc::invalid_field,
              std::string{flag} + ": this machine lets skiff not limit it: " + why.message +
                  (::geteuid() == 0 ? "\n  run skiff where control groups can be written to"
                                    : "\n  run skiff as root, which may create control groups") +
                  "\n  or use an engine: --driver docker\n  or leave out " + std::string{flag},
              std::string{flag});
}

}  // namespace

std::string group_name(const files::path& directory) {
  struct stat found{};
  if (::stat(directory.c_str(), &found) != 0) return directory.filename();
  return directory.filename().string() + "." + std::to_string(found.st_dev) + "." + std::to_string(found.st_ino);
}

Result<std::vector<Group>> create_groups(const std::string& name, const HostLimits& limits, const files::path& root) {
  std::vector<Group> groups;
  for (const auto& [controller, flag, limit] :
       {std::tuple{"memory", "--memory", limits.memory_bytes}, std::tuple{"cpu", "--cpu", limits.cpu_thousandths}}) {
    if (limit == 0) continue;
    auto made = create_one(name, controller, limit, root);
    if (!made) {
      (void)remove_groups(name, root);
      return not_held(flag, made.error());
    }
    const bool is_shared = std::ranges::any_of(groups, [&](const Group& one) { return one.target == made->target; });
    if (!is_shared) groups.push_back(std::move(*made));
  }
  return groups;
}

bool remove_groups(const std::string& name, const files::path& root) {
  bool is_removed = true;
  for (const char* controller : {"memory", "cpu"}) {
    const auto hierarchy = find_hierarchy(controller, root);
    if (!hierarchy) continue;
    if (::rmdir((hierarchy->top() / name).c_str()) != 0 && errno != ENOENT) is_removed = false;
    // It stays as long as there are others in it.
    (void)::rmdir(hierarchy->top().c_str());
  }
  return is_removed;
}

std::string reason_against_groups() {
  const std::string name = "trial." + std::to_string(::getpid());
  const auto made = create_groups(name, {.memory_bytes = std::uint64_t{1} << 30U, .cpu_thousandths = 1000});
  (void)remove_groups(name);
  if (made) return {};
  return made.error().message;
}

}  // namespace skiff::container::box
