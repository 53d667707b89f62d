#include "sessions/process/cgroup_directory.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace skiff::sessions {
namespace {

/// Version 1 shows "no limit" as the largest multiple of a page, which is above this.
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

/// Decodes a path in mountinfo, where a space is "\040" (proc_pid_mountinfo(5)).
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    if (text[i] == '\\' &&
        std::from_chars(text.data() + i + 1, text.data() + std::min(i + 4, text.size()), code, 8).ec == std::errc{}) {
      plain += static_cast<char>(code);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

struct Mount {
  std::string root;  ///< the part of the hierarchy that is mounted
  std::string point;
};

/// The mount of cgroup version 2, or of version 1's `controller` (proc_pid_mountinfo(5)).
std::optional<Mount> find_mount(const std::filesystem::path& root, bool version2, std::string_view controller) {
  std::ifstream in{root / "proc/self/mountinfo"};
  for (std::string line; std::getline(in, line);) {
    const auto words = words_of(line);
    const auto dash = std::ranges::find(words, "-");
    if (words.size() < 6 || words.end() - dash < 4) continue;
    if (version2 ? dash[1] == "cgroup2" : dash[1] == "cgroup" && lists(dash[3], controller))
      return Mount{words[3], words[4]};
  }
  return std::nullopt;
}

/// The path of this process's cgroup in that hierarchy (cgroups(7)).
std::optional<std::string> find_group(const std::filesystem::path& root, bool version2, std::string_view controller) {
  std::ifstream in{root / "proc/self/cgroup"};
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers = std::string_view{line}.substr(first + 1, second - first - 1);
    if (version2 ? line.starts_with("0::") : lists(controllers, controller)) return line.substr(second + 1);
  }
  return std::nullopt;
}

/// Strips the leading slashes, so that the path can be appended to another directory.
std::string_view relative(std::string_view path) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  return path;
}

}  // namespace

void CgroupDirectory::each_level(const std::function<void(const std::filesystem::path&)>& visit) const {
  const auto same = [](const std::filesystem::path& a, const std::filesystem::path& b) {
    return (a / "").lexically_normal() == (b / "").lexically_normal();
  };
  for (auto directory = group;; directory = directory.parent_path()) {
    visit(directory);
    if (same(directory, mount) || !directory.has_relative_path()) return;
  }
}

std::optional<CgroupDirectory> find_cgroup(const std::filesystem::path& root, const CgroupQuery& query) {
  for (const bool version2 : {false, true}) {
    const auto mount = find_mount(root, version2, query.controller);
    const auto group = find_group(root, version2, query.controller);
    if (!mount || !group) continue;
    // Without a cgroup namespace the group's path begins with the mount's root; with one, both begin at "/".
    std::string_view below = *group;
    const bool inside =
        mount->root == "/" ||
        (below.starts_with(mount->root) && (below.size() == mount->root.size() || below[mount->root.size()] == '/'));
    if (mount->root != "/") below = inside ? below.substr(mount->root.size()) : std::string_view{};
    const auto mounted = root / relative(mount->point);
    auto directory = mounted / relative(below);
    std::error_code ignored;
    if (!std::filesystem::is_directory(directory, ignored)) directory = mounted;
    // The file is missing in the root group of version 2, and when the controller is on version 1.
    if (!std::filesystem::exists(directory / (version2 ? query.version2_file : query.version1_file), ignored)) continue;
    return CgroupDirectory{version2, directory.lexically_normal(), mounted.lexically_normal()};
  }
  return std::nullopt;
}

std::optional<std::vector<std::filesystem::path>> writable_cgroup_mounts(const std::filesystem::path& root) {
  std::ifstream in{root / "proc/self/mountinfo"};
  if (!in) return std::nullopt;
  std::vector<std::filesystem::path> points;
  for (std::string line; std::getline(in, line);) {
    const auto words = words_of(line);
    const auto dash = std::ranges::find(words, "-");
    if (words.size() < 6 || words.end() - dash < 4 || !dash[1].starts_with("cgroup")) continue;
    if (!lists(words[5], "ro") && !lists(dash[3], "ro")) points.emplace_back(unescaped(words[4]));
  }
  return points;
}

std::optional<std::uint64_t> read_cgroup_number(const std::filesystem::path& file) {
  std::ifstream in{file};
  std::uint64_t value = 0;
  if (!(in >> value) || value >= kNoLimit) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> read_cgroup_entry(const std::filesystem::path& file, std::string_view key) {
  std::ifstream in{file};
  std::string name;
  for (std::uint64_t value = 0; in >> name >> value;) {
    if (name == key) return value;
  }
  return std::nullopt;
}

}  // namespace skiff::sessions
