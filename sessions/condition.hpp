#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/async/blocking_pool.hpp"
#include "base/async/event.hpp"
#include "base/async/task.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "fs/path/tree.hpp"
#include "sessions/command.hpp"

/// Things a client may wait for. Each ends when it holds, or is cancelled; each answers whether it holds.
namespace skiff::sessions {

/// The TCP ports that sockets listen on in the agent's network namespace (/proc/net/tcp and tcp6, proc_net(5)), looked
/// up on the disk's threads. One look serves all who ask meanwhile. Reactor thread only.
class ListeningTcp {
 public:
  ListeningTcp(Executor executor, BlockingPool& disk) : disk_{disk}, looked_{executor} {}

  /// As it was at `since` or later. Errors of reading the tables leave them empty.
  [[nodiscard]] Task<bool> has(std::uint16_t port, SteadyTime since);

 private:
  BlockingPool& disk_;
  std::vector<std::uint16_t> ports_;  ///< ascending
  SteadyTime as_of_{};
  bool looking_ = false;
  Event looked_;
};

/// Until something listens on `port`. The kernel tells nobody about listen(2), so this looks, first often, then every
/// 100 ms.
[[nodiscard]] Task<> until_listening(ListeningTcp* listening, std::uint16_t port);

/// Until there is something at `path`, be it a link that leads nowhere. It may lie in directories that do not exist
/// yet, so this looks as `until_listening` does, on the disk's threads. Errors: path_escapes_root, also for a link on
/// the way that leads out of the roots; invalid_field, name_too_long.
[[nodiscard]] Task<Result<>> until_exists(BlockingPool* disk, std::shared_ptr<const fs::Tree> tree, std::string path);

/// A thread for clients' patterns, which may take long: they keep neither the reactor nor the files' threads from
/// others. One turn at a time, in the order they asked for it; only that one has an automaton. Reactor thread only.
class PatternThread {
 public:
  explicit PatternThread(Executor executor) : thread_{"skiff-match", 1}, free_{executor} {}

  /// Runs `work` in its turn. Cancellation ends the wait for the turn; what has begun is not interrupted.
  template <class Work>
  Task<std::invoke_result_t<Work&>> run(Work work) {
    if (taken_) co_await free_.wait();
    taken_ = true;
    struct Turn {
      ~Turn() {
        // It goes to the next one at once: whoever had it just now may have more to search.
        all.taken_ = all.free_.awaited();
        all.free_.notify_one();
      }
      PatternThread& all;
    } const turn{*this};
    co_return co_await thread_.run(std::move(work));
  }

 private:
  BlockingPool thread_;
  Event free_;
  bool taken_ = false;
};

/// An RE2 pattern that is searched in a command's output as it comes, in both streams apart from each other.
class OutputPattern {
 public:
  /// Errors: invalid_field with what RE2 says.
  [[nodiscard]] static Task<Result<OutputPattern>> compile(PatternThread* thread, std::string pattern);
  struct Found {
    bool found = false;
    std::uint64_t next = 0;  ///< offset behind the item in which it was found
    std::string text;        ///< what matched
  };
  /// Until it is found, or the log has ended. A match may span items; one of more than 4 KiB may be
  /// missed where it does.
  [[nodiscard]] Task<Found> search(std::shared_ptr<OutputLog> log) const;

 private:
  class Window;
  OutputPattern(PatternThread* thread, std::string text) : thread_{thread}, text_{std::move(text)} {}
  PatternThread* thread_;
  std::string text_;
};

}  // namespace skiff::sessions
