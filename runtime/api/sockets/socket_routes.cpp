#include "runtime/api/sockets/socket_routes.hpp"

#include <boost/asio/this_coro.hpp>

#include "base/async/expiry.hpp"
#include "base/async/finally.hpp"
#include "base/id.hpp"
#include "protocol/websocket/handshake.hpp"
#include "runtime/api/commands/command_routes.hpp"
#include "runtime/api/sockets/channel.hpp"
#include "runtime/api/sockets/connect_socket.hpp"
#include "runtime/api/sockets/messages.hpp"

namespace skiff::runtime::api {
namespace {

using protocol::WebSocket;

/// The form for a subprotocol; skiff.v1.json if the client offers none.
SocketForm form_of(const Handshake& handshake) {
  return handshake.subprotocol == kBinaryProtocol ? SocketForm::binary : SocketForm::json;
}

/// A connection for one command: /attach, /run and /shell.
struct Attachment {
  Agent& agent;
  Identity identity;
  std::shared_ptr<sessions::Session> session;
  std::shared_ptr<sessions::Command> command;
  SocketChannel::Options options;
  bool kill_on_disconnect = false;
};

/// Ends a command that was started for a connection if the upgrade fails: no client would know of it.
class Unclaimed {
 public:
  explicit Unclaimed(std::shared_ptr<sessions::Command> command) : command_{std::move(command)} {}
  ~Unclaimed() {
    if (command_) command_->end(sessions::Cause::killed_by_client);
  }
  Unclaimed(const Unclaimed&) = delete;
  Unclaimed& operator=(const Unclaimed&) = delete;
  void claim() noexcept { command_.reset(); }

 private:
  std::shared_ptr<sessions::Command> command_;
};

constexpr std::string_view kKeysAreBinary =
    "send keys as binary frames: text frames are JSON, such as {\"resize\":...}";

/// Parses a frame as a message for the only command.
Result<ClientMessage> only_channel(SocketForm form, WebSocket::Message frame) {
  const bool is_text = frame.kind == WebSocket::Kind::text;
  std::uint32_t number = 0;
  auto message = parse_frame(form, std::move(frame), number);
  if (!message || number == 0) return message;
  return fail(is_text ? Errc::invalid_field : Errc::invalid_request, "this connection has only channel 0", "/channel");
}

Task<Result<>> take(WebSocket* socket, std::shared_ptr<SocketChannel> channel, ClientMessage message) {
  const auto command = channel->command();
  if (auto* input = std::get_if<StdinMessage>(&message.body)) {
    co_return co_await channel->offer_input(std::move(input->bytes), input->offset);
  }
  if (std::holds_alternative<StdinCloseMessage>(message.body)) co_return co_await channel->offer_end_of_input();
  if (auto* signal = std::get_if<SignalMessage>(&message.body)) {
    co_return co_await send_signal(command, std::move(signal->request));
  }
  if (const auto* resize = std::get_if<ResizeMessage>(&message.body)) co_return command->resize(resize->size);
  if (const auto* ping = std::get_if<PingMessage>(&message.body)) {
    co_return co_await socket->send(WebSocket::Kind::text, pong(ping->data, std::nullopt));
  }
  if (std::holds_alternative<DetachMessage>(message.body)) {
    co_await socket->close(1000, "detached");
    co_return Result<>{};
  }
  co_return fail(Errc::invalid_field, "start and attach are for /v1/connect", "/type");
}

/// Notes that one of the tasks of a connection is over.
struct TaskEnd {
  /// A task has one until its end.
  struct Mark {
    explicit Mark(TaskEnd* ending_in) : ending{ending_in} {}
    ~Mark() {
      ending->is_over = true;
      ending->changed.notify_all();
    }
    Mark(const Mark&) = delete;
    Mark& operator=(const Mark&) = delete;
    TaskEnd* ending;
  };

  explicit TaskEnd(Executor executor) : changed{executor} {}
  Event changed;
  bool is_over = false;
  bool is_sent = false;  ///< the whole log was sent
};

/// Handles one frame; false: the connection is over.
Task<bool> handle(WebSocket* socket, std::shared_ptr<SocketChannel> channel, const Identity* identity,
                  WebSocket::Message frame) {
  const SocketForm form = channel->options().form;
  // Keys that are typed get no error events: if the input is full, the terminal's bell rings.
  const bool is_text = frame.kind == WebSocket::Kind::text;
  const bool is_object = frame.payload.starts_with('{');
  const bool is_typed = form == SocketForm::terminal && !is_text;
  auto message = only_channel(form, std::move(frame));
  Result<> taken;
  if (message) taken = require(*identity, scope_of(*message));
  if (message && taken) taken = co_await take(socket, channel, std::move(*message));
  if (!message) taken = std::unexpected{std::move(message.error())};
  if (taken) co_return true;
  // Many clients wrongly send keys as text.
  if (form == SocketForm::terminal && is_text && (!is_object || is_bad_frame(taken.error().code))) {
    co_await socket->close(protocol::close_code::kUnsupported, std::string{kKeysAreBinary});
    co_return false;
  }
  if (const auto code = close_code_for(taken.error())) {
    co_await socket->close(*code, taken.error().message);
    co_return false;
  }
  if (!is_typed) {
    (void)co_await channel->send_error(taken.error());
  } else if (taken.error().code == Errc::resource_exhausted) {
    (void)co_await socket->send(WebSocket::Kind::binary, std::string{'\a'});
  }
  co_return true;
}

/// Handles messages until the connection is over. An idle connection holds only the frame of this coroutine, which is
/// small, and not that of `handle`.
Task<> receive(WebSocket* socket, std::shared_ptr<SocketChannel> channel, const Identity* identity, TaskEnd* ending) {
  const TaskEnd::Mark mark{ending};
  for (;;) {
    auto frame = co_await socket->read();
    if (!frame || !co_await handle(socket, channel, identity, std::move(*frame))) co_return;
  }
}

/// The exit of the command for the close frame, where a terminal's client gets it.
std::string how_it_ended(const sessions::Command& command) {
  const auto& status = command.exit_status();
  if (!status) return {};
  if (status->exit_code) return "exit_code " + std::to_string(*status->exit_code);
  return "signal " + signal_name(status->signal.value_or(0));
}

Task<> converse(WebSocket* socket, std::shared_ptr<SocketChannel> channel, const Attachment* attachment,
                TaskEnd* ending) {
  const TaskEnd::Mark mark{ending};
  auto sent = co_await SocketChannel::send_log(channel);
  ending->is_sent = sent.has_value();
  if (!sent) {
    // Tell a client that was too slow the reason: finish the close, because aborting with unread bytes would reset the
    // connection.
    if (const auto& closed = socket->closed()) {
      co_await socket->close(closed->code, {});
    } else {
      socket->abort();
    }
    co_return;
  }
  if (attachment->agent.shutdown.draining()) {
    co_await socket->close(1001, "the agent is stopping");
  } else if (attachment->session->closed()) {
    co_await socket->close(kClosedSessionDeleted, "the session was deleted");
  } else {
    co_await socket->close(1000, how_it_ended(*channel->command()));
  }
}

Task<> serve_attachment(protocol::Upgraded connection, Attachment attachment) {
  const OpenSocket open{attachment.agent.connections, attachment.agent.activity};
  WebSocket socket{std::move(connection.stream), std::move(connection.buffered),
                   socket_options(attachment.agent, connection)};
  TaskGroup group{attachment.agent.executor};
  auto channel =
      std::make_shared<SocketChannel>(socket, attachment.command, attachment.options, attachment.agent.executor, group);
  TaskEnd ending{attachment.agent.executor};
  bool expired = false;
  const Expiry expiry{attachment.agent.executor, attachment.identity.expires, [&] {
                        expired = true;
                        ending.changed.notify_all();
                      }};
  auto serve = [&](this auto) -> Task<> {
    group.spawn("receive", receive(&socket, channel, &attachment.identity, &ending));
    group.spawn("converse", converse(&socket, channel, &attachment, &ending));
    while (!ending.is_over && !expired) co_await ending.changed.wait();
    if (expired) co_await socket.close(kClosedExpired, std::string{kExpired});
  };
  co_await finally(std::move(serve), [&] {
    if (attachment.kill_on_disconnect && !ending.is_sent) attachment.command->end(sessions::Cause::killed_by_client);
    socket.abort();
    return end_tasks(&group);
  });
}

Task<Result<>> upgrade(Call& call, Handshake handshake, Attachment attachment, std::unique_ptr<Unclaimed> unclaimed) {
  attachment.options.stdin_bytes = call.agent.settings.stdin_bytes;
  attachment.options.turns = &call.agent.supervisor.output.reader_turns;
  handshake.headers.add("X-Skiff-Command-Id", attachment.command->id());
  call.command_id = attachment.command->id();
  co_return co_await call.http.upgrade(std::move(handshake.headers),
                                       [attachment, unclaimed = std::move(unclaimed)](protocol::Upgraded connection) {
                                         if (unclaimed) unclaimed->claim();
                                         return serve_attachment(std::move(connection), attachment);
                                       });
}

/// A guard for a command that this request has started; null for one that existed before.
std::unique_ptr<Unclaimed> unclaimed(const sessions::Session::Started& started) {
  return started.repeated ? nullptr : std::make_unique<Unclaimed>(started.command);
}

Result<SocketChannel::Options> attach_options(const Call& call) {
  SocketChannel::Options options;
  SKIFF_TRY(auto from, call.query_number("from", std::numeric_limits<std::uint64_t>::max()));
  options.from = from.value_or(0);
  SKIFF_TRY(options.lossless, call.query_flag("lossless"));
  if (options.lossless) {
    // A lossless reader can make the command wait.
    SKIFF_TRY_VOID(require(call.identity, Scope::exec));
  }
  if (const auto until = call.query("until")) {
    if (*until != "exit" && *until != "end") return fail(Errc::invalid_field, "until must be exit or end", "until");
    options.until_end = *until == "end";
  }
  return options;
}

}  // namespace

Result<Handshake> shake_hands(const protocol::HttpRequest& request, std::initializer_list<std::string_view> known) {
  const auto lookup = [&](std::string_view wanted) {
    std::string joined;
    for (const auto field : request.headers) {
      if (!protocol::same_text(field.name, wanted)) continue;
      if (!joined.empty()) joined += ", ";
      joined += field.value;
    }
    return joined;
  };
  SKIFF_TRY(auto accept, protocol::accept_websocket(request.method, lookup));
  SKIFF_TRY(auto offered, protocol::offered_subprotocols(lookup("sec-websocket-protocol")));
  const auto chosen = protocol::choose_subprotocol(offered, known);
  Handshake result;
  for (const std::string_view name : known) {
    if (name == chosen) result.subprotocol = name;
  }
  result.headers = {{"Upgrade", "websocket"}, {"Connection", "Upgrade"}};
  result.headers.add("Sec-WebSocket-Accept", accept);
  if (!chosen.empty()) result.headers.add("Sec-WebSocket-Protocol", chosen);
  return result;
}

Task<Result<>> attach(Call& call) {
  SKIFF_CO_TRY(auto session, call.session());
  SKIFF_CO_TRY(auto command, call.command());
  SKIFF_CO_TRY(auto options, attach_options(call));
  SKIFF_CO_TRY(auto handshake, shake_hands(call, {kJsonProtocol, kBinaryProtocol}));
  options.form = form_of(handshake);
  Attachment attachment{call.agent, call.identity, session, command, options};
  co_return co_await upgrade(call, std::move(handshake), std::move(attachment), nullptr);
}

Task<Result<>> run_attached(Call& call) {
  SKIFF_CO_TRY(auto session, call.session());
  SKIFF_CO_TRY(auto options, attach_options(call));
  CommandRequest request;
  request.command = std::string{call.query("command").value_or("")};
  if (const auto cwd = call.query("cwd")) request.cwd = std::string{*cwd};
  if (const auto id = call.query("id")) request.id = std::string{*id};
  if (request.id && !is_valid_id(*request.id)) co_return fail(Errc::invalid_id, "not an id", "id");
  SKIFF_CO_TRY(auto timeout, call.query_number("timeout_ms", kLongestTime));
  if (timeout) request.timeout = Milliseconds{static_cast<std::int64_t>(std::max<std::uint64_t>(1, *timeout))};
  SKIFF_CO_TRY(request.stdin_open, call.query_flag("stdin_open"));
  SKIFF_CO_TRY(auto tty, call.query_flag("tty"));
  if (tty) request.tty = sessions::TerminalSize{};
  SKIFF_CO_TRY(auto handshake, shake_hands(call, {kJsonProtocol, kBinaryProtocol}));
  SKIFF_CO_TRY(auto started, co_await start(call, session, &request));
  auto owner = unclaimed(started);
  options.form = form_of(handshake);
  options.lossless = true;
  options.announce = call.agent.instance;
  Attachment attachment{call.agent, call.identity, session, started.command, options};
  co_return co_await upgrade(call, std::move(handshake), std::move(attachment), std::move(owner));
}

Task<Result<>> serve_terminal(Call& call, std::shared_ptr<sessions::Session> session, CommandRequest request) {
  SKIFF_CO_TRY(auto handshake, shake_hands(call, {kJsonProtocol, kBinaryProtocol}));
  SKIFF_CO_TRY(auto started, co_await start(call, session, &request));
  auto owner = unclaimed(started);
  SocketChannel::Options options{.form = SocketForm::terminal, .lossless = true, .announce = {}};
  Attachment attachment{call.agent, call.identity, session, started.command, options};
  // A shell without a client would wait for ever.
  attachment.kill_on_disconnect = true;
  co_return co_await upgrade(call, std::move(handshake), std::move(attachment), std::move(owner));
}

Task<Result<>> connect(Call& call) {
  SKIFF_CO_TRY(auto handshake, shake_hands(call, {kJsonProtocol, kBinaryProtocol}));
  co_return co_await call.http.upgrade(
      std::move(handshake.headers),
      [&agent = call.agent, form = form_of(handshake),
       caller = Caller{call.identity, call.request_id, call.traceparent}](protocol::Upgraded connection) {
        return serve_connect(std::move(connection), &agent, form, caller);
      });
}

}  // namespace skiff::runtime::api
