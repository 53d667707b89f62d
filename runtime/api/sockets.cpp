#include "runtime/api/sockets.hpp"

#include <boost/asio/this_coro.hpp>

#include "base/id.hpp"
#include "protocol/websocket_handshake.hpp"
#include "runtime/api/commands.hpp"
#include "runtime/api/connect_socket.hpp"
#include "runtime/api/socket_channel.hpp"
#include "runtime/api/socket_messages.hpp"

namespace skiff::runtime::api {
namespace {

using protocol::WebSocket;

/// With skiff.v1.json for a client that offers nothing.
SocketForm form_of(const Handshake& handshake) {
  return handshake.subprotocol == kBinaryProtocol ? SocketForm::binary : SocketForm::json;
}

/// One command on a connection of its own: /attach, /run and /shell.
struct Attachment {
  Agent& agent;
  std::shared_ptr<sessions::Session> session;
  std::shared_ptr<sessions::Command> command;
  SocketChannel::Options options;
  bool kill_on_disconnect = false;
};

Task<Result<>> take_binary(std::shared_ptr<SocketChannel> carrier, std::string frame) {
  SocketChannel& channel = *carrier;
  if (channel.options().form == SocketForm::terminal)
    co_return co_await channel.offer_input(std::move(frame), std::nullopt);
  if (channel.options().form == SocketForm::json) {
    co_return fail(Errc::invalid_request, "skiff.v1.json has no binary frames");
  }
  auto header = BinaryHeader::decode(frame);
  if (!header) co_return std::unexpected{std::move(header.error())};
  if (header->kind != BinaryHeader::kStdin || header->channel != channel.options().channel) {
    co_return fail(Errc::invalid_request, "a client sends stdin frames of a channel it has opened");
  }
  frame.erase(0, BinaryHeader::kSize);
  const auto offset = header->offset == BinaryHeader::kNoOffset ? std::nullopt : std::optional{header->offset};
  co_return co_await channel.offer_input(std::move(frame), offset);
}

Task<Result<>> take_text(WebSocket* socket, std::shared_ptr<SocketChannel> channel, std::string frame) {
  const auto command = channel->command();
  if (channel->options().form == SocketForm::terminal) {
    auto size = parse_terminal_message(frame);
    if (!size) co_return std::unexpected{size.error()};
    co_return command->resize(*size);
  }
  std::uint32_t number = 0;
  auto message = parse_client_message(frame, number);
  if (!message) co_return std::unexpected{message.error()};
  if (number != 0) co_return fail(Errc::invalid_field, "this connection has the one channel 0", "/channel");
  if (auto* input = std::get_if<StdinMessage>(&message->body)) {
    co_return co_await channel->offer_input(std::move(input->bytes), input->offset);
  }
  if (std::holds_alternative<StdinCloseMessage>(message->body)) {
    channel->queue_end_of_input();
    co_return Result<>{};
  }
  if (auto* signal = std::get_if<SignalMessage>(&message->body)) {
    co_return co_await send_signal(command, std::move(signal->request));
  }
  if (const auto* resize = std::get_if<ResizeMessage>(&message->body)) co_return command->resize(resize->size);
  if (const auto* ping = std::get_if<PingMessage>(&message->body)) {
    co_return co_await socket->send(WebSocket::Kind::text, pong(ping->data, std::nullopt));
  }
  if (std::holds_alternative<DetachMessage>(message->body)) {
    co_await socket->close(1000, "detached");
    co_return Result<>{};
  }
  co_return fail(Errc::invalid_field, "start and attach are for /v1/connect", "/type");
}

/// Reads until the connection is over.
Task<> receive(WebSocket* socket, std::shared_ptr<SocketChannel> channel) {
  for (;;) {
    auto message = co_await socket->read();
    if (!message) co_return;
    if (message->kind == WebSocket::Kind::binary) {
      auto taken = co_await take_binary(channel, std::move(message->payload));
      if (!taken && taken.error().code == Errc::invalid_request) {
        co_await socket->close(1002, taken.error().message);
        co_return;
      }
      if (!taken && channel->options().form != SocketForm::terminal) (void)co_await channel->send_error(taken.error());
    } else {
      auto taken = co_await take_text(socket, channel, std::move(message->payload));
      if (!taken && is_bad_frame(taken.error().code)) {
        co_await socket->close(1002, taken.error().message);
        co_return;
      }
      if (!taken) (void)co_await channel->send_error(taken.error());
    }
  }
}

/// For the close frame: all that a terminal's client gets to know of the exit.
std::string how_it_ended(const sessions::Command& command) {
  const auto& status = command.exit_status();
  if (!status) return {};
  if (status->exit_code) return "exit_code " + std::to_string(*status->exit_code);
  return "signal " + signal_name(status->signal.value_or(0));
}

Task<> converse(WebSocket* socket, std::shared_ptr<SocketChannel> channel, Attachment attachment, bool* finished) {
  auto sent = co_await SocketChannel::send_log(channel);
  *finished = sent.has_value();
  if (!sent) {
    socket->abort();
    co_return;
  }
  if (attachment.agent.draining) {
    co_await socket->close(1001, "the agent is stopping");
  } else if (attachment.session->closed()) {
    co_await socket->close(kClosedSessionDeleted, "the session was deleted");
  } else {
    co_await socket->close(1000, how_it_ended(*channel->command()));
  }
}

/// Either the conversation or the connection is over.
struct TaskEnd {
  explicit TaskEnd(Executor executor) : changed{executor} {}
  Event changed;
  bool over = false;
};

Task<> until_over(Task<> task, TaskEnd* ending) {
  co_await std::move(task);
  ending->over = true;
  ending->changed.notify_all();
}

Task<> serve_attachment(protocol::Upgraded connection, Attachment attachment) {
  const Agent::OpenSocket open{attachment.agent};
  WebSocket socket{std::move(connection.stream), std::move(connection.buffered), socket_options(attachment.agent)};
  TaskGroup group{attachment.agent.executor};
  auto channel =
      std::make_shared<SocketChannel>(socket, attachment.command, attachment.options, attachment.agent.executor, group);
  bool finished = false;
  TaskEnd ending{attachment.agent.executor};
  group.spawn("receive", until_over(receive(&socket, channel), &ending));
  group.spawn("converse", until_over(converse(&socket, channel, attachment, &finished), &ending));
  std::exception_ptr failure;
  try {
    while (!ending.over) co_await ending.changed.wait();
  } catch (...) {
    failure = std::current_exception();
  }
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  if (attachment.kill_on_disconnect && !finished) attachment.command->end(sessions::Cause::killed_by_client);
  socket.abort();
  group.cancel();
  co_await group.join();
  if (failure) std::rethrow_exception(failure);
}

Task<Result<>> upgrade(Call& call, Handshake handshake, Attachment attachment) {
  attachment.options.stdin_bytes = call.agent.settings.stdin_bytes;
  attachment.options.turns = &call.agent.supervisor.reader_turns;
  handshake.headers.add("X-Skiff-Command-Id", attachment.command->id());
  call.command_id = attachment.command->id();
  co_return co_await call.http.upgrade(std::move(handshake.headers), [attachment](protocol::Upgraded connection) {
    return serve_attachment(std::move(connection), attachment);
  });
}

Result<SocketChannel::Options> attach_options(const Call& call) {
  SocketChannel::Options options;
  auto from = call.query_number("from", std::numeric_limits<std::uint64_t>::max());
  if (!from) return std::unexpected{from.error()};
  options.from = from->value_or(0);
  auto lossless = call.query_flag("lossless");
  if (!lossless) return std::unexpected{lossless.error()};
  options.lossless = *lossless;
  if (const auto until = call.query("until")) {
    if (*until != "exit" && *until != "end") return fail(Errc::invalid_field, "until must be exit or end", "until");
    options.until_end = *until == "end";
  }
  return options;
}

}  // namespace

Result<Handshake> shake_hands(const Call& call, std::initializer_list<std::string_view> known) {
  const auto& request = call.http.request();
  const auto lookup = [&](std::string_view wanted) {
    std::string joined;
    for (const auto field : request.headers) {
      if (!protocol::same_text(field.name, wanted)) continue;
      if (!joined.empty()) joined += ", ";
      joined += field.value;
    }
    return joined;
  };
  auto accept = protocol::accept_websocket(request.method, lookup);
  if (!accept) return std::unexpected{std::move(accept.error())};
  auto offered = protocol::offered_subprotocols(lookup("sec-websocket-protocol"));
  if (!offered) return std::unexpected{std::move(offered.error())};
  const auto chosen = protocol::choose_subprotocol(*offered, known);
  Handshake result;
  for (const std::string_view name : known) {
    if (name == chosen) result.subprotocol = name;
  }
  result.headers = {{"Upgrade", "websocket"}, {"Connection", "Upgrade"}};
  result.headers.add("Sec-WebSocket-Accept", *accept);
  if (!chosen.empty()) result.headers.add("Sec-WebSocket-Protocol", chosen);
  return result;
}

Task<Result<>> attach(Call& call) {
  auto session = call.session();
  if (!session) co_return std::unexpected{session.error()};
  auto command = call.command();
  if (!command) co_return std::unexpected{command.error()};
  auto options = attach_options(call);
  if (!options) co_return std::unexpected{options.error()};
  auto handshake = shake_hands(call, {kJsonProtocol, kBinaryProtocol});
  if (!handshake) co_return std::unexpected{handshake.error()};
  options->form = form_of(*handshake);
  Attachment attachment{call.agent, *session, *command, *options};
  co_return co_await upgrade(call, std::move(*handshake), std::move(attachment));
}

Task<Result<>> run_attached(Call& call) {
  auto session = call.session();
  if (!session) co_return std::unexpected{session.error()};
  auto options = attach_options(call);
  if (!options) co_return std::unexpected{options.error()};
  CommandRequest request;
  request.command = std::string{call.query("command").value_or("")};
  if (const auto cwd = call.query("cwd")) request.cwd = std::string{*cwd};
  if (const auto id = call.query("id")) request.id = std::string{*id};
  if (request.id && !is_valid_id(*request.id)) co_return fail(Errc::invalid_id, "not an id", "id");
  auto timeout = call.query_number("timeout_ms", kLongestTime);
  if (!timeout) co_return std::unexpected{timeout.error()};
  if (*timeout) request.timeout = Milliseconds{static_cast<std::int64_t>(std::max<std::uint64_t>(1, **timeout))};
  auto open = call.query_flag("stdin_open");
  if (!open) co_return std::unexpected{open.error()};
  request.stdin_open = *open;
  auto tty = call.query_flag("tty");
  if (!tty) co_return std::unexpected{tty.error()};
  if (*tty) request.tty = sessions::TerminalSize{};
  auto handshake = shake_hands(call, {kJsonProtocol, kBinaryProtocol});
  if (!handshake) co_return std::unexpected{handshake.error()};
  auto started = start(call, **session, request);
  if (!started) co_return std::unexpected{started.error()};
  options->form = form_of(*handshake);
  options->lossless = true;
  options->announce = call.agent.instance;
  Attachment attachment{call.agent, *session, started->command, *options};
  co_return co_await upgrade(call, std::move(*handshake), std::move(attachment));
}

Task<Result<>> serve_terminal(Call& call, std::shared_ptr<sessions::Session> session, CommandRequest request) {
  auto handshake = shake_hands(call, {kJsonProtocol, kBinaryProtocol});
  if (!handshake) co_return std::unexpected{handshake.error()};
  auto started = start(call, *session, request);
  if (!started) co_return std::unexpected{started.error()};
  SocketChannel::Options options{.form = SocketForm::terminal, .lossless = true, .announce = {}};
  Attachment attachment{call.agent, session, started->command, options};
  // A shell that nobody is connected to would wait for ever.
  attachment.kill_on_disconnect = true;
  co_return co_await upgrade(call, std::move(*handshake), std::move(attachment));
}

Task<Result<>> connect(Call& call) {
  auto handshake = shake_hands(call, {kJsonProtocol, kBinaryProtocol});
  if (!handshake) co_return std::unexpected{handshake.error()};
  co_return co_await call.http.upgrade(
      std::move(handshake->headers),
      [&agent = call.agent, form = form_of(*handshake),
       caller = Caller{call.identity, call.request_id, call.traceparent}](protocol::Upgraded connection) {
        return serve_connect(std::move(connection), &agent, form, caller);
      });
}

}  // namespace skiff::runtime::api
