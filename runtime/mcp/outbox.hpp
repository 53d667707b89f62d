#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "base/async/event.hpp"

namespace skiff::runtime::mcp {

/// The messages of one stream to a client, numbered from 1. Those that were sent are kept for a client whose connection
/// broke; of more than `kMost` the oldest go. Reactor thread only.
class Outbox {
 public:
  static constexpr std::size_t kMost = 64;

  explicit Outbox(Executor executor) : changed{executor} {}

  struct Entry {
    std::uint64_t number;
    std::string text;
  };

  /// A message that already waits to be sent is not added again: a client that reads slowly is told once what happened
  /// often.
  void push(std::string text);
  /// The last message. What comes after it is dropped.
  void finish(std::string text);
  /// No message comes any more. Safe to repeat.
  void close();

  /// The first message after that number; null when there is none yet. Valid until the next change.
  [[nodiscard]] const Entry* after(std::uint64_t number) const noexcept;
  [[nodiscard]] bool closed() const noexcept { return closed_; }
  [[nodiscard]] bool answered() const noexcept { return answered_; }
  [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }
  /// Of all messages that it keeps.
  [[nodiscard]] std::size_t bytes() const noexcept;
  void sent_up_to(std::uint64_t number) noexcept { sent_ = number > sent_ ? number : sent_; }

  /// A stream has one connection: each reader takes it over from the one before.
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
