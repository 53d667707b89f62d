#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/launcher/driver.hpp"

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

/// Removes the sandboxes that have ended or failed, and with `max_idle` also those that run and that nobody has used
/// for so long. Any number of callers may do it at once. An error only when they can't be listed.
[[nodiscard]] Task<Result<Collected>> collect_garbage(Driver* driver, std::optional<std::string> owner,
                                                      std::optional<std::chrono::milliseconds> max_idle);

}  // namespace skiff::container
