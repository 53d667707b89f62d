#pragma once

#include <string_view>

namespace skiff::container::box {

/// The name of the command by which skiff runs itself to make a box. It is not for people.
inline constexpr std::string_view kEnterCommand = "box-init";

/// Makes a box and runs skiffd in it as its process 1. `send_handover` writes what comes on stdin; stdout reports as
/// steps.hpp says, and becomes that of skiffd. Call it before there are threads. Returns the exit status; the box's
/// process is a child of our parent.
[[nodiscard]] int enter();

}  // namespace skiff::container::box
