#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "container/cli/command.hpp"

namespace skiff::container {

/// What could stand where the cursor is.
struct Candidates {
  struct One {
    std::string text;
    std::string help;
  };
  std::vector<One> items = {};  ///< those that begin with what is typed already
  bool files = false;           ///< names of local files too
  /// What only the driver or an agent knows: a word of this kind, in the sandbox of this name.
  WordKind asks_for = WordKind::text;
  std::string sandbox = {};
};

/// `words` are those after `skiff`, up to the cursor; the last one is being typed and may be empty.
[[nodiscard]] Candidates find_candidates(std::span<const std::string> words);

/// The script that a shell sources: bash, zsh or fish.
[[nodiscard]] std::string_view completion_script(std::string_view shell);

}  // namespace skiff::container
