#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "base/async/deadline.hpp"
#include "base/async/task_group.hpp"
#include "protocol/websocket/socket.hpp"
#include "runtime/api/events.hpp"
#include "runtime/api/sockets/messages.hpp"
#include "runtime/reader/log_reader.hpp"
#include "sessions/command.hpp"

namespace skiff::runtime::api {

/// One command on one WebSocket: sends its log to the client at the client's pace, and the client's input to its stdin.
/// Reactor thread only; its coroutines hold it by shared_ptr.
class SocketChannel : public std::enable_shared_from_this<SocketChannel> {
 public:
  struct Options {
    SocketForm form = SocketForm::json;
    std::uint32_t channel = 0;
    bool tell_channel = false;  ///< events name the channel (on /connect)
    std::uint64_t from = 0;
    bool lossless = false;
    bool until_end = false;
    std::string announce;  ///< the agent's instance, for a first event `started`; empty: no such event
    std::size_t stdin_bytes = std::size_t{1} << 20U;
    sessions::Turns* turns = nullptr;  ///< never null when used
  };
  /// `tasks` runs the writing of stdin, from the first input on.
  SocketChannel(protocol::WebSocket& socket, std::shared_ptr<sessions::Command> command, Options options,
                Executor executor, TaskGroup& tasks);

  /// Sends the log until its exit, or until its end with `until_end`. Errors: those of the connection.
  [[nodiscard]] static Task<Result<>> send_log(std::shared_ptr<SocketChannel> self);
  /// Queues bytes for stdin. While the queue is full, it waits as long as the command reads: after a second without
  /// progress it gives up. `offset` is the offset of the bytes in stdin; a mismatch is reported by an error event.
  /// Errors: stdin_closed; resource_exhausted when the queue of `stdin_bytes` is full, and none of the bytes were
  /// queued.
  [[nodiscard]] Task<Result<>> offer_input(std::string bytes, std::optional<std::uint64_t> offset);
  /// Queues the end of the input, which on a terminal may be typed several times.
  [[nodiscard]] Task<Result<>> offer_end_of_input();

  [[nodiscard]] const std::shared_ptr<sessions::Command>& command() const noexcept { return command_; }
  [[nodiscard]] const Options& options() const noexcept { return options_; }
  /// Sends an `error` event as a text frame.
  [[nodiscard]] Task<Result<>> send_error(Error error);

 private:
  struct Input {
    std::string bytes;
    std::optional<std::uint64_t> offset;
    bool end = false;
    /// The part of `stdin_bytes` that it takes; an input without bytes takes memory, too.
    [[nodiscard]] std::size_t cost() const noexcept { return sizeof(Input) + bytes.size(); }
  };
  // Coroutines of their own, because the frame of one that waits lives as long as the connection.
  [[nodiscard]] Task<Result<>> send_start();
  [[nodiscard]] Task<Result<>> send_items(LogReader* reader, Wake wake);
  [[nodiscard]] Task<Result<>> send_item(sessions::LogItem item);
  [[nodiscard]] Task<Result<>> send_events(std::string events);
  [[nodiscard]] Task<Result<>> offer(Input input);
  /// Writes queued input to the command in order, and ends its stdin when told to. Runs until cancelled.
  [[nodiscard]] static Task<> feed(std::shared_ptr<SocketChannel> self);

  // The timer and the coroutine of `feed` are created on demand, because thousands of channels may only watch.
  Executor executor_;
  TaskGroup& tasks_;
  protocol::WebSocket& socket_;
  std::shared_ptr<sessions::Command> command_;
  Options options_;
  EventWriter writer_;
  std::list<Input> input_;
  bool feeding_ = false;
  std::size_t input_bytes_ = 0;
  std::size_t ends_ = 0;
  bool stalled_ = false;
  Event input_changed_;
  std::optional<Deadline> input_stall_;
};

}  // namespace skiff::runtime::api
