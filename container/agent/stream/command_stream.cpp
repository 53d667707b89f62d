#include "container/agent/stream/command_stream.hpp"

#include <algorithm>
#include <utility>

#include "base/async/event.hpp"
#include "base/async/timer.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;
using protocol::WebSocket;
using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{50};
constexpr milliseconds kLongestPause{2'000};
/// A connection that lasted so long has worked, even if no message came.
constexpr milliseconds kWorked{5'000};
constexpr std::uint32_t kChannel = 1;
/// Most unknown messages in a row: a newer agent may send some, but only a broken one sends nothing else.
constexpr int kMostUnknown = 1'000;

/// Pauses that double until the patience is over. A success starts again with the first pause.
class Retries {
 public:
  Retries(Executor executor, milliseconds patience) : timer_{executor}, patience_{patience} {}

  /// Waits before the next try; returns false when the patience is over.
  Task<bool> again() {
    const auto now = std::chrono::steady_clock::now();
    if (!since_) since_ = now;
    if (now - *since_ >= patience_) co_return false;
    timer_.expires_after(pause_);
    pause_ = std::min(pause_ * 2, kLongestPause);
    co_await timer_.async_wait(use_task);
    co_return true;
  }
  void succeeded() noexcept {
    since_.reset();
    pause_ = kFirstPause;
  }

 private:
  Timer timer_;
  const milliseconds patience_;
  std::optional<std::chrono::steady_clock::time_point> since_;
  milliseconds pause_ = kFirstPause;
};

}  // namespace

struct CommandStream::State {
  State(Executor executor, const Endpoint& endpoint, std::string session_in, std::string id_in,
        milliseconds patience_in, milliseconds renewal_in)
      : session{std::move(session_in)},
        id{std::move(id_in)},
        path{command_path(session, id)},
        log{executor, endpoint},
        input{executor, endpoint},
        control{executor, endpoint},
        control_free{executor},
        patience{patience_in},
        renewal{renewal_in},
        retries{executor, patience_in} {}

  static Task<Result<>> connect(std::shared_ptr<State> self);
  static Task<> renew(std::shared_ptr<State> self);
  void hang_up() noexcept;
  static Task<Result<Event>> next(std::shared_ptr<State> self);
  static Task<Result<>> give(std::shared_ptr<State> self, std::string query, std::string bytes);
  static Task<Result<>> feed(std::shared_ptr<State> self, std::string bytes);
  static Task<Result<>> end_input(std::shared_ptr<State> self);
  static Task<Result<>> tell(std::shared_ptr<State> self, std::string verb, std::string body);

  /// The turn to send a control request: one at a time. The destructor ends it even if the caller is cancelled.
  struct Turn {
    explicit Turn(State& state_in) : state{state_in} { state.control_busy = true; }
    ~Turn() {
      state.control_busy = false;
      state.control_free.notify_all();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    State& state;
  };

  std::string session;
  std::string id;
  std::string path;
  AgentClient log;      ///< its sockets carry the output
  AgentClient input;    ///< separate, because a command that does not read must not delay signals
  AgentClient control;  ///< signals, sizes
  skiff::Event control_free;
  bool control_busy = false;
  milliseconds patience;
  milliseconds renewal;
  Retries retries;
  std::unique_ptr<WebSocket> socket;
  std::unique_ptr<WebSocket> before;  ///< the socket that `socket` replaces, until the new one has delivered a message
  std::chrono::steady_clock::time_point renew_at{};
  std::chrono::steady_clock::time_point connected_at{};
  json request;          ///< request to start the command
  bool reached = false;  ///< a message has come through this endpoint
  CommandEvents events{0};
  std::uint64_t fed = 0;
  bool lossless = true;
};

/// Opens the socket and sends the request to start or attach.
Task<Result<>> CommandStream::State::connect(std::shared_ptr<State> self) {
  SKIFF_CO_TRY(self->socket, co_await self->log.open_socket("/v1/connect"));
  self->connected_at = std::chrono::steady_clock::now();
  self->renew_at = self->connected_at + self->renewal;
  json message{{"channel", kChannel}, {"session", self->session}, {"id", self->id}};
  if (self->events.started()) {
    message["type"] = "attach";
    message["from"] = self->events.next_offset();
    message["lossless"] = self->lossless;
  } else {
    message.update(self->request);
    message["type"] = "start";
  }
  std::string text = message.dump();
  co_return co_await self->socket->send(WebSocket::Kind::text, std::move(text));
}

void CommandStream::State::hang_up() noexcept {
  for (auto* const one : {&socket, &before}) {
    if (*one) (*one)->abort();
    one->reset();
  }
}

/// Replaces the socket before the agent closes it because its token has expired. Otherwise the command would have no
/// lossless reader for a moment, and could drop output.
Task<> CommandStream::State::renew(std::shared_ptr<State> self) {
  self->before = std::move(self->socket);
  auto ready = co_await connect(self);
  // The answer shows that the agent has attached the new socket, even if the command prints nothing.
  if (ready) ready = co_await self->socket->send(WebSocket::Kind::text, json{{"type", "ping"}}.dump());
  if (ready) co_return;
  if (self->socket) self->socket->abort();
  self->socket = std::move(self->before);
  self->renew_at = std::chrono::steady_clock::now() + kLongestPause;
}

Task<Result<CommandStream::Event>> CommandStream::State::next(std::shared_ptr<State> self) {
  const bool is_old = self->socket && !self->before && std::chrono::steady_clock::now() >= self->renew_at;
  if (is_old && self->events.started()) co_await renew(self);
  for (int unknown = 0;;) {
    Result<> connected;
    if (!self->socket) connected = co_await connect(self);
    Result<WebSocket::Message> message = std::unexpected{Error{}};
    if (connected) {
      message = co_await self->socket->read();
    } else {
      message = std::unexpected{std::move(connected.error())};
    }
    if (message) {
      self->reached = true;
      if (self->before) self->before->abort();
      self->before.reset();
      auto event = self->events.take(std::move(*message));
      if (event && !*event && ++unknown > kMostUnknown) {
        event = fail(Errc::invalid_request, "what answers there is not skiffd: it says nothing that is known here");
      }
      if (!event) {
        self->hang_up();  // the caller does not read from it any more
        co_return std::unexpected{std::move(event.error())};
      }
      if (!*event) continue;
      self->retries.succeeded();
      co_return std::move(**event);
    }
    if (self->socket) {
      if (std::chrono::steady_clock::now() - self->connected_at >= kWorked) self->retries.succeeded();
    }
    self->hang_up();
    // A router whose agent is away for a moment answers like one that does not support WebSockets.
    const bool passes =
        is_broken_connection(message.error()) || (self->reached && message.error().code == Errc::not_supported);
    if (!passes) co_return std::unexpected{std::move(message.error())};
    if (co_await self->retries.again()) continue;
    if (message.error().code != Errc::cancelled) co_return std::unexpected{std::move(message.error())};
    co_return fail(Errc::io_error, "the agent ends each connection, and not the command: " + message.error().message);
  }
}

Task<Result<>> CommandStream::State::give(std::shared_ptr<State> self, std::string query, std::string bytes) {
  // The offset makes a repetition exact: bytes that were taken before the connection broke are not taken again.
  const std::string target = self->path + "/stdin?" + query + "offset=" + std::to_string(self->fed);
  Retries tries{self->input.executor(), self->patience};
  for (;;) {
    std::string copy = bytes;
    auto done = co_await self->input.post_bytes(target, std::move(copy));
    if (done) co_return done;
    // The agent answers when the command has read the bytes, which may take an hour. `next` notices if the agent is
    // dead.
    if (done.error().code == Errc::timeout) tries.succeeded();
    if (!is_broken_connection(done.error()) || !co_await tries.again()) co_return done;
  }
}

Task<Result<>> CommandStream::State::feed(std::shared_ptr<State> self, std::string bytes) {
  const std::size_t size = bytes.size();
  auto done = co_await give(self, {}, std::move(bytes));
  if (done) self->fed += size;
  co_return done;
}

Task<Result<>> CommandStream::State::end_input(std::shared_ptr<State> self) {
  std::string query = "eof=true&";
  auto done = co_await give(self, std::move(query), {});
  // This may be the repetition of a request whose answer was lost.
  if (!done && done.error().code == Errc::stdin_closed) co_return Result<>{};
  co_return done;
}

Task<Result<>> CommandStream::State::tell(std::shared_ptr<State> self, std::string verb, std::string body) {
  while (self->control_busy) co_await self->control_free.wait();
  const Turn turn{*self};
  SKIFF_CO_TRY_VOID(co_await self->control.post(self->path + "/" + verb, std::move(body)));
  co_return Result<>{};
}

CommandStream::CommandStream(Executor executor, const Endpoint& endpoint, std::string session, std::string id,
                             milliseconds patience, milliseconds renewal)
    : state_{std::make_shared<State>(executor, endpoint, std::move(session), std::move(id), patience, renewal)} {}
CommandStream::~CommandStream() = default;

void CommandStream::start(json request) {
  state_->request = std::move(request);
  state_->events = CommandEvents{};
}

void CommandStream::attach(Join join) {
  state_->events = CommandEvents{join.from};
  state_->fed = join.fed;
  state_->lossless = join.lossless;
}

Task<Result<CommandStream::Event>> CommandStream::next() {
  return State::next(state_);
}
Task<Result<>> CommandStream::feed(std::string bytes) {
  return State::feed(state_, std::move(bytes));
}
Task<Result<>> CommandStream::end_input() {
  return State::end_input(state_);
}
Task<Result<>> CommandStream::signal(std::string name, std::optional<milliseconds> or_kill_after) {
  json body{{"signal", std::move(name)}};
  if (or_kill_after) body["escalate_after_ms"] = or_kill_after->count();
  return State::tell(state_, "signal", body.dump());
}
Task<Result<>> CommandStream::resize(int columns, int rows) {
  std::string body = json{{"cols", columns}, {"rows", rows}}.dump();
  return State::tell(state_, "resize", std::move(body));
}
const std::string& CommandStream::id() const noexcept {
  return state_->id;
}

}  // namespace skiff::container
