#pragma once

#include <string_view>
#include <vector>

namespace skiff::sessions {

/// The TERM for a terminal whose name programs in the image do not know. All terminals in use understand its codes.
inline constexpr const char* kUsualTerminal = "TERM=xterm-256color";

/// Whether programs with this environment ("NAME=value") know the terminal: by its name alone, or by a description
/// (terminfo(5)) in one of the directories that they search. May block on the disk.
[[nodiscard]] bool is_terminal_known(std::string_view name, const std::vector<const char*>& environment);

/// Replaces an unknown TERM by `kUsualTerminal`. The name of a terminal that is newer than the image, such as ghostty
/// or kitty, would keep `clear`, `less` and editors from working.
void name_terminal(std::vector<const char*>& environment);

}  // namespace skiff::sessions
