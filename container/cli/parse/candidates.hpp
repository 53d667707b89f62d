#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "container/cli/parse/command.hpp"

namespace skiff::container {

/// The candidates for the word at the cursor.
struct Candidates {
  struct One {
    std::string text;
    std::string help;
  };
  std::vector<One> items = {};  ///< candidates that begin with the typed text
  bool files = false;           ///< names of local files are candidates, too
  /// Kind of word, in this sandbox, whose candidates only the driver or an agent knows.
  WordKind asks_for = WordKind::text;
  std::string sandbox = {};
};

/// `words` are the words after `skiff` up to the cursor; the last one is being typed and may be empty.
[[nodiscard]] Candidates find_candidates(std::span<const std::string> words);

/// The script that a shell sources: bash, zsh or fish.
[[nodiscard]] std::string_view completion_script(std::string_view shell);

}  // namespace skiff::container
