#include "runtime/dialects/kubebox/connection.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "base/async/finally.hpp"
#include "base/async/task_group.hpp"
#include "base/id.hpp"
#include "protocol/json/text.hpp"
#include "protocol/socket_io/packets.hpp"
#include "protocol/websocket/socket.hpp"
#include "runtime/api/sockets/connect_socket.hpp"
#include "runtime/api/sockets/socket_routes.hpp"
#include "runtime/dialects/kubebox/events.hpp"
#include "runtime/dialects/kubebox/names.hpp"

namespace skiff::runtime::dialects::kubebox {
namespace {

namespace socket_io = protocol::socket_io;
using protocol::WebSocket;
using socket_io::PacketType;

/// The most streams that one connection may have at once.
constexpr std::size_t kMostStreams = 256;
/// Output that comes within this time after an event goes with the next one. Otherwise a command that prints line by
/// line would cause an event for each line.
constexpr std::chrono::milliseconds kGathering{20};

WebSocket::Options options_of(const Agent& agent, const protocol::Upgraded& of) {
  auto options = api::socket_options(agent, of);
  options.ping_interval = std::chrono::milliseconds{0};  // Engine.IO has pings of its own
  return options;
}

class SocketIo {
 public:
  SocketIo(protocol::Upgraded upgraded, Agent& agent, WaitingStreams& waiting, std::string host)
      : agent_{agent},
        waiting_{waiting},
        connection_{waiting.connection(std::move(host))},
        socket_{std::move(upgraded.stream), std::move(upgraded.buffered), options_of(agent, upgraded)},
        streaming_{agent.executor} {}

  /// Receives packets until the connection is over.
  Task<> receive() {
    const auto& settings = agent_.settings;
    auto opening = socket_io::to_frame({.id = new_id("e-"),
                                        .ping_interval = settings.keepalive,
                                        .ping_timeout = settings.write_timeout,
                                        .max_payload = settings.max_frame_bytes});
    if (auto opened = co_await send(std::move(opening)); !opened) co_return;
    while (!left_) {
      auto frame = co_await socket_.read();
      if (!frame) co_return;
      Result<> taken = fail(Errc::invalid_request, "binary frames are not taken");
      if (frame->kind == WebSocket::Kind::text) taken = co_await take(std::move(frame->payload));
      if (taken) continue;
      co_await socket_.close(protocol::close_code::kProtocolError, taken.error().message);
      co_return;
    }
    co_await socket_.close(protocol::close_code::kNormal, {});
  }

  /// Sends pings. Ends the connection of a client that does not answer them, or never connects the namespace.
  Task<> keep_alive() {
    for (;;) {
      co_await pause(agent_.settings.keepalive);
      const SteadyTime now = std::chrono::steady_clock::now();
      silent_ = pinged_ && now - *pinged_ >= agent_.settings.write_timeout;
      if (silent_ || !connected_) {
        socket_.abort();
        co_return;
      }
      if (pinged_) continue;
      pinged_ = now;
      sent_before_ping_ = last_event_;
      if (auto sent = co_await send(std::string{socket_io::kPingFrame}); !sent) co_return;
    }
  }

  /// Closes the connection when the agent stops. All commands have ended by then, and their exits are sent first.
  Task<> watch_drain() {
    co_await agent_.shutdown.drain_begun();
    co_await streaming_.join();
    co_await socket_.close(protocol::close_code::kGoingAway, "the agent is stopping");
  }

  /// Takes over the streams of an older connection that is found dead: its client may have connected again before that.
  Task<> watch_older() {
    for (;;) {
      co_await waiting_.found_dead.wait();
      if (connected_) take_over();
    }
  }

  Task<> finish() {
    socket_.abort();
    co_await end_tasks(&streaming_);
    if (left_ || agent_.shutdown.draining()) co_return;
    for (auto& [process, stream] : streams_) {
      if (stream->delivered()) continue;
      stream->rewind();
      waiting_.add(std::move(stream), connection_);
    }
    const auto& closed = socket_.closed();
    if (silent_ || (closed && closed->code == api::kClosedTooSlow)) waiting_.found_dead.notify_all();
  }

 private:
  Task<Result<>> send(std::string text) { return socket_.send(WebSocket::Kind::text, std::move(text)); }

  Task<Result<>> take(std::string text) {
    SKIFF_CO_TRY(auto frame, socket_io::parse_frame(text));
    switch (frame.type) {
      case socket_io::FrameType::close:
        left_ = true;
        co_return Result<>{};
      case socket_io::FrameType::pong:
        if (pinged_) acknowledge(sent_before_ping_);
        pinged_.reset();
        co_return Result<>{};
      default:
        co_return co_await take_packet(frame.content);
    }
  }

  /// `message` must live until the task has ended.
  Task<Result<>> take_packet(std::string_view message) {
    SKIFF_CO_TRY(auto packet, socket_io::parse_packet(message));
    if (!packet.other.empty()) co_return co_await send(socket_io::refusal_frame(packet.other));
    if (!connected_ && packet.type != PacketType::connect) {
      co_return fail(Errc::invalid_request, "the namespace is not connected");
    }
    switch (packet.type) {
      case PacketType::connect:
        co_return co_await connect();
      case PacketType::disconnect:
        left_ = true;
        co_return Result<>{};
      case PacketType::ack:
        acknowledge(*packet.id);
        co_return Result<>{};
      case PacketType::event:
        co_return co_await take_event(packet);
    }
    std::unreachable();
  }

  Task<Result<>> connect() {
    if (connected_) co_return fail(Errc::invalid_request, "the namespace is connected already");
    connected_ = true;
    const std::string sid = R"({"sid":")" + new_id("s-") + R"("})";
    SKIFF_CO_TRY_VOID(
        co_await send(socket_io::to_frame(socket_io::Packet{.type = PacketType::connect, .payload = sid})));
    take_over();
    co_return Result<>{};
  }

  void take_over() {
    for (auto& stream : waiting_.take_for(connection_)) {
      // The client may have asked again for a process meanwhile: that stream is sent from its beginning.
      if (!streams_.contains(*stream->names.process_id)) begin(std::move(stream));
    }
  }

  Task<Result<>> take_event(socket_io::Packet packet) {
    SKIFF_CO_TRY(auto event, parse_client_event(packet.payload));
    Result<> done = co_await follow_event(event);
    if (!done && !socket_.closed()) done = co_await tell_error(event, done.error());
    if (!done || !packet.id) co_return done;
    co_return co_await send(
        socket_io::to_frame(socket_io::Packet{.type = PacketType::ack, .id = packet.id, .payload = "[]"}));
  }

  Task<Result<>> follow_event(ClientEvent event) {
    const EventData& data = event.data;
    const auto session = find_session(agent_.registry, data.session_id);
    if (event.name == "check_status") {
      const auto command = session ? find_process(**session, data.process_id) : std::unexpected{session.error()};
      std::string frame = socket_io::begin_event("status");
      protocol::append_json_key(frame, "running");
      frame += !command ? "null" : (*command)->exit_status() ? "false" : "true";
      end_event(frame, data);
      co_return co_await send(std::move(frame));
    }
    if (event.name != "initialize" && event.name != "start_command_stream") {
      co_return fail(Errc::invalid_request, "the events are initialize, start_command_stream and check_status");
    }
    if (!session) co_return std::unexpected{session.error()};
    if (event.name == "start_command_stream") co_return start_stream(data, **session);
    std::string frame = socket_io::begin_event("initialized");
    protocol::append_json_text(frame, "status", "success");
    end_event(frame, {data.session_id});
    co_return co_await send(std::move(frame));
  }

  /// Reports an error. If a stream cannot begin, it also sends an exit, for which the client waits.
  Task<Result<>> tell_error(ClientEvent event, Error error) {
    std::string frame = socket_io::begin_event("command_error");
    protocol::append_json_text(frame, "error", error.message);
    end_event(frame, event.data);
    auto sent = co_await send(std::move(frame));
    if (!sent || event.name != "start_command_stream" || !event.data.process_id) co_return sent;
    co_return co_await send(exit_event(event.data, -1));
  }

  Result<> start_stream(const EventData& data, const sessions::Session& session) {
    SKIFF_TRY(auto command, find_process(session, data.process_id));
    if (const auto found = streams_.find(*data.process_id); found != streams_.end()) {
      if (!found->second->told_exit()) return {};
      streams_.erase(found);
    }
    std::erase_if(streams_, [](const auto& one) { return one.second->delivered(); });
    if (streams_.size() >= kMostStreams) {
      return fail(Errc::resource_exhausted,
                  std::to_string(kMostStreams) + " streams are open on this connection, which is the limit");
    }
    auto stream = waiting_.take(*command);
    if (!stream) stream = std::make_shared<OutputStream>(data, command, agent_.supervisor.output.reader_turns);
    begin(std::move(stream));
    return {};
  }

  void begin(std::shared_ptr<OutputStream> stream) {
    streams_[*stream->names.process_id] = stream;
    streaming_.spawn("stream", carry(this, stream));
  }

  void acknowledge(std::uint64_t id) {
    for (auto& [process, stream] : streams_) stream->acknowledge(id);
    std::erase_if(streams_, [](const auto& one) { return one.second->delivered(); });
  }

  static Task<> carry(SocketIo* self, std::shared_ptr<OutputStream> stream) {
    LogReader& reader = stream->reader();
    for (;;) {
      co_await reader.ready();
      const bool has_read = stream->read();
      while (auto frame = stream->next(self->last_event_)) {
        if (auto sent = co_await self->send(std::move(*frame)); !sent) co_return;
      }
      if (stream->told_exit()) co_return;
      if (has_read && reader.dry()) co_await reader.gather(kGathering);
    }
  }

  Agent& agent_;
  WaitingStreams& waiting_;
  const WaitingStreams::Connection connection_;
  WebSocket socket_;
  TaskGroup streaming_;
  std::map<std::uint64_t, std::shared_ptr<OutputStream>> streams_;  ///< until the client has acknowledged their exits
  std::uint64_t last_event_ = 0;                                    ///< the id of the newest event that was sent
  std::uint64_t sent_before_ping_ = 0;                              ///< a pong acknowledges the events up to this id
  std::optional<SteadyTime> pinged_;                                ///< when the ping was sent that has no answer yet
  bool connected_ = false;
  bool silent_ = false;  ///< the client answers no pings
  bool left_ = false;    ///< the client has closed the connection
};

}  // namespace

Task<> serve_connection(protocol::Upgraded upgraded, Agent* agent, WaitingStreams* waiting, std::string host) {
  const OpenSocket open{agent->connections, agent->activity};
  SocketIo connection{std::move(upgraded), *agent, *waiting, std::move(host)};
  TaskGroup group{agent->executor};
  auto serve = [&](this auto) -> Task<> {
    group.spawn("pings", connection.keep_alive());
    group.spawn("drain", connection.watch_drain());
    group.spawn("older connections", connection.watch_older());
    co_await connection.receive();
  };
  co_await finally(std::move(serve), [&](this auto) -> Task<> {
    co_await end_tasks(&group);
    co_await connection.finish();
  });
}

}  // namespace skiff::runtime::dialects::kubebox
