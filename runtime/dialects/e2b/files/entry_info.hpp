#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "fs/content/entry.hpp"
#include "fs/path/tree.hpp"
#include "protocol/http/message.hpp"

namespace skiff::runtime::dialects::e2b {

/// A mode as Go's fs.FileMode shows it: "-rw-r--r--", "drwxr-xr-x", "dtrwxrwxrwx", "Lrwxrwxrwx".
[[nodiscard]] std::string mode_text(fs::EntryType type, mode_t mode);

/// Names of users and groups, each looked for once. For one thread, which may block.
class Names {
 public:
  [[nodiscard]] const std::string& user(uid_t uid);
  [[nodiscard]] const std::string& group(gid_t gid);

 private:
  std::map<uid_t, std::string> users_;
  std::map<gid_t, std::string> groups_;
};

/// filesystem.EntryInfo of what is at `path`, absolute. A link that leads somewhere within the root is told as that,
/// with `symlinkTarget`. It blocks. Errors: those of fs::look_at.
[[nodiscard]] Result<std::string> entry_info(const fs::Tree& tree, const std::string& path, Names& names);

// What a client keeps with a file: X-Metadata-NAME: VALUE at an upload, `metadata` in EntryInfo, the extended attribute
// user.e2b.NAME (xattr(7)) on the disk.

using Metadata = std::map<std::string, std::string>;
inline constexpr std::string_view kMetadataAttribute = "user.e2b.";
/// Errors: invalid_field for names above 246 bytes, and more than 4096 bytes in all.
[[nodiscard]] Result<Metadata> asked_metadata(const protocol::Headers& headers);
/// It blocks. Errors: not_supported where the file system keeps none.
[[nodiscard]] Result<> set_metadata(int fd, const Metadata& metadata);
/// {"name":"value"}
void append_metadata(std::string& out, const Metadata& metadata);

}  // namespace skiff::runtime::dialects::e2b
