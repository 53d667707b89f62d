#pragma once

#include <string_view>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "fs/content/entry.hpp"
#include "fs/content/staged_file.hpp"
#include "fs/content/target.hpp"

namespace skiff::fs {

/// Whether it is a mount of its own, such as a container's /etc/hosts: no other file can take its name.
[[nodiscard]] bool is_mounted(const Place& place);

/// A new file that is to become what is at the place.
struct StagedFor {
  StagedFile file;
  bool elsewhere = false;  ///< a mount in a directory that can't be written: the bytes wait in the main root
};
[[nodiscard]] Result<StagedFor> stage_for(const Tree& tree, const Place& place, Becomes becomes,
                                          Naming naming = Naming::nameless);

/// Takes the set-id bits of a file that is about to be written to, as the kernel does for a process without rights:
/// they were given to other bytes.
[[nodiscard]] Result<> take_set_id(int fd, std::string_view path);

/// Writes the bytes of `from` over those of the file at `place`, which must still be `expected`; its owner, mode and
/// attributes stay. For what can't be replaced: readers may see a part of either, so room is sought first, and what
/// fails later leaves a part. Gives the file. Errors: precondition_failed when another file has the name, no_space.
[[nodiscard]] Result<UniqueFd> write_in_place(const Place& place, int from, const Entry& expected,
                                              std::string_view path);

}  // namespace skiff::fs
