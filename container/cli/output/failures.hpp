#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace skiff::container {

/// The errors of a command for some of several sandboxes; the others are still handled.
class Failures {
 public:
  /// `command` is the command's name, `done` its past tense ("stop", "stopped"), `names` the number of sandboxes.
  Failures(std::string_view command, std::string_view done, std::size_t names)
      : command_{command}, done_{done}, is_one_{names == 1} {}

  /// Reports the error at once, unless there is only one name: then it becomes the command's error.
  void add(const std::string& name, Error error);
  /// The exit status, or the command's error.
  [[nodiscard]] Result<int> status() &&;

 private:
  std::string_view command_;
  std::string_view done_;
  bool is_one_;
  std::optional<Error> first_;
};

}  // namespace skiff::container
