#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "fs/content/entry.hpp"
#include "fs/path/tree.hpp"
#include "protocol/http/message.hpp"

namespace skiff::runtime::dialects::e2b {

/// A mode as Go's fs.FileMode prints it: "-rw-r--r--", "drwxr-xr-x", "dtrwxrwxrwx", "Lrwxrwxrwx".
[[nodiscard]] std::string mode_text(fs::EntryType type, mode_t mode);

/// Looks up the names of users and groups, each of them once. For one thread, which may block.
class Names {
 public:
  [[nodiscard]] const std::string& user(uid_t uid);
  [[nodiscard]] const std::string& group(gid_t gid);

 private:
  std::map<uid_t, std::string> users_;
  std::map<gid_t, std::string> groups_;
};

/// The filesystem.EntryInfo of what is at `path`, which is absolute. A link to something within the root is described
/// as that, with `symlinkTarget`. Blocks. Errors: those of fs::look_at.
[[nodiscard]] Result<std::string> entry_info(const fs::Tree& tree, const std::string& path, Names& names);

// A client's metadata of a file: X-Metadata-NAME: VALUE at an upload, `metadata` in EntryInfo, the extended attribute
// user.e2b.NAME (xattr(7)) on the disk.

using Metadata = std::map<std::string, std::string>;
inline constexpr std::string_view kMetadataAttribute = "user.e2b.";
/// Reads the metadata from an upload's header. Errors: invalid_field for names above 246 bytes, and more than 4096
/// bytes in all.
[[nodiscard]] Result<Metadata> asked_metadata(const protocol::Headers& headers);
/// Stores the metadata as extended attributes. Blocks. Errors: not_supported if the file system keeps none.
[[nodiscard]] Result<> set_metadata(int fd, const Metadata& metadata);
/// Appends {"name":"value"}.
void append_metadata(std::string& out, const Metadata& metadata);

}  // namespace skiff::runtime::dialects::e2b
