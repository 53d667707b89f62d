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

/// What must hold of a file right before it is changed (RFC 9110, 13.1). Exact between API writers when checked while
/// its name is locked (fs/path/name_lock.hpp); not against commands that write at the same moment.
struct Conditions {
  std::optional<TagList> if_match = {};
  bool must_be_new = false;  ///< If-None-Match: *
};

/// What a changed or new file is given. What is absent is kept from the file that is replaced, as far as the agent may
/// set it, and without set-id bits; its access list and the attributes that users have set (xattr(7)) are kept, too.
/// Where the agent may not keep an owner, a group or a list, nobody has more rights than before. A new file gets 0666
/// without the umask's bits, the agent's own ids and the time of now.
struct Attributes {
  std::optional<mode_t> mode = {};  ///< the low twelve bits
  std::optional<uid_t> uid = {};
  std::optional<gid_t> gid = {};
  std::optional<FileTime> modified = {};
  std::string_view not_kept = {};  ///< attributes of users whose names begin so, which belong to the bytes; empty: none
};

/// What is at a place now, if anything, once the conditions are found to hold. Errors: precondition_failed, cancelled
/// when `stop` is requested while a file is hashed for them.
[[nodiscard]] Result<std::optional<Entry>> check_target(const Place& place, const Conditions& conditions,
                                                        std::string_view path, const std::stop_token& stop = {});

/// The same for a place that is to hold a regular file. Errors: also not_a_regular_file, is_a_directory.
[[nodiscard]] Result<std::optional<Entry>> check_file_target(const Place& place, const Conditions& conditions,
                                                             std::string_view path, const std::stop_token& stop = {});

/// Sets them on an open file that has not been published yet at `place`. `replaced` is what has its name now. Errors:
/// permission_denied for an owner that was asked for.
[[nodiscard]] Result<> set_attributes(int fd, const Attributes& attributes, const Place& place,
                                      const std::optional<Entry>& replaced);

/// Sets a modification time that no write by anyone else can have: see fs/content/entry.hpp.
[[nodiscard]] Result<> stamp(int fd, std::optional<FileTime> modified = {});

/// What a writer says of the file it has made or changed.
struct Written {
  Entry entry;
  std::string tag;            ///< empty when there can't be one yet: see entity_tag
  bool created = false;       ///< there was nothing of that name before
  std::uint64_t special = 0;  ///< sockets, FIFOs and devices that a copy of a tree does not have
};
[[nodiscard]] Result<Written> written(int fd, bool created);

}  // namespace skiff::fs
