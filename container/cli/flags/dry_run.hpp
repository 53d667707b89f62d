#pragma once

#include <string>
#include <string_view>

#include "base/settings/settings.hpp"

namespace skiff::container {

/// --dry-run[=client|server]: reports what would be done, and does nothing. `server`, the default value, asks the
/// cluster whether it would accept the objects; `client` makes no request that is not necessary.
class DryRun {
 public:
  /// The row points into this object.
  [[nodiscard]] Setting row(std::string_view help) {
    return {.flag = "dry-run",
            .target = setting::Choice{&how_, {"none", "client", "server"}, "server"},
            .value = "client|server",
            .help = help};
  }

  [[nodiscard]] bool is_wanted() const noexcept { return how_ != "none"; }
  [[nodiscard]] bool asks_nobody() const noexcept { return how_ == "client"; }

 private:
  std::string how_ = "none";
};

}  // namespace skiff::container
