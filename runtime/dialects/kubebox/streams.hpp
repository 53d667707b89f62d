#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/deadline.hpp"
#include "base/event.hpp"
#include "protocol/json/utf8.hpp"
#include "sessions/command.hpp"

namespace skiff::runtime::dialects::kubebox {

/// The output of one process on its way to a client: where its reader is, and what the client has not acknowledged yet.
/// Its cursor is lossless: while there is a reader, the command waits for it rather than lose a byte. Reactor thread
/// only.
class OutputStream {
 public:
  OutputStream(std::string session, std::uint64_t process, std::shared_ptr<sessions::Command> command);

  std::string session;          ///< as the client calls it
  const std::uint64_t process;  ///< the client's process id
  const std::shared_ptr<sessions::Command> command;
  sessions::Cursor cursor;
  protocol::Utf8Splitter out, err;  ///< no character is cut between two events
  bool told_exit = false;

  /// Event `id` tells what begins at this place of the log; called before the splitters see any of that.
  void sent(std::uint64_t id, std::uint64_t offset);
  /// The client has got event `id`, and so all before it.
  void acknowledge(std::uint64_t id);
  /// Nothing is left to be sent, or to be sent again.
  [[nodiscard]] bool delivered() const noexcept { return told_exit && unacknowledged_.empty(); }
  /// Goes back to the first event that was not acknowledged.
  void rewind();

 private:
  /// More are taken for received: a client that acknowledges nothing.
  static constexpr std::size_t kMostUnacknowledged = 256;
  struct Sent {
    std::uint64_t id;
    std::uint64_t offset;
    protocol::Utf8Splitter out, err;
  };
  std::deque<Sent> unacknowledged_;
};

/// Streams that have no connection at the moment: of processes that were just started in mode `stream`, and of
/// connections that broke. Each waits for a minute. Reactor thread only.
class WaitingStreams {
 public:
  static constexpr std::chrono::milliseconds kPatience{60'000};
  static constexpr std::size_t kMost = 1024;  ///< the oldest goes then

  explicit WaitingStreams(Executor executor);

  /// `host`: whose connection it had; empty: none yet.
  void add(std::shared_ptr<OutputStream> stream, std::string host);
  /// The number of a new connection: larger than those before.
  [[nodiscard]] std::uint64_t number() noexcept { return ++last_number_; }
  /// A connection was found dead by its silence: who had it may have another one by now, with a larger number.
  void found_dead(std::uint64_t number);
  /// Ends when a connection with a smaller number was found dead.
  [[nodiscard]] Task<> older_found_dead(std::uint64_t number);
  /// The one of this process; null when none waits.
  [[nodiscard]] std::shared_ptr<OutputStream> take(const sessions::Command& command);
  /// Those whose connection, from this host, broke.
  [[nodiscard]] std::vector<std::shared_ptr<OutputStream>> take_of(std::string_view host);

 private:
  struct Entry {
    std::shared_ptr<OutputStream> stream;
    std::string host;
    SteadyTime until;
  };
  void drop_old();

  std::list<Entry> entries_;  ///< the one that has waited longest first
  std::uint64_t last_number_ = 0;
  std::uint64_t dead_ = 0;  ///< the number of the one that was found dead last
  Event found_dead_;
  Deadline expiry_;
};

}  // namespace skiff::runtime::dialects::kubebox
