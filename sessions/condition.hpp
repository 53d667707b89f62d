#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/task.hpp"
#include "sessions/command.hpp"

/// Things a client may wait for. Each ends when it holds, or is cancelled; each answers whether it holds.
namespace skiff::sessions {

/// True when a socket listens on TCP `port` in the agent's network namespace (/proc/net/tcp and tcp6, proc_net(5)).
[[nodiscard]] bool is_listening(std::uint16_t port);

/// Until something listens on `port`. The kernel tells nobody about listen(2), so this looks, first often, then every
/// 100 ms.
[[nodiscard]] Task<> until_listening(Executor executor, std::uint16_t port);

/// Until `path` exists (lstat(2)). It may lie in folders that do not exist yet, so this looks as `until_listening`
/// does.
[[nodiscard]] Task<> until_exists(Executor executor, std::string path);

/// An RE2 pattern that is searched in a command's output as it comes, in both streams apart from each other.
class OutputPattern {
 public:
  /// Errors: invalid_field with what RE2 says.
  [[nodiscard]] static Result<OutputPattern> compile(const std::string& pattern);
  struct Found {
    bool found = false;
    std::uint64_t next = 0;  ///< offset behind the item in which it was found
    std::string text;        ///< what matched
  };
  /// Until it is found, or the log has ended. A match may span items; one of more than 4 KiB may be
  /// missed where it does.
  [[nodiscard]] Task<Found> search(std::shared_ptr<OutputLog> log) const;

 private:
  struct Compiled;
  class Window;
  explicit OutputPattern(std::shared_ptr<const Compiled> compiled) : compiled_{std::move(compiled)} {}
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace skiff::sessions
