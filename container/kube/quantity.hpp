#pragma once

#include <optional>
#include <string_view>

namespace skiff::kube {

/// The value of a quantity of the Kubernetes API ("250m", "1Gi", "2e3"), near enough to compare two of them; nothing
/// for what is none.
[[nodiscard]] std::optional<double> parse_quantity(std::string_view text);

}  // namespace skiff::kube
