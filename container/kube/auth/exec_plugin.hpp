#pragma once

#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/kube/auth/access.hpp"

namespace skiff::kube {

/// The credential that a plugin gave.
struct ExecCredential {
  std::string token = {};
  std::string certificate_pem = {};
  std::string key_pem = {};
  std::optional<WallTime> expires = {};  ///< absent: valid until the cluster refuses it
};

/// The value of KUBERNETES_EXEC_INFO: whether the plugin may ask the user, and the cluster if the plugin wants it.
[[nodiscard]] std::string exec_info(const ExecPlugin& plugin, const Access& access, bool interactive);

/// Parses the output of a plugin. `plugin` gives the expected version, and its name for messages.
[[nodiscard]] Result<ExecCredential> parse_exec_credential(std::string_view output, const ExecPlugin& plugin);

/// Runs the plugin of `access.identity` and reads its answer. It blocks: call it on a thread of a pool. The plugin
/// shares this process's standard error. If it may ask the user (the mode allows it and standard input is a terminal),
/// it shares standard input too, else it gets /dev/null. It is killed after 60 s, or after 5 minutes if it may ask.
[[nodiscard]] Result<ExecCredential> run_exec_plugin(const Access& access);

}  // namespace skiff::kube
