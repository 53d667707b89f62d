#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Changes of a sandbox in a directory that it sees through a layer.
namespace skiff::container::changes {

enum class Kind : std::uint8_t { added, changed, deleted };

/// A difference between the directory and what the sandbox sees there.
struct Change {
  std::string path;  ///< relative to the directory; any bytes
  Kind kind = Kind::changed;
  mode_t mode = 0;          ///< type and mode now; 0: deleted
  mode_t old_mode = 0;      ///< type and mode in the directory; 0: added
  std::uint64_t size = 0;   ///< size of a file now
  std::string target = {};  ///< target of a link now
};

/// Why a change can't be seen or is not applied.
enum class Why : std::uint8_t {
  unreadable,   ///< a part of the layer or of the directory cannot be read
  other_mount,  ///< another file system is mounted there
  conflict,     ///< it has changed in the directory, too
  consent,      ///< it needs --yes
  special,      ///< a FIFO, socket or device
  failed,       ///< a system call failed
};
/// The word of a reason: "unreadable", "other_mount", ...
[[nodiscard]] std::string_view word(Why why) noexcept;

struct LeftOut {
  std::string path;
  Why why = Why::failed;
  std::string detail;  ///< one sentence
};

/// "file", "directory", "symlink", "fifo", "socket", "character_device", "block_device", as in the API.
[[nodiscard]] std::string_view type_word(mode_t mode) noexcept;

}  // namespace skiff::container::changes
