#pragma once

#include <string>
#include <vector>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/sandbox/driver.hpp"

namespace skiff::container {

/// A request for a sandbox.
struct BringUp {
  SandboxSpec spec;
  bool get_or_create = false;  ///< use an existing sandbox of that name, and start it if it does not run
  std::string setup = {};      ///< a shell line that is run once in a new sandbox
};

struct BroughtUp {
  Sandbox sandbox;
  bool is_new = false;
  /// How an existing sandbox differs from the request, for people: "its image is a, not b".
  std::vector<std::string> differences = {};
};

/// `invalid_field` if the spec brings a directory of this machine in, or limits processes, and the driver cannot.
[[nodiscard]] Result<> check_mount(const SandboxSpec& spec, const Driver& driver);

/// Creates a sandbox with any driver. When the setup fails, or the caller is cancelled, a new sandbox is removed.
[[nodiscard]] Task<Result<BroughtUp>> bring_up(Driver* driver, BringUp wanted, Progress progress);

}  // namespace skiff::container
