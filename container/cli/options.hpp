#pragma once

#include <string>
#include <vector>

#include "base/settings.hpp"

namespace skiff::container {

/// What every command takes.
struct Options {
  std::string driver = "local";
  std::string output = "table";
  std::string owner;  ///< default: user@host
  std::string config;
  bool quiet = false;
};

/// Rows point into `options`.
[[nodiscard]] std::vector<Setting> option_rows(Options& options);

/// user@host, as far as they are known.
[[nodiscard]] std::string default_owner();

}  // namespace skiff::container
