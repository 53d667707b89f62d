#pragma once

#include <sys/resource.h>

#include <optional>

namespace skiff::container {

/// Raises our own soft limit of open files to the hard one: for a server, where each connection takes one or two. Call
/// it once, before threads and children. Where the kernel refuses, the limit stays, and connections are refused sooner.
void raise_open_files() noexcept;
/// Our own soft limit of open files.
[[nodiscard]] rlim_t most_open_files() noexcept;

/// RLIMIT_NOFILE as it was before, which `spawn` gives to children: programs that use select(2) don't work with
/// descriptors above 1023. Nothing if it was not raised.
[[nodiscard]] const std::optional<rlimit>& open_files_before() noexcept;

}  // namespace skiff::container
