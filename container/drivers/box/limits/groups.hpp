#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "container/host/record.hpp"

/// The control groups of boxes (cgroups(7)), of version 1 or 2: one for each controller of a limit, skiff/NAME below
/// the root of its hierarchy. Only who may write there can have them: root, as a rule.
namespace skiff::container::box {

/// A control group of a box.
struct Group {
  std::string directory;  ///< on this machine
  std::string target;     ///< where the box sees it, read-only
};

/// The name of the groups of a sandbox: its own name, and what tells its directory from all others of this machine.
/// It is known as long as the directory exists, whatever its record says.
[[nodiscard]] std::string group_name(const std::filesystem::path& directory);

/// Creates groups that hold these limits of memory and CPU. An error says why this machine lets us not, and what to do;
/// then there is none. `root` is a prefix for /proc and the hierarchies, for tests.
[[nodiscard]] Result<std::vector<Group>> create_groups(const std::string& name, const HostLimits& limits,
                                                       const std::filesystem::path& root = "/");

/// Removes what `create_groups` has made. Returns false while processes of the box have not ended.
[[nodiscard]] bool remove_groups(const std::string& name, const std::filesystem::path& root = "/");

/// Why limits of memory and CPU cannot be held; empty if they can. It makes groups and removes them.
[[nodiscard]] std::string reason_against_groups();

}  // namespace skiff::container::box
