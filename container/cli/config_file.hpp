#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace skiff::container {

/// Defaults of flags: each key is a flag's long name without dashes, each value a scalar or a list of scalars.
struct ConfigFile {
  std::string path;
  std::map<std::string, std::vector<std::string>> values;
};

/// `path`, which must be there; or, when that is empty, $XDG_CONFIG_HOME/skiff/config.yaml or
/// ~/.config/skiff/config.yaml, if it is there.
[[nodiscard]] Result<ConfigFile> read_config(std::string path);

/// The text of such a file. Errors name the line.
[[nodiscard]] Result<ConfigFile> parse_config(const std::string& text, std::string path);

}  // namespace skiff::container
