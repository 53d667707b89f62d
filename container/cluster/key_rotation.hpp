#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/cluster/cluster.hpp"
#include "protocol/json/schema.hpp"

/// Replaces the signing key of a namespace while its sandboxes run. Tokens for a sandbox are signed with the key that
/// its Pod was created with, which stays in the Secret beside the new one as long as an object may need it.
namespace skiff::container {

/// A key that new sandboxes do not get any more.
struct OlderKey {
  std::string fingerprint;
  std::vector<std::string> users = {};  ///< sandboxes and objects that still use it, sorted

  static constexpr auto fields = std::tuple{
      protocol::field("fingerprint", &OlderKey::fingerprint, "Fingerprint: 12 hexadecimal digits"),
      protocol::field("users", &OlderKey::users, "Sandboxes and objects that still use it"),
  };
};

struct KeyReport {
  std::string current;                    ///< fingerprint of the current key
  std::vector<OlderKey> older = {};       ///< newest first
  std::vector<std::string> removed = {};  ///< fingerprints of removed keys

  static constexpr auto fields = std::tuple{
      protocol::field("current", &KeyReport::current, "Fingerprint of the key for new sandboxes"),
      protocol::field("older", &KeyReport::older, "Older keys that are still in use"),
      protocol::field("removed", &KeyReport::removed, "Fingerprints of the keys that were removed"),
  };
};

/// Creates a new current key; the previous one becomes an older one. `not_found` if there is no key yet, and
/// `sandbox_conflict` if another client changes the Secret at the same time.
[[nodiscard]] Task<Result<KeyReport>> rotate_key(Cluster* cluster);

/// Removes the older keys that no running Pod, no Sandbox and no SandboxTemplate uses.
[[nodiscard]] Task<Result<KeyReport>> finish_rotation(Cluster* cluster);

}  // namespace skiff::container
