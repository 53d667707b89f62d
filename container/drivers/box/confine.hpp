#pragma once

#include <cstdint>
#include <optional>

namespace skiff::container::box {

/// Gives up the privileges that the creator of a user namespace has in it, for good: no capability, none to regain, no
/// new privileges by exec. Returns false with errno.
[[nodiscard]] bool drop_privileges() noexcept;

/// Limits the processes of the box. A kernel before 5.14 would count the user's processes outside, too, so there is no
/// limit then.
[[nodiscard]] bool limit_processes(std::uint64_t most) noexcept;

/// Takes the box out of the user's session keyring, whose keys it could use otherwise.
void leave_keyring() noexcept;

/// Landlock beside the mounts: the box may read everything in it, and write in its own directories alone. A kernel
/// without it, or with its first version, which forbids to move files between directories, has the mounts alone.
[[nodiscard]] bool restrict_files() noexcept;

/// Installs the filter of system calls; the next exec must follow at once.
[[nodiscard]] bool filter_calls();

}  // namespace skiff::container::box
