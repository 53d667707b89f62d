#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "base/async/event.hpp"

namespace skiff::runtime::mcp {

/// The messages of one stream to a client, numbered from 1. Messages that were sent are kept for a client whose
/// connection broke. Of more than `kMost` the oldest are dropped. Reactor thread only.
class Outbox {
 public:
  static constexpr std::size_t kMost = 64;

  explicit Outbox(Executor executor) : changed{executor} {}

  struct Entry {
    std::uint64_t number;
    std::string text;
  };

  /// Adds a message, unless the same message waits to be sent: a client that reads slowly gets one report of several
  /// changes.
  void push(std::string text);
  /// Adds the last message. Later ones are dropped.
  void finish(std::string text);
  /// Ends the stream. Safe to repeat.
  void close();

  /// The first message after that number; null: there is none yet. It is valid until the next change.
  [[nodiscard]] const Entry* after(std::uint64_t number) const noexcept;
  [[nodiscard]] bool closed() const noexcept { return closed_; }
  [[nodiscard]] bool answered() const noexcept { return answered_; }
  [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }
  /// The bytes of all messages that it keeps.
  [[nodiscard]] std::size_t bytes() const noexcept;
  void sent_up_to(std::uint64_t number) noexcept { sent_ = number > sent_ ? number : sent_; }

  /// Makes the caller the reader, and returns its number. A stream has one reader: a new one takes over from the one
  /// before.
  [[nodiscard]] std::uint64_t take_over() {
    changed.notify_all();
    return ++reader_;
  }
  [[nodiscard]] bool is_read_by(std::uint64_t reader) const noexcept { return reader == reader_; }

  Event changed;

 private:
  void add(std::string text);

  std::deque<Entry> entries_;
  std::uint64_t next_ = 1;
  std::uint64_t sent_ = 0;
  std::uint64_t reader_ = 0;
  bool closed_ = false;
  bool answered_ = false;
};

}  // namespace skiff::runtime::mcp
