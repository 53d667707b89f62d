#include "container/launcher/command_stream.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/basic_waitable_timer.hpp>

#include "base/event.hpp"
#include "protocol/schema.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;
using protocol::WebSocket;
using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{50};
constexpr milliseconds kLongestPause{2'000};
/// How long a connection may be away before its user is told.
constexpr milliseconds kReconnectPatience{30'000};
constexpr std::uint32_t kChannel = 1;

using Timer = boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                                boost::asio::wait_traits<std::chrono::steady_clock>, Executor>;

/// Pauses that double, until the patience is over. Success begins anew.
class Retries {
 public:
  explicit Retries(Executor executor) : timer_{executor} {}

  /// Waits before the next try; false: enough.
  Task<bool> again() {
    const auto now = std::chrono::steady_clock::now();
    if (!since_) since_ = now;
    if (now - *since_ >= kReconnectPatience) co_return false;
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
  std::optional<std::chrono::steady_clock::time_point> since_;
  milliseconds pause_ = kFirstPause;
};

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes) value = value << 8U | static_cast<unsigned char>(c);
  return value;
}

}  // namespace

struct CommandStream::State {
  State(Executor executor, const Endpoint& endpoint, std::string session_in, std::string id_in)
      : session{std::move(session_in)},
        id{std::move(id_in)},
        path{command_path(session, id)},
        log{executor, endpoint},
        input{executor, endpoint},
        control{executor, endpoint},
        control_free{executor},
        retries{executor} {}

  static Task<Result<>> connect(std::shared_ptr<State> self);
  static Task<Result<Event>> next(std::shared_ptr<State> self);
  static Task<Result<>> give(std::shared_ptr<State> self, std::string query, std::string bytes);
  static Task<Result<>> feed(std::shared_ptr<State> self, std::string bytes);
  static Task<Result<>> end_input(std::shared_ptr<State> self);
  static Task<Result<>> tell(std::shared_ptr<State> self, std::string verb, std::string body);
  Result<std::optional<Event>> take(WebSocket::Message message);
  std::optional<Event> take_output(std::string frame);

  /// One control request at a time; ends also when the caller is cancelled.
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
  AgentClient input;    ///< a command that does not read must not hold up signals
  AgentClient control;  ///< signals, sizes
  skiff::Event control_free;
  bool control_busy = false;
  Retries retries;
  std::unique_ptr<WebSocket> socket;
  json request;            ///< of a command that is to be started
  bool started = true;     ///< the agent knows the command
  bool announced = false;  ///< `started` was given to the caller
  bool reached = false;    ///< a message came by this way once
  std::uint64_t next_offset = 0;
  std::uint64_t fed = 0;
  bool lossless = true;
};

/// Opens the socket and says what is wanted on it.
Task<Result<>> CommandStream::State::connect(std::shared_ptr<State> self) {
  auto socket = co_await self->log.open_socket("/v1/connect");
  if (!socket) co_return std::unexpected{std::move(socket.error())};
  self->socket = std::move(*socket);
  json message{{"channel", kChannel}, {"session", self->session}, {"id", self->id}};
  if (self->started) {
    message["type"] = "attach";
    message["from"] = self->next_offset;
    message["lossless"] = self->lossless;
  } else {
    message.update(self->request);
    message["type"] = "start";
  }
  std::string text = message.dump();
  co_return co_await self->socket->send(WebSocket::Kind::text, std::move(text));
}

std::optional<CommandStream::Event> CommandStream::State::take_output(std::string frame) {
  // The header of skiff.v1.binary: version, kind, stream, flags, then channel, offset and time.
  constexpr std::size_t kHeader = 24;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(frame[at]); };
  if (frame.size() <= kHeader || byte(0) != 1 || byte(1) != 1) return std::nullopt;
  Event event{.kind = Event::Kind::output, .is_stderr = byte(2) == 2};
  event.offset = big_endian(std::string_view{frame}.substr(8, 8));
  frame.erase(0, kHeader);
  // After a start that was sent again the log comes from its beginning.
  const std::uint64_t end = event.offset + frame.size();
  if (end <= next_offset) return std::nullopt;
  if (event.offset < next_offset) {
    frame.erase(0, next_offset - event.offset);
    event.offset = next_offset;
  }
  next_offset = end;
  event.bytes = std::move(frame);
  return event;
}

Result<std::optional<CommandStream::Event>> CommandStream::State::take(WebSocket::Message message) {
  if (message.kind == WebSocket::Kind::binary) return take_output(std::move(message.payload));
  auto parsed = protocol::parse_json(message.payload);
  if (!parsed) return std::unexpected{std::move(parsed.error())};
  const std::string type = parsed->value("type", "");
  if (type == "started") {
    started = true;
    if (std::exchange(announced, true)) return std::nullopt;
    return Event{.kind = Event::Kind::started};
  }
  if (type == "gap") {
    const std::uint64_t to = parsed->value("to", std::uint64_t{0});
    const std::uint64_t from = std::max(parsed->value("from", std::uint64_t{0}), next_offset);
    if (to <= from) return std::nullopt;
    next_offset = to;
    return Event{.kind = Event::Kind::gap, .offset = from, .lost_bytes = to - from};
  }
  if (type == "exit") return Event{.kind = Event::Kind::exit, .offset = next_offset, .exit = std::move(*parsed)};
  if (type == "error") {
    const std::string word = parsed->value("code", "");
    return fail(find_code(word).value_or(Errc::invalid_request), parsed->value("detail", word),
                parsed->value("field", ""));
  }
  return std::nullopt;
}

Task<Result<CommandStream::Event>> CommandStream::State::next(std::shared_ptr<State> self) {
  for (;;) {
    Result<> connected;
    if (!self->socket) connected = co_await connect(self);
    Result<WebSocket::Message> message = std::unexpected{Error{}};
    if (connected) {
      message = co_await self->socket->read();
    } else {
      message = std::unexpected{std::move(connected.error())};
    }
    if (message) {
      self->retries.succeeded();
      self->reached = true;
      auto event = self->take(std::move(*message));
      if (!event) co_return std::unexpected{std::move(event.error())};
      if (*event) co_return std::move(**event);
      continue;
    }
    if (self->socket) {
      self->socket->abort();
      self->socket.reset();
    }
    // A router whose agent is away for a moment refuses as one that takes no WebSockets at all.
    const bool passes =
        is_broken_connection(message.error()) || (self->reached && message.error().code == Errc::not_supported);
    if (!passes) co_return std::unexpected{std::move(message.error())};
    if (!co_await self->retries.again()) co_return std::unexpected{std::move(message.error())};
  }
}

Task<Result<>> CommandStream::State::give(std::shared_ptr<State> self, std::string query, std::string bytes) {
  // With its offset a repeat is exact: what was taken before the connection broke is not taken again.
  const std::string target = self->path + "/stdin?" + query + "offset=" + std::to_string(self->fed);
  Retries tries{self->input.executor()};
  for (;;) {
    std::string copy = bytes;
    auto done = co_await self->input.post_bytes(target, std::move(copy));
    if (done) co_return done;
    // The agent answers when the command has read, which may be in an hour. Whether it still lives is for `next` to
    // say.
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
  // It may be the repeat of one whose answer was lost.
  if (!done && done.error().code == Errc::stdin_closed) co_return Result<>{};
  co_return done;
}

Task<Result<>> CommandStream::State::tell(std::shared_ptr<State> self, std::string verb, std::string body) {
  while (self->control_busy) co_await self->control_free.wait();
  const Turn turn{*self};
  auto done = co_await self->control.post(self->path + "/" + verb, std::move(body));
  if (!done) co_return std::unexpected{std::move(done.error())};
  co_return Result<>{};
}

CommandStream::CommandStream(Executor executor, const Endpoint& endpoint, std::string session, std::string id)
    : state_{std::make_shared<State>(executor, endpoint, std::move(session), std::move(id))} {}
CommandStream::~CommandStream() = default;

void CommandStream::start(json request) {
  state_->request = std::move(request);
  state_->started = false;
}

void CommandStream::attach(Join join) {
  state_->started = true;
  state_->next_offset = join.from;
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
