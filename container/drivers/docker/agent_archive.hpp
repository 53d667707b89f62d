#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "container/host/record.hpp"

namespace skiff::container::docker {

/// The files that skiff puts into a container before each start.
struct AgentFiles {
  std::string skiffd;       ///< path of the program on this machine
  std::string launch_plan;  ///< content of the launch file
  bool is_new = false;      ///< the container has never run: it gets its working directories, too
};

/// A tar archive of them, in an anonymous file. Files of the agent belong to root; working directories to the user of
/// the container, or they are open to all where only the image knows that user. It blocks as long as the disk takes.
[[nodiscard]] Result<UniqueFd> pack_agent(const AgentFiles& files, const HostRecord& record);

}  // namespace skiff::container::docker
