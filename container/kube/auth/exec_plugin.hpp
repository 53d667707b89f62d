#pragma once

#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/kube/auth/access.hpp"

namespace skiff::kube {

/// What a credential plugin gave.
struct ExecCredential {
  std::string token = {};
  std::string certificate_pem = {};
  std::string key_pem = {};
  std::optional<WallTime> expires = {};  ///< absent: good until the cluster refuses it
};

/// What goes into KUBERNETES_EXEC_INFO: whether the plugin may ask the user, and the cluster if it wants to know.
[[nodiscard]] std::string exec_info(const ExecPlugin& plugin, const Access& access, bool interactive);

/// Reads what a plugin printed. `plugin` is needed for its version and for messages.
[[nodiscard]] Result<ExecCredential> parse_exec_credential(std::string_view output, const ExecPlugin& plugin);

/// Runs the plugin of `access.identity` and reads its answer. Blocks: for a thread of a pool. Its standard error is
/// this process's; its standard input too when it may ask (the mode allows it and standard input is a terminal), else
/// /dev/null. It is killed when it has not ended after 60 s, or 5 minutes when it may ask.
[[nodiscard]] Result<ExecCredential> run_exec_plugin(const Access& access);

}  // namespace skiff::kube
