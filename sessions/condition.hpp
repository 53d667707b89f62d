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

/// Conditions that a client may wait for. Each wait ends when its condition holds, or on cancellation.
namespace skiff::sessions {

/// The TCP ports that sockets listen on in the agent's network namespace (/proc/net/tcp and tcp6, proc_net(5)), read on
/// the disk's threads. Callers that ask at the same time share one read. Reactor thread only.
class ListeningTcp {
 public:
  ListeningTcp(Executor executor, BlockingPool& disk) : disk_{disk}, looked_{executor} {}

  /// Whether something listened on `port` at `since` or later. A table that cannot be read counts as empty.
  [[nodiscard]] Task<bool> has(std::uint16_t port, SteadyTime since);

 private:
  BlockingPool& disk_;
  std::vector<std::uint16_t> ports_;  ///< ascending
  SteadyTime as_of_{};
  bool looking_ = false;
  Event looked_;
};

/// Waits until something listens on `port`. The kernel does not report listen(2), so this polls: after 2 ms at first,
/// at most every 100 ms.
[[nodiscard]] Task<> until_listening(ListeningTcp* listening, std::uint16_t port);

/// Waits until something exists at `path`, even a dangling link. Its directories need not exist yet, so this polls as
/// `until_listening` does, on the disk's threads. Errors: path_escapes_root, also for a link on the way that leads out
/// of the roots; invalid_field, name_too_long.
[[nodiscard]] Task<Result<>> until_exists(BlockingPool* disk, std::shared_ptr<const fs::Tree> tree, std::string path);

/// A thread for clients' patterns, which may take long and must block neither the reactor nor the threads for files. It
/// runs one search at a time, in the order of the calls, so only one RE2 automaton exists at a time. Reactor thread
/// only.
class PatternThread {
 public:
  explicit PatternThread(Executor executor) : thread_{"skiff-match", 1}, free_{executor} {}

  /// Runs `work` when its turn comes. Cancellation ends the wait for the turn, but does not interrupt `work`.
  template <class Work>
  Task<std::invoke_result_t<Work&>> run(Work work) {
    if (taken_) co_await free_.wait();
    taken_ = true;
    struct Turn {
      ~Turn() {
        // Pass the turn on at once: the caller that had it may have more to search.
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

/// An RE2 pattern that is searched in a command's output as it comes, in each stream separately.
class OutputPattern {
 public:
  /// Errors: invalid_field with RE2's message.
  [[nodiscard]] static Task<Result<OutputPattern>> compile(PatternThread* thread, std::string pattern);
  struct Found {
    bool found = false;
    std::uint64_t next = 0;  ///< offset after the item in which the match ends
    std::string text;        ///< the matched text
  };
  /// Waits until the pattern matches or the log has ended. A match may span items; one that does and is longer than 4
  /// KiB may be missed.
  [[nodiscard]] Task<Found> search(std::shared_ptr<OutputLog> log) const;

 private:
  class Window;
  OutputPattern(PatternThread* thread, std::string text) : thread_{thread}, text_{std::move(text)} {}
  PatternThread* thread_;
  std::string text_;
};

}  // namespace skiff::sessions
