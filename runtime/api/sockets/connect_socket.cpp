#include "runtime/api/sockets/connect_socket.hpp"

#include <map>
#include <vector>

#include <boost/asio/this_coro.hpp>

#include "base/async/expiry.hpp"
#include "base/async/finally.hpp"
#include "runtime/api/answers/event_answers.hpp"
#include "runtime/api/commands/command_routes.hpp"
#include "runtime/api/sockets/messages.hpp"
#include "runtime/api/sockets/socket_routes.hpp"

namespace skiff::runtime::api {
namespace {

using protocol::WebSocket;

/// Most open channels of one connection.
constexpr std::size_t kMostChannels = 1024;

class Connection {
 public:
  Connection(protocol::Upgraded connection, Agent& agent, SocketForm form, Caller caller)
      : agent_{agent},
        socket_{std::move(connection.stream), std::move(connection.buffered), socket_options(agent, connection)},
        form_{form},
        caller_{std::move(caller)},
        holder_{holder_of(caller_.identity)} {}

  Task<> receive() {
    for (;;) {
      auto frame = co_await socket_.read();
      if (!frame || !co_await handle(std::move(*frame))) co_return;
    }
  }

  /// When the agent stops, waits until every command is over and closes with 1001.
  Task<> watch_drain() {
    co_await agent_.shutdown.drain_begun();
    // Copy the commands: messages of the client may change the map meanwhile.
    std::vector<std::shared_ptr<sessions::Command>> commands;
    for (const auto& [number, channel] : channels_) commands.push_back(channel.command);
    for (const auto& command : commands) co_await command->gone();
    co_await socket_.close(1001, "the agent is stopping");
  }

  Task<> watch_expiry() { return close_at_expiry(&socket_, agent_.executor, caller_.identity.expires); }

  Task<> close() {
    socket_.abort();
    for (auto& [number, channel] : channels_) {
      if (channel.kill_on_disconnect && !channel.finished) channel.command->end(sessions::Cause::killed_by_client);
      channel.tasks->cancel();
      co_await channel.tasks->join();
    }
    channels_.clear();
  }

 private:
  /// Handles one frame; false: the connection is over. An idle connection does not hold the frame of this coroutine.
  Task<bool> handle(WebSocket::Message frame) {
    std::uint32_t channel = 0;
    auto message = parse_frame(form_, std::move(frame), channel);
    Result<> taken;
    if (message) {
      taken = co_await take(std::move(*message));
    } else {
      taken = std::unexpected{std::move(message.error())};
    }
    if (taken) co_return true;
    if (const auto code = close_code_for(taken.error())) {
      co_await socket_.close(*code, taken.error().message);
      co_return false;
    }
    std::string text;
    EventWriter{Form::json_frame, channel}.error(text, taken.error());
    text.pop_back();
    (void)co_await socket_.send(WebSocket::Kind::text, std::move(text));
    co_return true;
  }

  struct Channel {
    std::shared_ptr<sessions::Command> command;
    std::shared_ptr<SocketChannel> carrier;
    std::unique_ptr<TaskGroup> tasks;
    Shares::Part place;
    bool kill_on_disconnect = false;
    bool finished = false;
  };

  static Task<> converse(Connection* self, Channel* channel) {
    const auto sent = co_await SocketChannel::send_log(channel->carrier);
    channel->finished = true;
    channel->place.set(0);
    // A send also fails while the connection is being closed.
    if (!sent && !self->socket_.closed()) self->socket_.abort();
  }

  Result<Channel*> open_channel(std::uint32_t number) {
    const auto found = channels_.find(number);
    if (found == channels_.end() || found->second.finished) {
      return fail(Errc::invalid_field, "channel " + std::to_string(number) + " is not open", "/channel");
    }
    return &found->second;
  }

  Task<Result<>> take(ClientMessage message) {
    SKIFF_CO_TRY_VOID(require(caller_.identity, scope_of(message)));
    const std::uint32_t number = message.channel;
    if (auto* start = std::get_if<StartMessage>(&message.body)) co_return co_await begin(number, std::move(*start));
    if (auto* attach = std::get_if<AttachMessage>(&message.body)) co_return co_await begin(number, std::move(*attach));
    if (const auto* ping = std::get_if<PingMessage>(&message.body)) {
      co_return co_await socket_.send(WebSocket::Kind::text, pong(ping->data, number));
    }
    SKIFF_CO_TRY(auto channel, open_channel(number));
    Channel& open = *channel;
    if (auto* input = std::get_if<StdinMessage>(&message.body)) {
      const auto carrier = open.carrier;
      co_return co_await carrier->offer_input(std::move(input->bytes), input->offset);
    }
    if (std::holds_alternative<StdinCloseMessage>(message.body)) {
      const auto carrier = open.carrier;
      co_return co_await carrier->offer_end_of_input();
    }
    if (auto* signal = std::get_if<SignalMessage>(&message.body)) {
      co_return co_await send_signal(open.command, std::move(signal->request));
    }
    if (const auto* resize = std::get_if<ResizeMessage>(&message.body)) co_return open.command->resize(resize->size);
    open.tasks->cancel();
    co_await open.tasks->join();
    channels_.erase(number);
    std::string text = event_text(detached_event(), {}, number);
    co_return co_await socket_.send(WebSocket::Kind::text, std::move(text));
  }

  /// Frees finished channels and checks that `number` can be used.
  Task<Result<>> make_room(std::uint32_t number) {
    if (number == 0) co_return fail(Errc::invalid_field, "the client picks a channel from 1 to 4294967295", "/channel");
    for (auto it = channels_.begin(); it != channels_.end();) {
      if (!it->second.finished) {
        ++it;
        continue;
      }
      it->second.tasks->cancel();
      co_await it->second.tasks->join();
      it = channels_.erase(it);
    }
    if (channels_.contains(number)) {
      co_return fail(Errc::invalid_field, "channel " + std::to_string(number) + " is in use", "/channel");
    }
    if (channels_.size() >= kMostChannels) {
      co_return fail(Errc::resource_exhausted,
                     std::to_string(kMostChannels) + " channels are open on this connection, which is the limit");
    }
    if (!agent_.quotas.channels.leaves_room(holder_)) {
      co_return fail(Errc::resource_exhausted, "too many channels are open with this credential: close some");
    }
    co_return Result<>{};
  }

  Result<std::shared_ptr<sessions::Session>> session(const std::string& id) {
    SKIFF_TRY_VOID(require_session(caller_.identity, id));
    return agent_.registry.find(id);
  }

  Task<Result<>> begin(std::uint32_t number, StartMessage message) {
    SKIFF_CO_TRY_VOID(co_await make_room(number));
    if (agent_.shutdown.draining()) co_return fail(Errc::draining, "the agent is stopping and takes no new work");
    SKIFF_CO_TRY(auto in, session(message.session));
    const CommandRequest& request = message.request;
    SKIFF_CO_TRY(auto started, co_await start(agent_, &caller_, in, &request));
    carry(number, started.command, {.lossless = true, .until_end = message.until_end, .announce = agent_.instance},
          request.on_disconnect == OnDisconnect::kill);
    co_return Result<>{};
  }

  Task<Result<>> begin(std::uint32_t number, AttachMessage message) {
    SKIFF_CO_TRY_VOID(co_await make_room(number));
    SKIFF_CO_TRY(auto in, session(message.session));
    SKIFF_CO_TRY(auto command, in->find(message.id));
    carry(number, command,
          {.from = message.from, .lossless = message.lossless, .until_end = message.until_end, .announce = {}}, false);
    co_return Result<>{};
  }

  void carry(std::uint32_t number, std::shared_ptr<sessions::Command> command, SocketChannel::Options options,
             bool kill) {
    options.form = form_;
    options.channel = number;
    options.tell_channel = true;
    options.turns = &agent_.supervisor.output.reader_turns;
    options.stdin_bytes = agent_.settings.stdin_bytes;
    Channel& channel = channels_[number];
    channel.command = command;
    channel.place = Shares::Part{agent_.quotas.channels, holder_};
    channel.tasks = std::make_unique<TaskGroup>(agent_.executor);
    channel.carrier = std::make_shared<SocketChannel>(socket_, std::move(command), std::move(options), agent_.executor,
                                                      *channel.tasks);
    channel.kill_on_disconnect = kill;
    channel.tasks->spawn("converse", converse(this, &channel));
  }

  Agent& agent_;
  WebSocket socket_;
  SocketForm form_;
  Caller caller_;
  const std::string holder_;
  std::map<std::uint32_t, Channel> channels_;
};

}  // namespace

Task<> serve_connect(protocol::Upgraded upgraded, Agent* agent, SocketForm form, Caller caller) {
  const OpenSocket open{agent->connections, agent->activity};
  Connection connection{std::move(upgraded), *agent, form, std::move(caller)};
  TaskGroup group{agent->executor};
  // Not a coroutine, because its frame would live as long as the connection.
  auto serve = [&] {
    group.spawn("drain", connection.watch_drain());
    group.spawn("expiry", connection.watch_expiry());
    return connection.receive();
  };
  co_await finally(std::move(serve), [&](this auto) -> Task<> {
    co_await end_tasks(&group);
    co_await connection.close();
  });
}

WebSocket::Options socket_options(const Agent& agent, const protocol::Upgraded& of) {
  return {.side = protocol::Side::server,
          .max_message_bytes = agent.settings.max_frame_bytes,
          .write_deadline = agent.settings.write_timeout,
          .write_deadline_code = kClosedTooSlow,
          .ping_interval = agent.settings.keepalive,
          .budget = of.budget,
          .who = of.who,
          .patience = agent.settings.body_timeout};
}

Task<> close_at_expiry(WebSocket* socket, Executor executor, std::optional<WallTime> end) {
  if (!end) co_return;
  Event reached{executor};
  bool over = false;
  const Expiry expiry{executor, end, [&] {
                        over = true;
                        reached.notify_all();
                      }};
  while (!over) co_await reached.wait();
  co_await socket->close(kClosedExpired, std::string{kExpired});
}

std::optional<std::uint16_t> close_code_for(const Error& error) {
  if (is_bad_frame(error.code)) return protocol::close_code::kProtocolError;
  if (error.code == Errc::unauthenticated) return kClosedExpired;
  return std::nullopt;
}

std::string pong(std::string_view data, std::optional<std::uint32_t> channel) {
  return event_text(pong_event(), data, channel == 0 ? std::nullopt : channel);
}

}  // namespace skiff::runtime::api
