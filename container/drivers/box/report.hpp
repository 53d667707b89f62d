#pragma once

#include <string>

#include "container/drivers/box/steps.hpp"

namespace skiff::container::box {

/// Reads the security label of this process, which `refuse` reports. Call it after the namespaces were created.
void note_label();

/// Reports on stdout that a step has failed with the current errno, and ends this process, so the whole box.
[[noreturn]] void refuse(Step step, std::string what = {});

/// Writes a line to stdout.
void report(const std::string& line) noexcept;

}  // namespace skiff::container::box
