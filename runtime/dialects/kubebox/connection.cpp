#include "runtime/dialects/kubebox/connection.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/id.hpp"
#include "base/task_group.hpp"
#include "protocol/json/text.hpp"
#include "protocol/websocket/socket.hpp"
#include "runtime/api/sockets/connect_socket.hpp"
#include "runtime/api/sockets/socket_routes.hpp"
#include "runtime/dialects/kubebox/names.hpp"
#include "runtime/dialects/kubebox/packets.hpp"

namespace skiff::runtime::dialects::kubebox {
namespace {

using protocol::WebSocket;
using sessions::LogItem;

/// Streams that one connection may have at once.
constexpr std::size_t kMostStreams = 256;
/// What comes within this time after an event goes with the next one: a command that prints line by line would be an
/// event a line otherwise.
constexpr std::chrono::milliseconds kGathering{20};
/// Of one event, before it is escaped.
constexpr std::size_t kMostInEvent = std::size_t{256} << 10U;

WebSocket::Options options_of(const Agent& agent) {
  auto options = api::socket_options(agent);
  options.ping_interval = std::chrono::milliseconds{0};  // Engine.IO has pings of its own
  return options;
}

class SocketIo {
 public:
  SocketIo(protocol::Upgraded upgraded, Agent& agent, WaitingStreams& waiting, std::string host)
      : agent_{agent},
        waiting_{waiting},
        host_{std::move(host)},
        number_{waiting.number()},
        socket_{std::move(upgraded.stream), std::move(upgraded.buffered), options_of(agent)},
        streaming_{agent.executor} {}

  /// Until the connection is over.
  Task<> receive() {
    if (auto opened = co_await send(handshake()); !opened) co_return;
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

  /// Pings; ends the connection of a client that does not answer, or never asks for the namespace.
  Task<> keep_alive() {
    boost::asio::basic_waitable_timer<std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>,
                                      Executor>
        timer{agent_.executor};
    for (;;) {
      timer.expires_after(agent_.settings.keepalive);
      co_await timer.async_wait(use_task);
      const SteadyTime now = std::chrono::steady_clock::now();
      const bool is_dead = pinged_ && now - *pinged_ >= agent_.settings.write_timeout;
      if (is_dead || !connected_) {
        dead_ = is_dead;
        socket_.abort();
        co_return;
      }
      if (pinged_) continue;
      pinged_ = now;
      sent_before_ping_ = last_event_;
      if (auto sent = co_await send("2"); !sent) co_return;
    }
  }

  /// Says goodbye when the agent stops: all commands have ended by then, and their exits are told.
  Task<> watch_drain() {
    while (!agent_.draining) co_await agent_.drain_begun.wait();
    co_await streaming_.join();
    co_await socket_.close(protocol::close_code::kGoingAway, "the agent is stopping");
  }

  /// A client that has lost its connection may be here already when that is seen.
  Task<> watch_older() {
    for (;;) {
      co_await waiting_.older_found_dead(number_);
      if (connected_) take_over();
    }
  }

  Task<> finish() {
    socket_.abort();
    streaming_.cancel();
    co_await streaming_.join();
    if (left_ || agent_.draining) co_return;
    for (auto& [process, stream] : streams_) {
      if (stream->delivered()) continue;
      stream->rewind();
      waiting_.add(std::move(stream), host_);
    }
    const auto& closed = socket_.closed();
    if (dead_ || (closed && closed->code == api::kClosedTooSlow)) waiting_.found_dead(number_);
  }

 private:
  [[nodiscard]] std::string handshake() const {
    std::string text{"0{"};
    protocol::append_json_text(text, "sid", new_id("e-"));
    text += R"(,"upgrades":[])";
    protocol::append_json_number(text, "pingInterval", static_cast<std::uint64_t>(agent_.settings.keepalive.count()));
    protocol::append_json_number(text, "pingTimeout",
                                 static_cast<std::uint64_t>(agent_.settings.write_timeout.count()));
    protocol::append_json_number(text, "maxPayload", agent_.settings.max_frame_bytes);
    text += '}';
    return text;
  }

  Task<Result<>> send(std::string text) { co_return co_await socket_.send(WebSocket::Kind::text, std::move(text)); }

  Task<Result<>> take(std::string text) {
    auto frame = parse_frame(text);
    if (!frame) co_return std::unexpected{std::move(frame.error())};
    if (frame->type == FrameType::close) left_ = true;
    if (frame->type == FrameType::pong) {
      if (pinged_) acknowledge(sent_before_ping_);
      pinged_.reset();
    }
    if (frame->type != FrameType::message) co_return Result<>{};
    auto packet = parse_packet(frame->content);
    if (!packet) co_return std::unexpected{std::move(packet.error())};
    if (packet->type == PacketType::connect) co_return co_await connect(*packet);
    if (!connected_ || packet->name_space != "/") {
      co_return fail(Errc::invalid_request, "this namespace is not connected");
    }
    switch (packet->type) {
      case PacketType::disconnect:
        left_ = true;
        co_return Result<>{};
      case PacketType::ack:
        acknowledge(*packet->id);
        co_return Result<>{};
      case PacketType::event:
        co_return co_await take_event(*packet);
      default:
        co_return fail(Errc::invalid_request, "a client sends no CONNECT_ERROR");
    }
  }

  Task<Result<>> connect(Packet packet) {
    std::string answer{"4"};
    if (packet.name_space != "/") {
      append_packet(answer, {.type = PacketType::connect_error,
                             .name_space = packet.name_space,
                             .id = {},
                             .payload = R"({"message":"there is the one namespace /"})"});
      co_return co_await send(std::move(answer));
    }
    if (connected_) co_return fail(Errc::invalid_request, "the namespace is connected already");
    connected_ = true;
    std::string sid{"{"};
    protocol::append_json_text(sid, "sid", new_id("s-"));
    sid += '}';
    append_packet(answer, {.type = PacketType::connect, .id = {}, .payload = sid});
    if (auto sent = co_await send(std::move(answer)); !sent) co_return sent;
    take_over();
    co_return Result<>{};
  }

  void take_over() {
    for (auto& stream : waiting_.take_of(host_)) begin(std::move(stream));
  }

  Task<Result<>> take_event(Packet packet) {
    auto event = parse_event(packet.payload);
    if (!event) co_return std::unexpected{std::move(event.error())};
    const EventData& data = event->data;
    const auto session = find_session(agent_, data.session_id);
    Result<> done;
    if (event->name == "initialize") {
      done = session ? co_await tell_initialized(data) : std::unexpected{session.error()};
    } else if (event->name == "start_command_stream") {
      done = session ? start_stream(data, **session) : std::unexpected{session.error()};
    } else if (event->name == "check_status") {
      done = co_await tell_status(data, session ? session->get() : nullptr);
    } else {
      done = fail(Errc::invalid_request, "the events are initialize, start_command_stream and check_status");
    }
    if (!done && !socket_.closed()) done = co_await tell_error(*event, done.error());
    if (!done || !packet.id) co_return done;
    std::string answer{"4"};
    append_packet(answer, {.type = PacketType::ack, .id = packet.id, .payload = "[]"});
    co_return co_await send(std::move(answer));
  }

  /// The beginning of `42["NAME",{`, with an id when the client is to acknowledge it.
  static std::string event_text(std::string_view name, std::optional<std::uint64_t> id = {}) {
    std::string text{"42"};
    if (id) text += std::to_string(*id);
    text += "[\"";
    text += name;
    text += "\",{";
    return text;
  }
  Task<Result<>> send_event(std::string text) {
    text += "}]";
    co_return co_await send(std::move(text));
  }
  static void append_ids(std::string& text, std::string_view session, std::optional<std::uint64_t> process) {
    protocol::append_json_text(text, "session_id", session);
    if (process) protocol::append_json_number(text, "process_id", *process);
  }

  Task<Result<>> tell_initialized(EventData data) {
    std::string text = event_text("initialized");
    protocol::append_json_text(text, "status", "success");
    append_ids(text, data.session_id, {});
    co_return co_await send_event(std::move(text));
  }

  Task<Result<>> tell_status(EventData data, const sessions::Session* session) {
    std::string text = event_text("status");
    protocol::append_json_key(text, "running");
    if (session == nullptr) {
      text += R"(false,"session_id":null)";
      co_return co_await send_event(std::move(text));
    }
    const auto command = find_process(*session, data.process_id);
    text += !command ? "null" : (*command)->exit_status() ? "false" : "true";
    append_ids(text, data.session_id, data.process_id);
    co_return co_await send_event(std::move(text));
  }

  /// Who waits for the end of a stream that can't begin must not wait for ever.
  Task<Result<>> tell_error(ClientEvent event, Error error) {
    std::string text = event_text("command_error");
    protocol::append_json_text(text, "error", error.message);
    append_ids(text, event.data.session_id, event.data.process_id);
    auto sent = co_await send_event(std::move(text));
    if (!sent || event.name != "start_command_stream" || !event.data.process_id) co_return sent;
    text = event_text("command_exit") + R"("exit_code":-1)";
    append_ids(text, event.data.session_id, event.data.process_id);
    co_return co_await send_event(std::move(text));
  }

  Result<> start_stream(const EventData& data, const sessions::Session& session) {
    auto command = find_process(session, data.process_id);
    if (!command) return std::unexpected{std::move(command.error())};
    if (const auto found = streams_.find(*data.process_id); found != streams_.end()) {
      if (!found->second->told_exit) return {};
      streams_.erase(found);
    }
    std::erase_if(streams_, [](const auto& one) { return one.second->delivered(); });
    if (streams_.size() >= kMostStreams) {
      return fail(Errc::resource_exhausted,
                  std::to_string(kMostStreams) + " streams are open on this connection, which is the limit");
    }
    auto stream = waiting_.take(**command);
    if (!stream) stream = std::make_shared<OutputStream>(data.session_id, *data.process_id, *command);
    stream->session = data.session_id;
    begin(std::move(stream));
    return {};
  }

  void begin(std::shared_ptr<OutputStream> stream) {
    streams_[stream->process] = stream;
    streaming_.spawn("stream", carry(this, stream));
  }

  /// An acknowledgement of one event is one of all before it: they came over the same connection.
  void acknowledge(std::uint64_t id) {
    for (auto& [process, stream] : streams_) stream->acknowledge(id);
    std::erase_if(streams_, [](const auto& one) { return one.second->delivered(); });
  }

  static Task<> carry(SocketIo* self, std::shared_ptr<OutputStream> stream) {
    const auto log = stream->command->log();
    auto& turns = self->agent_.supervisor.reader_turns;
    bool gathered = false;
    Deadline gathering{self->agent_.executor, [&gathered, &log] {
                         gathered = true;
                         log->wake();
                       }};
    for (;;) {
      co_await turns.next();
      auto sent = co_await self->send_what_is_there(stream, turns.bytes());
      if (!sent || stream->told_exit) co_return;
      if (*sent == Progress::more) continue;
      if (*sent == Progress::none) {
        co_await stream->cursor.ready();
        continue;
      }
      gathered = false;
      gathering.expires_after(kGathering);
      while (!gathered && !log->exit_status()) co_await log->changed();
    }
  }

  enum class Progress : std::uint8_t { none, some, more };
  /// Sends what the log has now, up to `most` bytes: neighbouring output of one stream is one event.
  Task<Result<Progress>> send_what_is_there(std::shared_ptr<OutputStream> stream, std::size_t most) {
    most = std::min(most, kMostInEvent);
    std::vector<LogItem> block;
    std::size_t size = 0;
    bool any = false;
    while (size < most) {
      auto item = stream->cursor.next(most - size);
      if (!item) break;
      any = true;
      size += item->bytes.size();
      const bool joins = item->kind == LogItem::Kind::output && (block.empty() || block.back().stream == item->stream);
      if (!joins) {
        if (auto sent = co_await send_output(stream, std::exchange(block, {})); !sent) {
          co_return std::unexpected{std::move(sent.error())};
        }
      }
      if (item->kind == LogItem::Kind::output) {
        block.push_back(std::move(*item));
        continue;
      }
      auto sent =
          item->kind == LogItem::Kind::gap ? co_await send_gap(stream, *item) : co_await send_exit(stream, *item);
      if (!sent) co_return std::unexpected{std::move(sent.error())};
      if (stream->told_exit) co_return Progress::some;
    }
    if (auto sent = co_await send_output(stream, std::move(block)); !sent) {
      co_return std::unexpected{std::move(sent.error())};
    }
    co_return size >= most ? Progress::more : any ? Progress::some : Progress::none;
  }

  Task<Result<>> send_output(std::shared_ptr<OutputStream> stream, std::vector<LogItem> block) {
    if (block.empty()) co_return Result<>{};
    const bool is_out = block.front().stream == sessions::Stream::out;
    const std::uint64_t id = ++last_event_;
    stream->sent(id, block.front().offset);
    std::string text = event_text("command_output", id) + R"("output":")";
    auto& splitter = is_out ? stream->out : stream->err;
    for (const LogItem& item : block) {
      const auto pieces = splitter.push(item.bytes.view());
      append_text(text, pieces.head);
      append_text(text, pieces.body);
    }
    block.clear();
    text += '"';
    protocol::append_json_text(text, "type", is_out ? "stdout" : "stderr");
    append_ids(text, stream->session, stream->process);
    co_return co_await send_event(std::move(text));
  }

  static void append_text(std::string& out, std::string_view bytes) {
    if (protocol::is_valid_utf8(bytes)) {
      protocol::append_json_escaped(out, bytes);
    } else {
      protocol::append_json_escaped(out, protocol::to_valid_utf8(bytes));
    }
  }

  Task<Result<>> send_note(std::shared_ptr<OutputStream> stream, std::uint64_t offset, std::string_view type,
                           std::string note) {
    const std::uint64_t id = ++last_event_;
    stream->sent(id, offset);
    std::string text = event_text("command_output", id);
    protocol::append_json_text(text, "output", note);
    protocol::append_json_text(text, "type", type);
    append_ids(text, stream->session, stream->process);
    co_return co_await send_event(std::move(text));
  }

  Task<Result<>> send_gap(std::shared_ptr<OutputStream> stream, LogItem gap) {
    co_return co_await send_note(stream, gap.offset, "stderr", missing_output(gap.next - gap.offset));
  }

  Task<Result<>> send_exit(std::shared_ptr<OutputStream> stream, LogItem exit) {
    const auto& status = *stream->command->exit_status();
    // Half a character that nothing completes any more, and why nothing was run.
    const std::pair<std::string_view, std::string> rest[]{{"stdout", std::string{stream->out.flush()}},
                                                          {"stderr", std::string{stream->err.flush()}},
                                                          {"stderr", why_not_started(status)}};
    for (const auto& [type, text] : rest) {
      if (text.empty()) continue;
      if (auto sent = co_await send_note(stream, exit.offset, type, text); !sent) co_return sent;
    }
    const std::uint64_t id = ++last_event_;
    stream->sent(id, exit.offset);
    stream->told_exit = true;
    std::string text = event_text("command_exit", id) + R"("exit_code":)" + std::to_string(exit_code(status));
    append_ids(text, stream->session, stream->process);
    co_return co_await send_event(std::move(text));
  }

  Agent& agent_;
  WaitingStreams& waiting_;
  const std::string host_;
  const std::uint64_t number_;
  WebSocket socket_;
  TaskGroup streaming_;
  std::map<std::uint64_t, std::shared_ptr<OutputStream>> streams_;  ///< until the client has acknowledged their exits
  std::uint64_t last_event_ = 0;                                    ///< that is to be acknowledged
  std::uint64_t sent_before_ping_ = 0;                              ///< a pong acknowledges it
  std::optional<SteadyTime> pinged_;                                ///< a ping without an answer
  bool connected_ = false;
  bool dead_ = false;  ///< it answers no pings
  bool left_ = false;  ///< the client has said goodbye
};

}  // namespace

Task<> serve_connection(protocol::Upgraded upgraded, Agent* agent, WaitingStreams* waiting, std::string host) {
  const Agent::OpenSocket open{*agent};
  SocketIo connection{std::move(upgraded), *agent, *waiting, std::move(host)};
  TaskGroup group{agent->executor};
  group.spawn("pings", connection.keep_alive());
  group.spawn("drain", connection.watch_drain());
  group.spawn("older connections", connection.watch_older());
  std::exception_ptr failure;
  try {
    co_await connection.receive();
  } catch (...) {
    failure = std::current_exception();
  }
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  group.cancel();
  co_await group.join();
  co_await connection.finish();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace skiff::runtime::dialects::kubebox
