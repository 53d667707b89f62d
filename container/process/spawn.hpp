#pragma once

#include <sys/types.h>

#include <expected>
#include <string>
#include <vector>

namespace skiff::container {

/// A program to start, and what it gets. The descriptors are only borrowed.
struct Spawn {
  std::vector<std::string> argv;              ///< its path first; a name without a slash is looked for in our own PATH
  std::vector<std::string> environment = {};  ///< all of it, as NAME=VALUE
  std::string directory = {};                 ///< where it works; empty: where we do
  int input = -1;                             ///< its stdin; -1: /dev/null
  int output = -1;                            ///< its stdout; -1: /dev/null
  int errors = -1;                            ///< its stderr; -1: /dev/null
  bool is_daemon = false;                     ///< a session of its own, without a terminal, and no signal ignored
};

/// Starts it with these three descriptors and no other one, with no signal blocked, none of our handlers, and the limit
/// of open files that we had at our start. Gives the pid of a child that the caller waits for, or the errno value of
/// what failed: then there is no child. Any thread.
[[nodiscard]] std::expected<pid_t, int> spawn(const Spawn& plan);

}  // namespace skiff::container
