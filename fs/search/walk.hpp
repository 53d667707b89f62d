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
  /// The path of the directory below the root, "" for the root: the prefix of every path in the walk.
  std::string prefix = {};
  /// The root's descriptor if the walk starts below it; then `.gitignore` files from the root down apply, too. Not
  /// owned.
  int root = -1;
  bool hidden = false;      ///< also names that begin with a dot, but never `.git`
  bool ignored = false;     ///< also files that `.gitignore` files ignore
  bool everything = false;  ///< everything, also `.git`
  bool sorted = false;      ///< depth first, by name; on one thread
  unsigned threads = 1;     ///< 1..4, including the caller's; all have ended when the walk returns
  /// Called with the path of each directory that is counted as unreadable, from any of the threads, one at a time.
  std::function<void(std::string_view path)> unreadable = {};
};

/// One name that a walk visits. Valid during the call only.
struct WalkEntry {
  enum class Kind : std::uint8_t { file, directory, link, other } kind;
  std::string_view path;  ///< path with the prefix
  const char* name;       ///< last component of the path
  int directory;          ///< descriptor of the directory that holds it
  unsigned thread;        ///< number of the thread, below `WalkOptions::threads`
};

enum class WalkStep : std::uint8_t { go_on, leave_out, stop };  ///< leave_out: do not enter this directory

struct WalkSummary {
  std::uint64_t unreadable = 0;   ///< directories that could not be opened or read, or are too deep
  std::uint64_t vanished = 0;     ///< directories that were gone when their turn came
  std::uint64_t not_entered = 0;  ///< virtual file systems
  bool stopped = false;           ///< the visitor or the stop token ended the walk early
};

/// Visits what `options` admit beneath `directory`, parents first, on up to `threads` threads. Links are not
/// followed, virtual file systems such as /proc are not entered; at most about 128 descriptors are open. Unreadable
/// directories are counted and left out.
[[nodiscard]] WalkSummary walk(const UniqueFd& directory, const WalkOptions& options, const std::stop_token& stop,
                               const std::function<WalkStep(const WalkEntry&)>& visit);

}  // namespace skiff::fs
