#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "container/host/record.hpp"
#include "container/sandbox/sandbox.hpp"

/// The egress proxy of a box (container/egress) as a process of this machine beside it. It listens in the network
/// namespace of the box, which has nothing else of it.
namespace skiff::container::box {

/// The place in the box of the certificates that it has to trust, if it has secrets.
inline constexpr const char* kTrustDirectory = "/.skiff";

/// The sockets that a proxy listens on.
struct EgressSockets {
  UniqueFd sandbox;  ///< which the box has sent back
  UniqueFd control;  ///< in the directory of the sandbox
};

/// Notes the rules and the secrets of a new box in its record. `state`: the state directory, which has the secrets.
/// Errors: those of rules and secrets.
[[nodiscard]] Result<> plan_egress(const SandboxSpec& spec, const std::filesystem::path& state, HostRecord& record);

/// Writes the policy of the record and the names of its secrets, and binds the socket for control.
[[nodiscard]] Result<UniqueFd> prepare_egress(const HostRecord& record, const std::filesystem::path& directory);

/// Starts the proxy, which ends with the process of the record, and waits until it judges by the policy. The record
/// that is returned has its process.
[[nodiscard]] Task<Result<HostRecord>> start_egress(EgressSockets sockets, HostRecord record,
                                                    std::filesystem::path directory);

/// Changes the rules: in the file of the policy, in the record, and in the proxy of a box that runs. The caller holds
/// the lock of the name. `invalid_field` for a box without egress by name; `sandbox_not_running` if the proxy does not
/// answer; the rules are those of the next start then.
[[nodiscard]] Task<Result<HostRecord>> change_egress(HostRecord record, const HostRecords* records,
                                                     EgressChange change);

/// The secrets of a box, without their values.
[[nodiscard]] std::vector<UsedSecret> secrets_of(const HostRecord& record, const std::filesystem::path& state);

/// The rules of a box for people.
[[nodiscard]] std::string egress_text(const HostRecord& record, bool runs);

}  // namespace skiff::container::box
