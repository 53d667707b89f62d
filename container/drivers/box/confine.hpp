#pragma once

#include <cstdint>
#include <optional>

namespace skiff::container::box {

/// Gives up the privileges that the creator of a user namespace has in it, for good: no capability, none to regain, no
/// new privileges by exec. Returns false with errno.
[[nodiscard]] bool drop_privileges() noexcept;

/// Sets the limits of the box, which no program in it can raise: processes, signals that wait and bytes in message
/// queues (at most half of the user's own limit, because the user's counts have those of the box), memory that is
/// never swapped, no scheduling in real time, no raised priority, and no handler for crashes. A kernel
/// before 5.14 would count the user's processes outside, too, so they have no limit then.
[[nodiscard]] bool set_limits(std::uint64_t most_processes) noexcept;

/// Takes the box out of the user's session keyring, whose keys it could use otherwise.
void leave_keyring() noexcept;

/// Landlock beside the mounts: the box may read everything in it, and write in its own directories alone. A kernel
/// without it, or with its first version, which forbids to move files between directories, has the mounts alone.
[[nodiscard]] bool restrict_files() noexcept;

/// Installs the filter of system calls; the next exec must follow at once.
[[nodiscard]] bool filter_calls();

}  // namespace skiff::container::box
