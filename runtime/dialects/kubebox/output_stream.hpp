#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/json/chunks.hpp"
#include "runtime/dialects/kubebox/events.hpp"
#include "runtime/reader/log_reader.hpp"
#include "sessions/command.hpp"

namespace skiff::runtime::dialects::kubebox {

/// The output of one process as events for a client. It knows which events were read from the log, which were sent, and
/// which the client has acknowledged. Its cursor is lossless: while it exists, the command waits rather than lose a
/// byte. Reactor thread only.
class OutputStream {
 public:
  OutputStream(EventData names, std::shared_ptr<sessions::Command> command, sessions::Turns& turns);

  const EventData names;
  const std::shared_ptr<sessions::Command> command;

  /// The reader, which must be ready before each `read`.
  [[nodiscard]] LogReader& reader() noexcept { return reader_; }
  /// Makes events of what the log has now, up to this turn's share. Neighbouring output of one stream becomes one
  /// event. False: there was nothing.
  bool read();
  /// The frame of the next event to be sent. Its id is `last` plus one, which becomes the new `last`. Nothing: every
  /// event was sent.
  [[nodiscard]] std::optional<std::string> next(std::uint64_t& last);
  /// Marks the event with this id, and all before it, as received: they were sent over the same connection.
  void acknowledge(std::uint64_t id);
  /// Goes back to the first event that was not acknowledged.
  void rewind();

  /// Whether the exit was sent, which is the last event.
  [[nodiscard]] bool told_exit() const noexcept { return reader_.over() && sent_ == events_.size(); }
  /// Whether nothing is left to be sent, or to be sent again.
  [[nodiscard]] bool delivered() const noexcept { return reader_.over() && events_.empty(); }

 private:
  /// The most unacknowledged events. The oldest of more count as received, for a client that acknowledges nothing.
  static constexpr std::size_t kMostUnacknowledged = 256;
  struct Event {
    std::uint64_t offset;                    ///< where it begins in the log
    protocol::JsonChunks out, err;           ///< the halves of characters that came before it
    std::optional<sessions::Stream> stream;  ///< nothing: the exit
    std::string text = {};                   ///< as the content of a JSON string
    std::uint64_t id = 0;                    ///< 0 until it was sent
  };
  void read_exit(const sessions::LogItem& item);
  Event& add(std::uint64_t offset, std::optional<sessions::Stream> stream);
  protocol::JsonChunks& chunks(sessions::Stream stream) { return stream == sessions::Stream::out ? out_ : err_; }

  LogReader reader_;
  protocol::JsonChunks out_, err_;  ///< they keep a character from being cut between two events
  std::deque<Event> events_;        ///< read, and not acknowledged yet
  std::size_t sent_ = 0;            ///< how many of them were sent
};

}  // namespace skiff::runtime::dialects::kubebox
