#pragma once

#include <string>
#include <string_view>

#include "base/settings.hpp"

namespace skiff::container {

/// --dry-run[=client|server]: tell what would be done, and do nothing. `server`, which it is without a value, asks the
/// cluster whether it would take it; `client` asks nobody who need not be asked.
class DryRun {
 public:
  /// It points into this object.
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
