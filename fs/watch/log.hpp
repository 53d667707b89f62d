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
  std::string from = {};  ///< of `renamed`: the path before
  bool is_directory = false;
  std::uint64_t cursor = 0;  ///< one more with each event
};

/// The events of a watch: puts the two halves of a rename together and keeps the newest events for those who come back.
/// While a first half waits for its second, what came after it waits too, so that the order is that of what happened.
class WatchLog {
 public:
  using Clock = std::chrono::steady_clock;

  /// Keeps `most` events. The first has the cursor `first`, at least 1.
  WatchLog(std::size_t most, std::uint64_t first);

  void add(WatchEvent event);
  /// Several changes of one file between two calls of this are one event.
  void end_batch();

  /// Something was moved away. It counts as deleted when nothing comes before `until`.
  void hold(std::uint32_t cookie, WatchEvent deleted, Clock::time_point until);
  /// The second half: true when the first one waits, which then becomes `renamed` to `path`.
  bool pair(std::uint32_t cookie, const std::string& path);
  /// The second half went out of sight: the first one counts as deleted now.
  void give_up(std::uint32_t cookie);
  /// The first half meant nothing.
  void forget(std::uint32_t cookie);
  /// Gives up what waits for longer than `now`, and says which.
  std::vector<std::uint32_t> expire(Clock::time_point now);
  /// When `expire` will have something to do.
  [[nodiscard]] std::optional<Clock::time_point> deadline() const;

  /// Up to `most` events after that cursor. When some of them are gone, or there never was such a cursor, the first is
  /// an `overflow`.
  [[nodiscard]] std::vector<WatchEvent> after(std::uint64_t cursor, std::size_t most) const;
  [[nodiscard]] std::uint64_t newest() const noexcept { return next_ - 1; }

 private:
  struct Slot {
    WatchEvent event;
    std::optional<std::uint32_t> cookie;  // while it waits
    Clock::time_point until;
  };
  void flush();
  void take_back(const std::deque<Slot>::iterator& moved, const std::string& old_path);

  const std::size_t most_;
  std::uint64_t next_;
  std::deque<WatchEvent> kept_;
  std::deque<Slot> waiting_;
  std::unordered_set<std::string> modified_;  // since the last `end_batch`
};

}  // namespace skiff::fs
