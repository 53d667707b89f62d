#pragma once

#include <sys/types.h>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

/// What engines answer. Docker and podman write different JSON for the same question; a text that has neither form is
/// an `io_error`.
namespace skiff::container::docker {

/// What `info` says of the engine and its limits.
struct EngineAbilities {
  bool memory = false;
  bool cpu = false;
  bool pids = false;
  bool rootless = false;
  bool is_podman = false;
};
[[nodiscard]] Result<EngineAbilities> parse_info(std::string_view json);

/// What `inspect` says of one container.
struct ContainerState {
  bool is_running = false;
  pid_t pid = 0;      ///< in the engine's own machine, which may be a virtual one; 0: none
  int exit_code = 0;  ///< of its last end
  bool out_of_memory = false;
  std::string error = {};  ///< why it could not be started
  std::uint16_t port = 0;  ///< port of 127.0.0.1 that leads to the agent; 0: none
};
/// `agent_port`: port of the agent in the container.
[[nodiscard]] Result<ContainerState> parse_inspect(std::string_view json, std::uint16_t agent_port);

/// One line of a list of containers.
struct ListedContainer {
  std::string id;
  std::string name;  ///< name of the sandbox
  std::string sandbox_id;
  bool is_running = false;
};
/// Lines that are not of our form are left out.
[[nodiscard]] std::vector<ListedContainer> parse_list(std::string_view lines);

/// The id that `create` prints as its last line: 64 hexadecimal digits. Engines print notices before it.
[[nodiscard]] Result<std::string> parse_created(std::string_view output);

}  // namespace skiff::container::docker
