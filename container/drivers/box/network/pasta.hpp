#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "container/drivers/box/handover.hpp"
#include "container/drivers/box/steps.hpp"
#include "container/drivers/box/support.hpp"

namespace skiff::container::box {

/// The command line of pasta, on PATH. `sandbox_failed` (no_network) with what to do if it is absent, or this machine
/// has no network itself.
[[nodiscard]] Result<std::vector<std::string>> pasta_arguments();

/// The prefixes that no box may reach: private and special addresses (RFC 6890), and those of this machine's own
/// interfaces.
[[nodiscard]] std::vector<std::string> barred_prefixes();

/// Runs pasta in place of this process; pasta runs this program again as its child, which gets the handover. It does
/// not return.
[[noreturn]] void run_pasta(Handover given);

/// Explains a refusal of the step `network`.
[[nodiscard]] Reason explain_network(const Refusal& refusal);

}  // namespace skiff::container::box
