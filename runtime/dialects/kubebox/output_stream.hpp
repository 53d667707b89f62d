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

/// The output of one process as events on their way to a client: which were read from its log, which were sent, which
/// the client has acknowledged. Its cursor is lossless: while there is one, the command waits for it rather than lose a
/// byte. Reactor thread only.
class OutputStream {
 public:
  OutputStream(EventData names, std::shared_ptr<sessions::Command> command, sessions::Turns& turns);

  const EventData names;
  const std::shared_ptr<sessions::Command> command;

  /// To be waited for before each `read`.
  [[nodiscard]] LogReader& reader() noexcept { return reader_; }
  /// Makes events of what the log has now, up to this turn's share: neighbouring output of one stream is one event.
  /// False: there was nothing.
  bool read();
  /// The frame of the event to be sent next, with the id behind `last`, which becomes that; nothing: none was read.
  [[nodiscard]] std::optional<std::string> next(std::uint64_t& last);
  /// The client has got the event with this id, and so all before it: they went over the same connection.
  void acknowledge(std::uint64_t id);
  /// Goes back to the first event that was not acknowledged.
  void rewind();

  /// The exit was sent, which is the last event.
  [[nodiscard]] bool told_exit() const noexcept { return reader_.over() && sent_ == events_.size(); }
  /// Nothing is left to be sent, or to be sent again.
  [[nodiscard]] bool delivered() const noexcept { return reader_.over() && events_.empty(); }

 private:
  /// More are taken for received: a client that acknowledges nothing.
  static constexpr std::size_t kMostUnacknowledged = 256;
  struct Event {
    std::uint64_t offset;                    ///< where it begins in the log,
    protocol::JsonChunks out, err;           ///< and which halves of characters came before
    std::optional<sessions::Stream> stream;  ///< nothing: the exit
    std::string text = {};                   ///< as the content of a JSON string
    std::uint64_t id = 0;                    ///< once it was sent
  };
  void read_exit(const sessions::LogItem& item);
  Event& add(std::uint64_t offset, std::optional<sessions::Stream> stream);
  protocol::JsonChunks& chunks(sessions::Stream stream) { return stream == sessions::Stream::out ? out_ : err_; }

  LogReader reader_;
  protocol::JsonChunks out_, err_;  ///< no character is cut between two events
  std::deque<Event> events_;        ///< that were read and not acknowledged
  std::size_t sent_ = 0;            ///< so many of them
};

}  // namespace skiff::runtime::dialects::kubebox
