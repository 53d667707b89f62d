#include "runtime/api/files/watch_route.hpp"

#include <memory>
#include <utility>

#include "base/async/beside.hpp"
#include "base/async/expiry.hpp"
#include "fs/watch/shared_watches.hpp"
#include "protocol/json/sse.hpp"
#include "protocol/websocket/socket.hpp"
#include "runtime/api/events.hpp"
#include "runtime/api/files/call.hpp"
#include "runtime/api/sockets/connect_socket.hpp"
#include "runtime/api/sockets/messages.hpp"
#include "runtime/api/sockets/socket_routes.hpp"

namespace skiff::runtime::api {
namespace {

using protocol::WebSocket;

constexpr std::string_view kWatching = "watching";
/// Most events that are sent together.
constexpr std::size_t kBatch = 1024;

/// One event, for server-sent events and for frames.
struct Message {
  std::string_view type;
  std::string data;
  std::uint64_t cursor;
};

std::string_view word(fs::WatchEvent::Type type) {
  switch (type) {
    case fs::WatchEvent::Type::created:
      return "created";
    case fs::WatchEvent::Type::modified:
      return "modified";
    case fs::WatchEvent::Type::deleted:
      return "deleted";
    case fs::WatchEvent::Type::renamed:
      return "renamed";
    case fs::WatchEvent::Type::overflow:
      break;
  }
  return "overflow";
}

Message message_of(const fs::WatchEvent& event) {
  return {.type = word(event.type), .data = change_answer().text(event), .cursor = event.cursor};
}

Message beginning(std::uint64_t cursor) {
  return {.type = kWatching, .data = watching_answer().text(cursor), .cursor = cursor};
}

/// The state of one client's watch.
struct Reading {
  std::shared_ptr<fs::DirectoryWatch> watch;
  std::shared_ptr<sessions::Session> session;
  std::uint64_t cursor;
  std::chrono::milliseconds keepalive;
  bool peer_gone = false;
  bool expired = false;  ///< the client's token has expired
  std::unique_ptr<Expiry> expiry = {};

  /// Waits for the next events. Empty: a keep-alive is due, or the watch is `over`.
  static Task<Result<std::vector<fs::WatchEvent>>> next(std::shared_ptr<Reading> self) {
    const auto quiet = std::chrono::steady_clock::now() + self->keepalive;
    for (;;) {
      auto events = co_await fs::DirectoryWatch::events(self->watch, self->cursor, kBatch, quiet);
      if (events && !events->empty()) self->cursor = events->back().cursor;
      if (!events || !events->empty() || self->over() || std::chrono::steady_clock::now() >= quiet) co_return events;
    }
  }
  void leave() {
    peer_gone = true;
    watch->wake();
  }
  [[nodiscard]] bool over() const { return peer_gone || expired || watch->over() || session->closed(); }
};

Task<> await_session(std::shared_ptr<Reading> reading) {
  co_await reading->session->closing();
  reading->watch->wake();
}

Task<Result<>> send_stream(protocol::HttpExchange* http, std::shared_ptr<Reading> reading) {
  protocol::HttpResponse head{200, {{"Content-Type", protocol::kEventStreamType}, {"Cache-Control", "no-store"}}};
  head.headers.set("X-Skiff-Cursor", std::to_string(reading->cursor));
  SKIFF_CO_TRY_VOID(co_await http->start(std::move(head)));
  std::string text;
  const auto append = [&text](const Message& message) {
    protocol::append_sse(text, std::to_string(message.cursor), message.type, message.data);
  };
  append(beginning(reading->cursor));
  for (;;) {
    SKIFF_CO_TRY_VOID(co_await http->write(text));
    SKIFF_CO_TRY(auto events, co_await Reading::next(reading));
    if (reading->expired || (events.empty() && reading->over())) break;
    text.clear();
    for (const fs::WatchEvent& event : events) append(message_of(event));
    if (events.empty()) text = protocol::kSseKeepalive;
  }
  if (reading->expired) {
    text.clear();
    EventWriter{Form::sse, std::nullopt}.error(text, {Errc::unauthenticated, std::string{kExpired}});
    SKIFF_CO_TRY_VOID(co_await http->write(text));
  }
  co_return co_await http->finish();
}

/// Reads until the connection is over; a watch accepts only pings.
Task<> receive(WebSocket* socket, std::shared_ptr<Reading> reading) {
  for (;;) {
    auto frame = co_await socket->read();
    if (!frame) break;
    std::uint32_t channel = 0;
    auto message = frame->kind == WebSocket::Kind::text
                       ? parse_client_message(frame->payload, channel)
                       : Result<ClientMessage>{fail(Errc::invalid_request, "a watch takes no binary frames")};
    const PingMessage* ping = message ? std::get_if<PingMessage>(&message->body) : nullptr;
    if (ping == nullptr) {
      co_await socket->close(1002, "a watch takes ping messages only");
      break;
    }
    (void)co_await socket->send(WebSocket::Kind::text, pong(ping->data, std::nullopt));
  }
  reading->leave();
}

Task<> send_frames(WebSocket* socket, const Agent* agent, std::shared_ptr<Reading> reading) {
  std::string first = beginning(reading->cursor).data;
  auto sent = co_await socket->send(WebSocket::Kind::text, std::move(first));
  bool failed = false;
  while (sent) {
    auto events = co_await Reading::next(reading);
    failed = !events;
    if (failed || reading->expired || (events->empty() && reading->over())) break;
    for (const fs::WatchEvent& event : *events) {
      std::string frame = message_of(event).data;
      sent = co_await socket->send(WebSocket::Kind::text, std::move(frame));
      if (!sent) break;
    }
  }
  if (!sent || reading->peer_gone) co_return;
  if (agent->shutdown.draining()) {
    co_await socket->close(1001, "the agent is stopping");
  } else if (reading->expired) {
    co_await socket->close(kClosedExpired, std::string{kExpired});
  } else if (reading->session->closed()) {
    co_await socket->close(kClosedSessionDeleted, "the session was deleted");
  } else if (failed) {
    co_await socket->close(1011, "the directory can no longer be watched");
  } else {
    co_await socket->close(1000, "the directory is gone");
  }
}

Task<> serve_socket(protocol::Upgraded connection, Agent* agent, std::shared_ptr<fs::DirectoryWatches::Reader> reader,
                    std::shared_ptr<Reading> reading) {
  const OpenSocket open{agent->connections, agent->activity};
  WebSocket socket{std::move(connection.stream), std::move(connection.buffered), socket_options(*agent, connection)};
  co_await run_beside(await_session(reading),
                      run_beside(receive(&socket, reading), send_frames(&socket, agent, reading)));
  socket.abort();
  (void)reader;  // keep it until here
}

}  // namespace

const Answer<fs::WatchEvent>& change_answer() {
  using Change = fs::WatchEvent;
  static const Answer<Change> answer{
      "ChangeEvent",
      {{"type", [](const Change& change) { return word(change.type); },
        "Kind of change; overflow: changes were lost, list the directory again",
        [] { return one_of({"created", "modified", "deleted", "renamed", "overflow"}); }},
       {"path", [](const Change& change) { return std::string_view{change.path}; },
        "Path below the session's root, in the form of the requested path"},
       {"from",
        [](const Change& change) {
          return change.type == Change::Type::renamed ? std::optional<std::string_view>{change.from} : std::nullopt;
        },
        "renamed: path before"},
       {"is_directory", [](const Change& change) { return change.is_directory; }},
       {"cursor", [](const Change& change) { return change.cursor; },
        "Position for resuming; also the id of the server-sent event"}}};
  return answer;
}

const Answer<std::uint64_t>& watching_answer() {
  static const Answer<std::uint64_t> answer{
      "WatchingEvent",
      {{"type", [](const std::uint64_t&) { return kWatching; }, {}, [] { return one_of({kWatching}); }},
       {"cursor", [](const std::uint64_t& cursor) { return cursor; }}}};
  return answer;
}

Task<Result<>> watch_files(Call& call) {
  SKIFF_CO_TRY(auto session, call.session());
  SKIFF_CO_TRY(auto file, co_await FileCall::of(call));
  SKIFF_CO_TRY(auto recursive, call.query_flag("recursive"));
  auto cursor = call.query_number("cursor", std::numeric_limits<std::int64_t>::max());
  if (!cursor) co_return std::unexpected{std::move(cursor.error())};
  std::optional<Handshake> handshake;
  // HTTP/2 clients may send `Upgrade: h2c` to every server; a server may ignore it (RFC 9110, 7.8).
  if (call.http.request().headers.has_token("Upgrade", "websocket")) {
    SKIFF_CO_TRY(handshake, shake_hands(call, {kJsonProtocol}));
  }
  SKIFF_CO_TRY(auto last, call.last_event_id());
  if (last) *cursor = last;
  const std::string path{call.query("path").value_or("")};
  auto open = [tree = file.tree, path] { return tree->open_directory(path); };
  SKIFF_CO_TRY(auto joined, co_await call.agent.watches.join(std::move(open), relative_prefix(path), recursive,
                                                             file.tree->levels_of(path)));
  auto reader = std::make_shared<fs::DirectoryWatches::Reader>(std::move(joined));
  auto reading = std::make_shared<Reading>(Reading{.watch = reader->watch(),
                                                   .session = session,
                                                   .cursor = cursor->value_or(reader->watch()->newest()),
                                                   .keepalive = call.agent.settings.keepalive});
  reading->expiry = std::make_unique<Expiry>(call.agent.executor, call.identity.expires, [watched = reading.get()] {
    watched->expired = true;
    watched->watch->wake();
  });
  if (!handshake) {
    co_return co_await run_beside(
        await_session(reading),
        run_beside(call.http.watch_peer([reading] { reading->leave(); }), send_stream(&call.http, reading)));
  }
  handshake->headers.add("X-Skiff-Cursor", std::to_string(reading->cursor));
  co_return co_await call.http.upgrade(std::move(handshake->headers),
                                       [agent = &call.agent, reader, reading](protocol::Upgraded connection) {
                                         return serve_socket(std::move(connection), agent, reader, reading);
                                       });
}

}  // namespace skiff::runtime::api
