#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "container/drivers/docker/answers.hpp"
#include "container/drivers/docker/engine.hpp"
#include "container/host/record.hpp"
#include "container/sandbox/sandbox.hpp"

/// What the driver `docker` writes on an engine's command line. No function here runs anything.
namespace skiff::container::docker {

/// Labels of a container.
inline constexpr std::string_view kNameLabel = "dev.skiff.name";
inline constexpr std::string_view kIdLabel = "dev.skiff.id";
inline constexpr std::string_view kOwnerLabel = "dev.skiff.owner";
/// The state directory that knows it: a name of its signing key. An engine may serve several directories.
inline constexpr std::string_view kStateLabel = "dev.skiff.state";

/// The directory of the agent in a container.
inline constexpr std::string_view kAgentDirectory = ".skiff";
inline constexpr std::string_view kAgentProgram = "/.skiff/skiffd";
inline constexpr std::string_view kLaunchFile = "/.skiff/launch.json";

/// Most processes of a container.
inline constexpr int kMostProcesses = 2048;

/// Checks the spec, and returns what the record of its container contains. `invalid_field` for what this driver does
/// not offer.
[[nodiscard]] Result<HostContainer> container_of(const SandboxSpec& spec);
/// Notes what the engine is and can. `invalid_field` for a limit that the caller has named and that the engine cannot
/// hold. Limits that are defaults are left out then.
[[nodiscard]] Result<> adapt_to(HostContainer& container, const EngineAbilities& abilities);

/// Name of the container: unique on the engine, which others may use, too.
[[nodiscard]] std::string container_name(const HostRecord& record);

[[nodiscard]] std::vector<std::string> create_arguments(bool is_nerdctl, const HostRecord& record,
                                                        std::string_view state);
/// Unpacks the tar archive on standard input at the root of the container, with the owners that it names.
[[nodiscard]] std::vector<std::string> put_in_arguments(const HostContainer& container);
/// Prints a line for each container of this state directory, for `parse_list`.
[[nodiscard]] std::vector<std::string> list_arguments(std::string_view state);
/// Connects standard input and output to a port of 127.0.0.1 in the container.
[[nodiscard]] std::vector<std::string> relay_arguments(const std::string& id, std::uint16_t port);

/// The content of the launch file (`skiffd launch`).
[[nodiscard]] Result<std::string> launch_plan(const HostRecord& record, const std::string& public_key);

}  // namespace skiff::container::docker
