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
#include "sessions/command.hpp"

namespace skiff::runtime::api {

/// One command on one WebSocket: carries its log to the client at the client's pace, and stdin to it. Reactor thread
/// only; held by shared_ptr by the coroutines that work for it.
class SocketChannel : public std::enable_shared_from_this<SocketChannel> {
 public:
  struct Options {
    SocketForm form = SocketForm::json;
    std::uint32_t channel = 0;
    bool tell_channel = false;  ///< events name the channel (on /connect)
    std::uint64_t from = 0;
    bool lossless = false;
    bool until_end = false;
    std::string announce;  ///< the agent's instance: begin with a `started` event; empty: don't
    std::size_t stdin_bytes = std::size_t{1} << 20U;
    sessions::Turns* turns = nullptr;  ///< never null when used
  };
  /// `tasks` is where the writing of stdin runs, from the first input on.
  SocketChannel(protocol::WebSocket& socket, std::shared_ptr<sessions::Command> command, Options options,
                Executor executor, TaskGroup& tasks);

  /// Sends the log until its exit (or end). An error is the connection's.
  [[nodiscard]] static Task<Result<>> send_log(std::shared_ptr<SocketChannel> self);
  /// Queues bytes for stdin, and waits while the queue is full as long as the command goes on reading: a second without
  /// progress is taken for a command that does not read. `offset`: where they belong; a mismatch comes as an error
  /// event. Errors: stdin_closed; resource_exhausted when more than `stdin_bytes` wait: nothing of it was taken.
  [[nodiscard]] Task<Result<>> offer_input(std::string bytes, std::optional<std::uint64_t> offset);
  /// The same for the end of the input, which on a terminal may be typed again and again.
  [[nodiscard]] Task<Result<>> offer_end_of_input();

  [[nodiscard]] const std::shared_ptr<sessions::Command>& command() const noexcept { return command_; }
  [[nodiscard]] const Options& options() const noexcept { return options_; }
  /// Sends one event line as a text frame.
  [[nodiscard]] Task<Result<>> send_error(Error error);

 private:
  struct Input {
    std::string bytes;
    std::optional<std::uint64_t> offset;
    bool end = false;
    /// What it takes of `stdin_bytes`: also one without bytes takes memory.
    [[nodiscard]] std::size_t cost() const noexcept { return sizeof(Input) + bytes.size(); }
  };
  [[nodiscard]] Task<Result<>> send_item(sessions::LogItem item);
  [[nodiscard]] Task<Result<>> send_events(std::string events);
  [[nodiscard]] Task<Result<>> offer(Input input);
  /// Writes queued stdin to the command, in order, and ends it when asked to. Runs until cancelled.
  [[nodiscard]] static Task<> feed(std::shared_ptr<SocketChannel> self);

  // What thousands that only watch do not need is made when it is needed: the timer, and the coroutine of `feed`.
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
