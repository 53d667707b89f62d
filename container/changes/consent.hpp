#pragma once

#include <string>
#include <string_view>

#include "container/changes/change.hpp"

namespace skiff::container::changes {

/// Why a change needs --yes before it is applied; empty if it does not. It does if programs of this machine run it
/// without being told to, for example as soon as its directory is opened, or if it is a link out of the directory or
/// onto a place that needs it. Names are compared as file systems do that fold case or leave characters out.
[[nodiscard]] std::string why_consent(const Change& change);

/// True for a link that leads out of the directory in which `path` is relative, or may do so.
[[nodiscard]] bool leads_outside(std::string_view path, std::string_view target);

}  // namespace skiff::container::changes
