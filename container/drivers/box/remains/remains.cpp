#include "container/drivers/box/remains/remains.hpp"

#include <algorithm>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/small_file.hpp"
#include "container/drivers/box/plan.hpp"
#include "container/sandbox/sandbox.hpp"

namespace skiff::container::box {
namespace {

namespace files = std::filesystem;

constexpr std::size_t kLongestProcFile = std::size_t{4} << 20U;
/// How the kernel ends the path of a directory that was removed.
constexpr std::string_view kRemoved = "//deleted";

/// A mount, as proc_pid_mountinfo(5) describes it.
struct Mount {
  std::string device;
  std::string source;  ///< the mounted directory, as a path in its file system
  std::string point;
};

std::vector<Mount> mounts_of(const std::string& process) {
  std::istringstream lines{read_small_file("/proc/" + process + "/mountinfo", kLongestProcFile).value_or("")};
  std::vector<Mount> mounts;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields{line};
    std::string skipped;
    Mount mount;
    fields >> skipped >> skipped >> mount.device >> mount.source >> mount.point;
    if (!mount.point.empty()) mounts.push_back(std::move(mount));
  }
  return mounts;
}

/// A path as mountinfo has it: with octal numbers in place of characters that separate fields.
std::string escaped(const std::string& path) {
  std::string text;
  for (const char c : path) {
    switch (c) {
      case ' ':
        text += "\\040";
        break;
      case '\t':
        text += "\\011";
        break;
      case '\n':
        text += "\\012";
        break;
      case '\\':
        text += "\\134";
        break;
      default:
        text += c;
    }
  }
  return text;
}

/// How mounts name a directory, which need not exist.
std::optional<Mount> source_of(const files::path& directory) {
  std::error_code error;
  const std::string path = escaped(files::weakly_canonical(directory, error).string());
  if (error) return std::nullopt;
  std::optional<Mount> found;
  for (Mount& mount : mounts_of("self")) {
    const std::string below = mount.point == "/" ? mount.point : mount.point + "/";
    // The last of several mounts at one point is seen.
    if (!path.starts_with(below) || (found && found->point.size() > mount.point.size())) continue;
    found = std::move(mount);
  }
  if (!found) return std::nullopt;
  const std::string rest = found->point == "/" ? path : path.substr(found->point.size());
  found->source = (found->source == "/" ? "" : found->source) + rest;
  return found;
}

/// True if the process is the first one of a namespace of process numbers.
bool is_first(const std::string& process) {
  constexpr std::string_view kNumbers = "\nNSpid:";
  const std::string status = read_small_file("/proc/" + process + "/status", kLongestProcFile).value_or("");
  const std::size_t begin = status.find(kNumbers);
  if (begin == std::string::npos) return false;
  std::istringstream numbers{status.substr(begin + kNumbers.size(), status.find('\n', begin + 1) - begin)};
  std::string line, last, number;
  std::getline(numbers, line);
  std::istringstream words{line};
  int count = 0;
  for (; words >> number; ++count) last = number;
  return count > 1 && last == "1";
}

/// The name of the box in whose directory the mount is; empty if it is another mount.
std::string name_in(const Mount& mount, const Mount& directory) {
  if (mount.device != directory.device || !mount.source.starts_with(directory.source + "/")) return {};
  std::string_view rest{mount.source};
  rest.remove_prefix(directory.source.size() + 1);
  if (rest.ends_with(kRemoved)) rest.remove_suffix(kRemoved.size());
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos || !check_name(rest.substr(0, slash))) return {};
  const bool is_of_box = std::ranges::any_of(state_directories(), [&](const auto& one) {
    return rest.substr(slash + 1) == "root/" + one.first && mount.point == one.second;
  });
  return is_of_box ? std::string{rest.substr(0, slash)} : std::string{};
}

}  // namespace

std::vector<RunningBox> running_boxes(const files::path& directory) {
  std::vector<RunningBox> found;
  const auto source = source_of(directory);
  if (!source) return found;
  for (const pid_t pid : running_pids()) {
    // It is found before its mounts are read, so that no later process with its number counts.
    auto process = find_process(pid);
    const std::string number = std::to_string(pid);
    if (!process || !is_first(number)) continue;
    const std::vector<Mount> mounts = mounts_of(number);
    if (std::ranges::count(mounts, kAgentPath, &Mount::point) == 0) continue;
    for (const Mount& mount : mounts) {
      std::string name = name_in(mount, *source);
      if (name.empty()) continue;
      found.push_back({std::move(name), std::move(*process)});
      break;
    }
  }
  return found;
}

bool has_only_files_of_box(const files::path& directory) {
  const auto has_only = [](const files::path& where, auto is_known) {
    std::error_code error;
    bool has_any = false;
    for (files::directory_iterator at{where, error}, end; !error && at != end; at.increment(error)) {
      if (!is_known(at->path().filename().string())) return false;
      has_any = true;
    }
    return has_any && !error;
  };
  const auto is_file = [](const std::string& name) {
    return name == "root" || name == "skiffd.log" || name == "applied.json" || name.ends_with(".sock") ||
           name.starts_with("record.json") || name.starts_with("egress.") || name.starts_with("egress-");
  };
  const auto is_of_root = [](const std::string& name) {
    return name == "changes" ||
           std::ranges::any_of(state_directories(), [&](const auto& one) { return one.first == name; });
  };
  return has_only(directory, is_file) && has_only(directory / "root", is_of_root);
}

}  // namespace skiff::container::box
