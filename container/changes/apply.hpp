#pragma once

#include <stop_token>
#include <vector>

#include "base/error.hpp"
#include "container/changes/compare.hpp"

namespace skiff::container::changes {

/// Whether changes are applied that need --yes (consent.hpp).
enum class Consent : std::uint8_t { refused, given };

struct Applied {
  std::vector<Change> done;
  std::vector<LeftOut> left_out;  ///< also what the comparison left out
};

/// Makes the directory as the sandbox sees it, as far as `found` says. The sandbox may run and change the layer
/// meanwhile: no path is trusted, no link followed, and what is written is what was read from a descriptor. A file
/// appears when it is complete. Set-id bits are dropped. Group and others may write only
/// where they could before. What is new belongs to the owner of the directory if root
/// calls. What cannot or must not be applied is left out and named. Errors: a record that cannot be written;
/// `cancelled` when `stop` is requested: a part is applied then.
[[nodiscard]] Result<Applied> apply(Workspace& workspace, Found found, Consent consent,
                                    const std::stop_token& stop = {});

}  // namespace skiff::container::changes
