#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace skiff::container {

/// What goes wrong with some of the sandboxes that a command is given: the others still have their turn.
class Failures {
 public:
  /// `command`: its name, and `done` what it does in the past tense: "stop", "stopped". `names`: how many there are.
  Failures(std::string_view command, std::string_view done, std::size_t names)
      : command_{command}, done_{done}, is_one_{names == 1} {}

  /// Tells it at once, unless there is but one name: then it is the command's own error.
  void add(const std::string& name, Error error);
  /// The exit status, or the error that it ends with.
  [[nodiscard]] Result<int> status() &&;

 private:
  std::string_view command_;
  std::string_view done_;
  bool is_one_;
  std::optional<Error> first_;
};

}  // namespace skiff::container
