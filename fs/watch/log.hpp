#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace skiff::fs {

struct WatchEvent {
  enum class Type : std::uint8_t { created, modified, deleted, renamed, overflow } type;
  std::string path = {};
  std::string from = {};  ///< the old path, for `renamed`
  bool is_directory = false;
  std::uint64_t cursor = 0;  ///< increases by one with each event
};

/// The events of a watch. It joins the two halves of a rename and keeps the newest events for clients that reconnect.
/// While a first half waits for its second, later events wait behind it, so the order is that of the changes.
class WatchLog {
 public:
  using Clock = std::chrono::steady_clock;

  /// Keeps `most` events. The first event has the cursor `first`, at least 1.
  WatchLog(std::size_t most, std::uint64_t first);

  void add(WatchEvent event);
  /// Ends a batch: several changes of one file within a batch are one event.
  void end_batch();

  /// Adds the first half of a rename. It becomes `deleted` if the second half does not come before `until`.
  void hold(std::uint32_t cookie, WatchEvent deleted, Clock::time_point until);
  /// Adds the second half. Returns true if the first half waits; it then becomes `renamed` to `path`.
  bool pair(std::uint32_t cookie, const std::string& path);
  /// The second half went outside of the watch: the first half becomes `deleted` now.
  void give_up(std::uint32_t cookie);
  /// Drops the first half without an event.
  void forget(std::uint32_t cookie);
  /// Makes `deleted` events of the halves whose time is over at `now`, and returns their cookies.
  std::vector<std::uint32_t> expire(Clock::time_point now);
  /// Returns the time of the next `expire`, if any.
  [[nodiscard]] std::optional<Clock::time_point> deadline() const;

  /// Returns up to `most` events after that cursor. If some of them are gone, or the cursor never existed, the first
  /// event is an `overflow`.
  [[nodiscard]] std::vector<WatchEvent> after(std::uint64_t cursor, std::size_t most) const;
  [[nodiscard]] std::uint64_t newest() const noexcept { return next_ - 1; }

 private:
  struct Slot {
    WatchEvent event;
    std::optional<std::uint32_t> cookie;  // set while it waits
    Clock::time_point until;
  };
  void flush();
  void take_back(const std::deque<Slot>::iterator& moved, const std::string& old_path);

  const std::size_t most_;
  std::uint64_t next_;
  std::deque<WatchEvent> kept_;
  std::deque<Slot> waiting_;
  std::unordered_set<std::string> modified_;  // paths modified since the last `end_batch`
};

}  // namespace skiff::fs
