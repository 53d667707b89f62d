#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/task.hpp"
#include "container/sandbox/driver.hpp"

namespace skiff::container {

/// What became of one sandbox, and why.
struct Verdict {
  std::string name;
  std::string reason;
};

struct Collected {
  std::vector<Verdict> removed;
  std::vector<Verdict> kept;
  std::vector<Verdict> failed;  ///< should have been removed
};

/// Which ones go.
struct Collecting {
  std::optional<std::string> owner = {};                   ///< none: everybody's
  std::optional<std::chrono::milliseconds> max_idle = {};  ///< also those that run and that nobody has used for so long
  bool dry_run = false;                                    ///< only tell
};

/// Its lease has been over for longer than an agent takes to end.
[[nodiscard]] bool has_outlived(const Sandbox& sandbox, WallTime now);

/// Removes the sandboxes that have ended, failed, or outlived their lease without an agent that answers. What their
/// host has broken stays until its lease is over. Any number of callers may do it at once. An error only when they
/// can't be listed.
[[nodiscard]] Task<Result<Collected>> collect_garbage(Driver* driver, Collecting what);

}  // namespace skiff::container
