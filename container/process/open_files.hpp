#pragma once

#include <sys/resource.h>

#include <optional>

namespace skiff::container {

/// Raises our own soft limit of open files to the hard one, for a server, whose connections take one or two files each.
/// Call it once, before threads and children. If the kernel refuses, the limit stays, and connections are refused
/// sooner.
void raise_open_files() noexcept;
/// Our own soft limit of open files.
[[nodiscard]] rlim_t most_open_files() noexcept;

/// The earlier RLIMIT_NOFILE, which `spawn` gives to children: programs that use select(2) do not work with descriptors
/// above 1023. Empty if the limit was not raised.
[[nodiscard]] const std::optional<rlimit>& open_files_before() noexcept;

}  // namespace skiff::container
