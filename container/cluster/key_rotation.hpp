#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/cluster/cluster.hpp"
#include "protocol/json/schema.hpp"

/// Another signing key for a namespace, without losing what runs: tokens for a sandbox are signed with the key that its
/// Pod was made with, which stays in the Secret beside the new one for as long as anything may need it.
namespace skiff::container {

/// A key that new sandboxes don't get any more.
struct OlderKey {
  std::string fingerprint;
  std::vector<std::string> users = {};  ///< what still knows it, for people, sorted

  static constexpr auto fields = std::tuple{
      protocol::field("fingerprint", &OlderKey::fingerprint, "12 hexadecimal digits"),
      protocol::field("users", &OlderKey::users, "What still knows it"),
  };
};

struct KeyReport {
  std::string current;                    ///< fingerprint
  std::vector<OlderKey> older = {};       ///< the newest first
  std::vector<std::string> removed = {};  ///< fingerprints

  static constexpr auto fields = std::tuple{
      protocol::field("current", &KeyReport::current, "The key of new sandboxes"),
      protocol::field("older", &KeyReport::older, "Keys that others still know"),
      protocol::field("removed", &KeyReport::removed, "Keys that are no more"),
  };
};

/// Makes a new key the current one; the one before it becomes an older one. `not_found` when there is none yet, and
/// `sandbox_conflict` when somebody else changes it at the same time.
[[nodiscard]] Task<Result<KeyReport>> rotate_key(Cluster* cluster);

/// Removes the older keys that nothing knows any more: no Pod that lives, no Sandbox and no SandboxTemplate.
[[nodiscard]] Task<Result<KeyReport>> finish_rotation(Cluster* cluster);

}  // namespace skiff::container
