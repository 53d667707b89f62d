#include "runtime/api/commands/log_stream.hpp"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/async/beside.hpp"
#include "base/async/expiry.hpp"
#include "protocol/http/accepted_types.hpp"
#include "protocol/http/message.hpp"
#include "protocol/json/problem.hpp"
#include "protocol/json/sse.hpp"
#include "runtime/api/events.hpp"
#include "runtime/api/requests.hpp"
#include "runtime/reader/log_reader.hpp"

namespace skiff::runtime::api {
namespace {

using sessions::LogItem;

/// An HTTP/1.0 client supports no trailers. Up to this many bytes of output are held back until the exit, which is then
/// in the head.
constexpr std::size_t kHeldForOldClients = std::size_t{256} << 10U;

std::string_view content_type(StreamForm form) {
  switch (form) {
    case StreamForm::ndjson:
      return "application/x-ndjson";
    case StreamForm::sse:
      return protocol::kEventStreamType;
    case StreamForm::octets:
      return "application/octet-stream";
  }
  return {};
}

/// Sends one response.
class Sender {
 public:
  Sender(Call& call, std::shared_ptr<sessions::Command> command, const LogStream& options)
      : call_{call},
        command_{std::move(command)},
        options_{options},
        writer_{options.form == StreamForm::sse ? Form::sse : Form::ndjson, std::nullopt},
        reader_{call.agent.supervisor.output.reader_turns,
                command_->log(),
                {.from = options.from,
                 .only = options.only,
                 .lossless = options.lossless,
                 .follow = options.follow,
                 .until_end = options.until_end,
                 .limit_bytes = options.limit_bytes.value_or(std::numeric_limits<std::uint64_t>::max()),
                 // Octets have no keep-alive.
                 .watch = {.keepalive = octets() ? std::chrono::milliseconds{0} : call.agent.settings.keepalive,
                           .token_end = call.identity.expires}}} {}

  [[nodiscard]] LogReader& reader() noexcept { return reader_; }

  static Task<Result<>> run(std::shared_ptr<Sender> self) {
    SKIFF_CO_TRY_VOID(co_await self->begin());
    while (!self->reader_.over()) {
      const Wake wake = co_await self->reader_.ready(self->writer_.holding());
      if (wake == Wake::expired) co_return co_await self->expire();
      if (wake == Wake::client_gone) co_return self->leave();
      if (wake == Wake::keepalive) self->writer_.keepalive(self->text_);
      if (wake == Wake::release) self->writer_.release(self->text_);
      self->gather();
      if (self->waits_for_exit()) continue;
      SKIFF_CO_TRY_VOID(co_await self->begin_held());
      if (!self->empty()) {
        SKIFF_CO_TRY_VOID(co_await self->flush());
      }
    }
    co_return co_await self->call_.http.finish(self->trailers());
  }

 private:
  [[nodiscard]] bool empty() const { return text_.empty() && items_.empty(); }
  [[nodiscard]] bool octets() const { return options_.form == StreamForm::octets; }

  Task<Result<>> begin() {
    if (options_.announce) co_await command_->started();
    protocol::HttpResponse head{200, {{"Content-Type", content_type(options_.form)}, {"Cache-Control", "no-store"}}};
    head.headers.set("X-Skiff-Command-Id", command_->id());
    const bool is_old = call_.http.request().version < 11;
    if (octets() && !is_old) head.headers.set("Trailer", "X-Exit-Code, X-Signal, X-Cause, X-Omitted-Bytes");
    const auto& log = *command_->log();
    const bool something = options_.announce || reader_.offset() < log.next_offset() || log.exit_status();
    if (options_.announce && !octets()) writer_.started(text_, *command_, call_.agent.instance);
    if (octets() && is_old && options_.follow) {
      held_head_ = std::move(head);
      co_return Result<>{};
    }
    co_return co_await call_.http.start(
        std::move(head), {},
        something ? protocol::HttpExchange::Send::with_first_write : protocol::HttpExchange::Send::now);
  }

  /// Whether the answer to an HTTP/1.0 client is still held back.
  [[nodiscard]] bool waits_for_exit() const {
    return held_head_ && !reader_.over() && held_bytes_ < kHeldForOldClients;
  }

  Task<Result<>> begin_held() {
    if (!held_head_) co_return Result<>{};
    protocol::HttpResponse head = std::move(*held_head_);
    held_head_.reset();
    if (reader_.over()) head.headers.append(trailers());
    co_return co_await call_.http.start(std::move(head), {}, protocol::HttpExchange::Send::with_first_write);
  }

  /// Reads the log's current items, up to this turn's share.
  void gather() {
    while (auto item = reader_.next()) take(std::move(*item));
    if (reader_.over() && !octets()) writer_.release(text_);
  }

  void take(LogItem item) {
    if (item.kind == LogItem::Kind::gap) omitted_ += item.next - item.offset;
    if (!octets()) {
      writer_.item(text_, item, *command_->log());
    } else if (!item.bytes.empty()) {
      held_bytes_ += item.bytes.size();
      items_.push_back(std::move(item));
    }
  }

  Task<Result<>> flush() {
    std::vector<std::string_view> parts;
    if (!text_.empty()) parts.push_back(text_);
    for (const LogItem& item : items_) parts.push_back(item.bytes.view());
    auto sent = co_await call_.http.write(parts);
    text_.clear();
    items_.clear();
    co_return sent;
  }

  /// Ends the stream because the token has expired. Events report the reason; octets end abruptly, like a truncated
  /// body.
  Task<Result<>> expire() {
    const Error error{Errc::unauthenticated, std::string{kExpired}};
    if (octets()) co_return std::unexpected{error};
    writer_.error(text_, error);
    SKIFF_CO_TRY_VOID(co_await flush());
    co_return co_await call_.http.finish();
  }

  [[nodiscard]] Result<> leave() const {
    if (options_.kill_on_disconnect) command_->end(sessions::Cause::killed_by_client);
    return fail(Errc::cancelled, "the client is gone");
  }

  [[nodiscard]] protocol::Headers trailers() const {
    protocol::Headers trailers;
    if (!octets()) return trailers;
    if (const auto& status = command_->exit_status()) {
      if (status->exit_code) trailers.add("X-Exit-Code", std::to_string(*status->exit_code));
      if (status->signal) trailers.add("X-Signal", signal_name(*status->signal));
      trailers.add("X-Cause", name(status->cause));
    }
    if (omitted_ > 0) trailers.add("X-Omitted-Bytes", std::to_string(omitted_));
    return trailers;
  }

  Call& call_;
  std::shared_ptr<sessions::Command> command_;
  const LogStream options_;
  EventWriter writer_;
  LogReader reader_;
  std::string text_;
  std::vector<LogItem> items_;
  std::optional<protocol::HttpResponse> held_head_ = {};  ///< held-back head of the answer to an HTTP/1.0 client
  std::size_t held_bytes_ = 0;                            ///< bytes of output so far
  std::uint64_t omitted_ = 0;
};

}  // namespace

Result<StreamForm> stream_form(std::string_view accept, StreamForm otherwise) {
  if (accept.empty()) return otherwise;
  bool is_about_problems = false;
  for (const std::string_view type : protocol::accepted_types(accept)) {
    if (protocol::same_text(type, "application/x-ndjson") || protocol::same_text(type, "application/ndjson")) {
      return StreamForm::ndjson;
    }
    if (protocol::same_text(type, "text/event-stream") || protocol::same_text(type, "text/*")) return StreamForm::sse;
    if (protocol::same_text(type, "application/octet-stream")) return StreamForm::octets;
    if (type == "*/*" || protocol::same_text(type, "application/*") || protocol::same_text(type, "application/json")) {
      return otherwise;
    }
    is_about_problems = is_about_problems || protocol::same_text(type, protocol::kProblemType);
  }
  // Ignore a type for errors only: some generated clients send just the type of problem documents.
  if (is_about_problems) return otherwise;
  return fail(Errc::not_acceptable,
              "a stream comes as application/x-ndjson, text/event-stream or application/octet-stream");
}

Task<Result<>> stream_log(Call& call, std::shared_ptr<sessions::Command> command, LogStream options) {
  auto sender = std::make_shared<Sender>(call, command, options);
  auto sent = co_await run_beside(sender->reader().watch_peer(call.http), Sender::run(sender));
  // A failed write means that the client has disconnected.
  const bool is_left = !sent || sender->reader().expired();
  if (is_left && options.kill_on_disconnect && !command->exit_status()) command->end(sessions::Cause::killed_by_client);
  co_return sent;
}

namespace {

/// Sends white space, so that no proxy closes the connection as idle. JSON allows it before a value (RFC 8259).
Task<Result<>> send_space(protocol::HttpExchange* http, std::shared_ptr<sessions::Command> command,
                          WaitOutcome* outcome) {
  if (!std::exchange(outcome->begun, true)) {
    protocol::HttpResponse head{200, {{"Content-Type", "application/json"}}};
    head.headers.set("X-Skiff-Command-Id", command->id());
    SKIFF_CO_TRY_VOID(co_await http->start(std::move(head), {}, protocol::HttpExchange::Send::with_first_write));
  }
  co_return co_await http->write(" ");
}

Task<Result<WaitOutcome>> await_exit(protocol::HttpExchange* http, std::shared_ptr<sessions::Command> command,
                                     LogWatch* watch) {
  WaitOutcome outcome;
  for (;;) {
    const Wake wake = co_await watch->until_exit();
    if (wake == Wake::client_gone) co_return fail(Errc::cancelled, "the client is gone");
    if (wake != Wake::keepalive) break;
    SKIFF_CO_TRY_VOID(co_await send_space(http, command, &outcome));
  }
  outcome.ended = command->exit_status().has_value();
  co_return outcome;
}

}  // namespace

Task<Result<WaitOutcome>> wait_for_exit(Agent* agent, protocol::HttpExchange* http,
                                        std::shared_ptr<sessions::Command> command,
                                        std::optional<std::chrono::milliseconds> limit) {
  if (command->exit_status()) co_return WaitOutcome{.ended = true};
  LogWatch::Options options{.keepalive = agent->settings.keepalive};
  if (limit) options.until = SteadyTime::clock::now() + *limit;
  LogWatch watch{agent->executor, command->log(), options};
  co_return co_await run_beside(watch.watch_peer(*http), await_exit(http, command, &watch));
}

Task<Result<>> answer_json(Call& call, bool begun, unsigned status, std::string text) {
  if (!begun) co_return co_await call.json(status, std::move(text));
  text += '\n';
  SKIFF_CO_TRY_VOID(co_await call.http.write(text));
  co_return co_await call.http.finish();
}

}  // namespace skiff::runtime::api
