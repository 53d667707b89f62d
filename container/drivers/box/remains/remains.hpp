#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "container/host/host_process.hpp"

/// Finds boxes whose records are gone.
namespace skiff::container::box {

/// A box that runs.
struct RunningBox {
  std::string name;
  HostProcess process;  ///< its process 1: with it everything in the box ends
};

/// The boxes that run on directories NAME of `directory`, even if these were removed: the mounts of their processes
/// name them. The call looks at all processes of this machine.
[[nodiscard]] std::vector<RunningBox> running_boxes(const std::filesystem::path& directory);

/// True if the directory has files of a box and no others.
[[nodiscard]] bool has_only_files_of_box(const std::filesystem::path& directory);

}  // namespace skiff::container::box
