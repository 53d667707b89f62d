#pragma once

#include <cstddef>
#include <string_view>

namespace skiff::runtime::dialects::python_runtime {

/// What Python's json module says of a text that is not JSON.
struct JsonFault {
  std::string_view text;
  std::size_t position;  ///< in characters, from 0
};

/// Finds the first fault as Python's decoder does, in words and places of its own. `text` must be UTF-8. A text without
/// one (ours refuses more: repeated keys, too deep a nesting) has it at the start.
[[nodiscard]] JsonFault find_json_fault(std::string_view text);

}  // namespace skiff::runtime::dialects::python_runtime
