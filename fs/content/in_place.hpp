#pragma once

#include <string_view>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "fs/content/entry.hpp"
#include "fs/content/staged_file.hpp"
#include "fs/content/target.hpp"

namespace skiff::fs {

/// Whether the location is a mount of its own, such as a container's /etc/hosts: no other file can take its name.
[[nodiscard]] bool is_mounted(const Location& location);
[[nodiscard]] bool is_mount_point(int directory, const std::string& name);

/// A new file that will become the content of a location.
struct StagedFor {
  StagedFile file;
  bool elsewhere =
      false;  ///< the location is a mount in a directory that is not writable: the bytes are in the main root
};
[[nodiscard]] Result<StagedFor> stage_for(const Tree& tree, const Location& location, Becomes becomes,
                                          Naming naming = Naming::nameless);

/// Clears the set-id bits of a file before a write, as the kernel does for an unprivileged process: they were granted
/// for other bytes.
[[nodiscard]] Result<> take_set_id(int fd, std::string_view path);

/// Writes the bytes of `from` over those of the file at `location`, which must still be `expected`; its owner, mode and
/// attributes stay. For files that cannot be replaced: readers may see a mixture, so space is reserved first, and a
/// later failure leaves a part. Returns the file. Errors: precondition_failed when another file has the name, no_space.
[[nodiscard]] Result<UniqueFd> write_in_place(const Location& location, int from, const Entry& expected,
                                              std::string_view path);

}  // namespace skiff::fs
