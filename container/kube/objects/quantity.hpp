#pragma once

#include <optional>
#include <string_view>

namespace skiff::kube {

/// The value of a quantity of the Kubernetes API ("250m", "1Gi", "2e3"), exact enough to compare two of them; nullopt
/// for an invalid text.
[[nodiscard]] std::optional<double> parse_quantity(std::string_view text);

}  // namespace skiff::kube
