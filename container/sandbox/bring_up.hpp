#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/sandbox/driver.hpp"

namespace skiff::container {

/// A sandbox that is wanted.
struct BringUp {
  SandboxSpec spec;
  bool get_or_create = false;  ///< one of that name will do; what is stopped or dead is started
  std::string setup = {};      ///< a shell line, run once in a new sandbox
};

struct BroughtUp {
  Sandbox sandbox;
  bool is_new = false;
  /// In what one that was there is not as it was wanted, for people: "its image is a, not b".
  std::vector<std::string> differences = {};
};

/// Makes a sandbox with any driver. When the setup fails, or the caller is cancelled, nothing is left of a new one.
[[nodiscard]] Task<Result<BroughtUp>> bring_up(Driver* driver, BringUp wanted, Progress progress);

}  // namespace skiff::container
