#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/task.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/sandbox/driver.hpp"

namespace skiff::container {

/// The decision about one sandbox, and its reason.
struct Verdict {
  std::string name;
  std::string reason;
};

struct Collected {
  std::vector<Verdict> removed;
  std::vector<Verdict> kept;
  std::vector<Verdict> failed;         ///< sandboxes that could not be removed
  std::vector<std::string> not_asked;  ///< hosts that did not answer, each with what it said
};

/// Which sandboxes to remove.
struct Collecting {
  std::optional<std::string> owner = {};                   ///< empty: sandboxes of all owners
  std::optional<std::chrono::milliseconds> max_idle = {};  ///< remove also running sandboxes that were idle for so long
  bool dry_run = false;                                    ///< only report
};

/// True if the sandbox's lease ended longer ago than an agent takes to end.
[[nodiscard]] bool has_outlived(const Sandbox& sandbox, WallTime now);

/// Removes the sandboxes that have ended, have failed, or have outlived their lease and whose agent does not answer.
/// Sandboxes that their host has broken stay until their lease is over. Any number of callers may do it at the same
/// time. It fails only if the sandboxes cannot be listed.
[[nodiscard]] Task<Result<Collected>> collect_garbage(Driver* driver, Collecting what);

}  // namespace skiff::container
