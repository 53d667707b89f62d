#pragma once

#include <string_view>
#include <vector>

namespace skiff::sessions {

/// The name that a terminal gets whose own means nothing to programs here; all that are in use understand its codes.
inline constexpr const char* kUsualTerminal = "TERM=xterm-256color";

/// Whether programs of that environment ("NAME=value") can know the terminal: by what its name alone says, or by a
/// description (terminfo(5)) in one of the directories where they look. Waits for the disk.
[[nodiscard]] bool is_terminal_known(std::string_view name, const std::vector<const char*>& environment);

/// Puts `kUsualTerminal` in the place of a TERM that is not known: of a terminal that is newer than the image, as
/// ghostty's and kitty's often are, whose name would keep `clear`, `less` and editors from working.
void name_terminal(std::vector<const char*>& environment);

}  // namespace skiff::sessions
