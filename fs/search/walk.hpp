#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace skiff::fs {

struct WalkOptions {
  /// The path of the directory below the root, "" for the root: what every path in the walk begins with.
  std::string prefix = {};
  /// A descriptor of the root, if that isn't the directory: the ignore files on the way from it count too. Not owned.
  int root = -1;
  bool hidden = false;      ///< also names that begin with a dot; `.git` never
  bool ignored = false;     ///< also what `.gitignore` files ignore
  bool everything = false;  ///< all of it, `.git` too
  bool sorted = false;      ///< depth first, by name; on one thread
  unsigned threads = 1;     ///< 1..4, the caller's included; all have ended when the walk returns
  /// Told of each directory that is counted as unreadable, by its path; from all of the threads, one at a time.
  std::function<void(std::string_view path)> unreadable = {};
};

/// One name that a walk has come to. Valid during the call only.
struct WalkEntry {
  enum class Kind : std::uint8_t { file, directory, link, other } kind;
  std::string_view path;  ///< with the prefix
  const char* name;       ///< its last component
  int directory;          ///< a descriptor of the directory that holds it
  unsigned thread;        ///< below `WalkOptions::threads`
};

enum class WalkStep : std::uint8_t { go_on, leave_out, stop };  ///< `leave_out`: not into this directory

struct WalkSummary {
  std::uint64_t unreadable = 0;   ///< directories that could not be opened or read, or are too deep
  std::uint64_t vanished = 0;     ///< directories that were gone when their turn came
  std::uint64_t not_entered = 0;  ///< virtual file systems
  bool stopped = false;           ///< by the visitor or the stop token, before the end
};

/// Visits everything beneath `directory`, a directory before what is in it, on up to `threads` threads at once. No link
/// is followed, virtual file systems such as /proc are not entered; about 128 descriptors are open at most. What can't
/// be read is counted and left out.
[[nodiscard]] WalkSummary walk(const UniqueFd& directory, const WalkOptions& options, const std::stop_token& stop,
                               const std::function<WalkStep(const WalkEntry&)>& visit);

}  // namespace skiff::fs
