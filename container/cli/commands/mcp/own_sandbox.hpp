#pragma once

#include <string>
#include <string_view>

#include "base/async/task.hpp"
#include "container/cli/parse/options.hpp"
#include "container/sandbox/driver.hpp"

namespace skiff::container {

/// Tells a model of the directory that `--mount` brings in; empty if the sandbox writes into none.
[[nodiscard]] std::string mount_notice(const SandboxSpec& spec, const Options& options);

/// Removes the sandbox. If it has changed something in the directory of `--mount`, or if that cannot be told, it is
/// stopped and kept, and stderr says how to see, take and drop the changes.
[[nodiscard]] Task<> remove_unless_changed(Driver* driver, Sandbox own, const Options* options);

}  // namespace skiff::container
