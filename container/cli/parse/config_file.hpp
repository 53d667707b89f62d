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

/// Reads `path`, which must exist; or, if that is empty, $XDG_CONFIG_HOME/skiff/config.yaml or
/// ~/.config/skiff/config.yaml, if it exists.
[[nodiscard]] Result<ConfigFile> read_config(std::string path);

/// Parses the text of such a file. Errors name the line.
[[nodiscard]] Result<ConfigFile> parse_config(const std::string& text, std::string path);

}  // namespace skiff::container
