#pragma once

#include <sys/types.h>

#include <expected>
#include <string>
#include <vector>

namespace skiff::container {

/// A program to start, with its environment and descriptors. The caller keeps the descriptors.
struct Spawn {
  std::vector<std::string> argv;  ///< begins with the program; a name without a slash is searched in our own PATH
  std::vector<std::string> environment = {};  ///< the complete environment, as NAME=VALUE
  std::string directory = {};                 ///< its working directory; empty: ours
  int input = -1;                             ///< its stdin; -1: /dev/null
  int output = -1;                            ///< its stdout; -1: /dev/null
  int errors = -1;                            ///< its stderr; -1: /dev/null
  bool is_daemon = false;                     ///< gets a session of its own without a terminal, and ignores no signals
};

/// Starts the program with these three descriptors and no others, without blocked signals, without our handlers, and
/// with the limit of open files that we had at our start. Returns the pid of the child, for which the caller waits, or
/// the errno value of the failure; then there is no child. Any thread.
[[nodiscard]] std::expected<pid_t, int> spawn(const Spawn& plan);

}  // namespace skiff::container
