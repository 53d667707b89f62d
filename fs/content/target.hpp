#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string_view>

#include "base/error.hpp"
#include "fs/content/entry.hpp"
#include "fs/path/tree.hpp"

namespace skiff::fs {

/// Conditions that a file must meet right before it is changed (RFC 9110, 13.1). They are exact between API writers if
/// checked while the name is locked (fs/path/name_lock.hpp), but not against commands that write at the same moment.
struct Conditions {
  std::optional<TagList> if_match = {};
  bool must_be_new = false;  ///< If-None-Match: *
};

/// The attributes of a changed or new file. Absent ones are kept from the replaced file, as far as the agent may set
/// them, and without set-id bits; its access list and user attributes (xattr(7)) are kept, too. If the agent may not
/// keep an owner, a group or a list, no user gets more rights than before. A new file gets 0666 without the umask's
/// bits, the agent's own ids and the current time.
struct Attributes {
  std::optional<mode_t> mode = {};  ///< the low twelve bits
  std::optional<uid_t> uid = {};
  std::optional<gid_t> gid = {};
  std::optional<FileTime> modified = {};
  std::string_view not_kept = {};  ///< prefix of user attributes that describe the bytes and are dropped; empty: none
};

/// Checks the conditions and returns the entry at the location, if any. Errors: precondition_failed; cancelled when
/// `stop` is requested while a file is hashed for the conditions.
[[nodiscard]] Result<std::optional<Entry>> check_target(const Location& location, const Conditions& conditions,
                                                        std::string_view path, const std::stop_token& stop = {});

/// As `check_target`, for a place of a regular file. Errors: also not_a_regular_file, is_a_directory.
[[nodiscard]] Result<std::optional<Entry>> check_file_target(const Location& location, const Conditions& conditions,
                                                             std::string_view path, const std::stop_token& stop = {});

/// Sets the attributes of an open file that will be published at `location`. `replaced` is the entry that has the name
/// now. Errors: permission_denied for a requested owner.
[[nodiscard]] Result<> set_attributes(int fd, const Attributes& attributes, const Location& location,
                                      const std::optional<Entry>& replaced);

/// Sets a modification time that no write by another process can have: see fs/content/entry.hpp.
[[nodiscard]] Result<> stamp(int fd, std::optional<FileTime> modified = {});

/// A writer's report on the file that it has created or changed.
struct Written {
  Entry entry;
  std::string tag;            ///< empty when no tag is possible yet: see entity_tag
  bool created = false;       ///< the name did not exist before
  std::uint64_t special = 0;  ///< sockets, FIFOs and devices that a copy of a tree leaves out
};
[[nodiscard]] Result<Written> written(int fd, bool created);

}  // namespace skiff::fs
