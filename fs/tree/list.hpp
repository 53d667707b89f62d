#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "fs/content/entry.hpp"
#include "fs/path/tree.hpp"

namespace skiff::fs {

enum class Depth : unsigned char { one, all };

struct ListOptions {
  Depth depth = Depth::one;
  std::size_t limit = 1000;  ///< entries of a page, at least 1
  std::string cursor = {};   ///< cursor of the page before
  /// Whether an entry, by its path below the listed directory, belongs to the list. Directories that do not belong to
  /// it are entered all the same.
  std::function<bool(std::string_view path)> wanted = {};
  bool tags = true;
  std::stop_token stop = {};
};

struct Listed {
  std::string path;  ///< path below the listed directory
  Entry entry;
  std::string tag;  ///< empty for a fresh file that is too large to be hashed for a list
};

struct PageEnd {
  std::string next_cursor;     ///< empty: this was the last page
  bool too_deep = false;       ///< there are directories below 256 levels, which were not entered
  std::size_t unreadable = 0;  ///< directories of this page that could not be read
};

struct Page : PageEnd {
  std::vector<Listed> entries;
};

/// An entry of the list; valid until the sink returns.
struct SeenEntry {
  std::string_view path;
  const Entry& entry;
  std::string_view tag;
};
using ListSink = std::function<void(const SeenEntry& entry)>;

/// Lists the entries of a directory. A link at the end of `path` is followed, links below it are not. Sorted by bytes,
/// name by name, a directory before its contents. A page continues after the last name of the page before, whatever was
/// created or removed meanwhile. Memory grows with the limit, not with the directory. A page may end early, with a
/// cursor, when very many names are not wanted. Errors: those of Tree; not_a_directory; cancelled when `stop` is
/// requested.
[[nodiscard]] Result<Page> list(const Tree& tree, std::string_view path, const ListOptions& options = {});
/// As above, with a sink that takes each entry at once. After an error the sink has had a part of the entries.
[[nodiscard]] Result<PageEnd> list(const Tree& tree, std::string_view path, const ListOptions& options,
                                   const ListSink& sink);

}  // namespace skiff::fs
