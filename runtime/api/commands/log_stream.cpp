#include "runtime/api/commands/log_stream.hpp"

#include <array>
#include <string>
#include <vector>

#include "base/beside.hpp"
#include "base/deadline.hpp"
#include "base/expiry.hpp"
#include "protocol/http/accepted_types.hpp"
#include "protocol/http/message.hpp"
#include "protocol/json/problem.hpp"
#include "protocol/json/sse.hpp"
#include "runtime/api/events.hpp"
#include "runtime/api/requests.hpp"

namespace skiff::runtime::api {
namespace {

using sessions::LogItem;

// Half a character waits this long for its other half.
constexpr std::chrono::milliseconds kStreamHoldBack{100};
/// An HTTP/1.0 client knows no trailers: so much output waits for the exit, which is told in the head then.
constexpr std::size_t kHeldForOldClients = std::size_t{256} << 10U;

/// Ends the waits on a log when something other than the log happens.
struct Interrupts {
  bool peer_gone = false;
  bool expired = false;  ///< the token that the stream was asked for with
  bool quiet = false;    ///< nothing was sent for the keepalive time
  bool overdue = false;  ///< held back for long enough, or waited long enough
};

Task<> watch_peer(protocol::HttpExchange* http, std::shared_ptr<sessions::OutputLog> log, Interrupts* interrupts) {
  const bool gone = co_await http->peer_closed();
  if (!gone) co_return;
  interrupts->peer_gone = true;
  log->wake();
}

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

/// One response in the making.
class Sender {
 public:
  Sender(Call& call, std::shared_ptr<sessions::Command> command, const LogStream& options, Interrupts& interrupts)
      : call_{call},
        command_{std::move(command)},
        log_{command_->log()},
        options_{options},
        interrupts_{interrupts},
        writer_{options.form == StreamForm::sse ? Form::sse : Form::ndjson, std::nullopt},
        cursor_{log_, {.from = options.from, .only = options.only, .lossless = options.lossless}},
        quiet_{call.agent.executor, [this] { interrupt(interrupts_.quiet); }},
        held_{call.agent.executor, [this] { interrupt(interrupts_.overdue); }} {}

  static Task<Result<>> run(std::shared_ptr<Sender> self) {
    SKIFF_CO_TRY_VOID(co_await self->begin());
    while (!self->done_) {
      co_await self->call_.agent.supervisor.reader_turns.next();
      if (self->interrupts_.expired) co_return co_await self->expire();
      self->gather();
      if (self->waits_for_exit()) {
        if (self->gathered_ < self->batch_) {
          SKIFF_CO_TRY_VOID(co_await self->pause());
        }
        continue;
      }
      SKIFF_CO_TRY_VOID(co_await self->begin_held());
      if (!self->empty()) {
        SKIFF_CO_TRY_VOID(co_await self->flush());
        if (self->gathered_ >= self->batch_) continue;
      }
      if (self->done_) break;
      SKIFF_CO_TRY_VOID(co_await self->pause());
    }
    co_return co_await self->call_.http.finish(self->trailers());
  }

 private:
  void interrupt(bool& flag) {
    flag = true;
    log_->wake();
  }

  [[nodiscard]] bool empty() const { return text_.empty() && items_.empty(); }
  [[nodiscard]] bool octets() const { return options_.form == StreamForm::octets; }

  Task<Result<>> begin() {
    if (options_.announce) co_await command_->started();
    protocol::HttpResponse head{200, {{"Content-Type", content_type(options_.form)}, {"Cache-Control", "no-store"}}};
    head.headers.set("X-Skiff-Command-Id", command_->id());
    const bool is_old = call_.http.request().version < 11;
    if (octets() && !is_old) head.headers.set("Trailer", "X-Exit-Code, X-Signal, X-Cause, X-Omitted-Bytes");
    const bool something = options_.announce || cursor_.offset() < log_->next_offset() || log_->exit_status();
    stop_at_ = log_->next_offset();
    left_ = options_.limit_bytes.value_or(std::numeric_limits<std::uint64_t>::max());
    quiet_.expires_after(call_.agent.settings.keepalive);
    if (options_.announce && !octets()) writer_.started(text_, *command_, call_.agent.instance);
    if (octets() && is_old && options_.follow) {
      held_head_ = std::move(head);
      co_return Result<>{};
    }
    co_return co_await call_.http.start(
        std::move(head), {},
        something ? protocol::HttpExchange::Send::with_first_write : protocol::HttpExchange::Send::now);
  }

  /// Whether an old client's answer has not begun and need not yet.
  [[nodiscard]] bool waits_for_exit() const {
    return held_head_ && !done_ && !interrupts_.expired && held_bytes_ < kHeldForOldClients;
  }

  Task<Result<>> begin_held() {
    if (!held_head_) co_return Result<>{};
    protocol::HttpResponse head = std::move(*held_head_);
    held_head_.reset();
    if (done_) head.headers.append(trailers());
    co_return co_await call_.http.start(std::move(head), {}, protocol::HttpExchange::Send::with_first_write);
  }

  /// Takes what the log has now, up to one batch.
  void gather() {
    std::size_t size = 0;
    batch_ = call_.agent.supervisor.reader_turns.bytes();
    while (size < batch_ && !done_) {
      if (left_ == 0) {
        done_ = true;
        break;
      }
      auto item = cursor_.next(std::min<std::uint64_t>(batch_ - size, left_));
      if (!item) {
        if (!options_.follow && cursor_.offset() >= stop_at_) done_ = true;
        break;
      }
      take(std::move(*item), size);
    }
    if (done_ && !octets()) writer_.release(text_);
    gathered_ = size;
  }

  void take(LogItem item, std::size_t& size) {
    const bool is_exit = item.kind == LogItem::Kind::exit;
    const bool is_end = item.kind == LogItem::Kind::end;
    if (is_end || (is_exit && !options_.until_end)) done_ = true;
    if (item.kind == LogItem::Kind::gap) omitted_ += item.next - item.offset;
    left_ -= item.kind == LogItem::Kind::output ? item.bytes.size() : 0;
    size += item.bytes.size();
    if (!octets()) {
      writer_.item(text_, item, *log_);
    } else if (!item.bytes.empty()) {
      held_bytes_ += item.bytes.size();
      items_.push_back(std::move(item));
    }
  }

  Task<Result<>> flush() {
    quiet_.expires_after(call_.agent.settings.keepalive);
    interrupts_.quiet = false;
    std::vector<std::string_view> parts;
    if (!text_.empty()) parts.push_back(text_);
    for (const LogItem& item : items_) parts.push_back(item.bytes.view());
    auto sent = co_await call_.http.write(parts);
    text_.clear();
    items_.clear();
    co_return sent;
  }

  /// In a form that can, the client is told why nothing follows; the other one ends abruptly, like a body that was cut.
  Task<Result<>> expire() {
    const Error error{Errc::unauthenticated, std::string{kExpired}};
    if (octets()) co_return std::unexpected{error};
    writer_.error(text_, error);
    SKIFF_CO_TRY_VOID(co_await flush());
    co_return co_await call_.http.finish();
  }

  /// Nothing to send: until the log changes, or it's time for a sign of life.
  Task<Result<>> pause() {
    if (interrupts_.peer_gone) {
      if (options_.kill_on_disconnect) command_->end(sessions::Cause::killed_by_client);
      co_return fail(Errc::cancelled, "the client is gone");
    }
    if (interrupts_.quiet && !octets()) {
      writer_.keepalive(text_);
      co_return Result<>{};
    }
    if (writer_.holding()) {
      if (interrupts_.overdue) {
        writer_.release(text_);
        interrupts_.overdue = false;
        co_return Result<>{};
      }
      held_.expires_after(kStreamHoldBack);
    }
    interrupts_.quiet = false;
    co_await cursor_.ready();
    co_return Result<>{};
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
  std::shared_ptr<sessions::OutputLog> log_;
  const LogStream options_;
  Interrupts& interrupts_;
  EventWriter writer_;
  sessions::Cursor cursor_;
  Deadline quiet_;
  Deadline held_;
  std::string text_;
  std::vector<LogItem> items_;
  std::optional<protocol::HttpResponse> held_head_ = {};  ///< of an HTTP/1.0 client's answer that has not begun
  std::size_t held_bytes_ = 0;                            ///< of output, so far
  std::size_t batch_ = 0;                                 ///< one send carries up to this much
  std::size_t gathered_ = 0;                              ///< bytes of output in the batch
  std::uint64_t stop_at_ = 0;
  std::uint64_t left_ = 0;
  std::uint64_t omitted_ = 0;
  bool done_ = false;
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
  // What refusals come as says nothing of the stream: generated clients ask for the type that they know best.
  if (is_about_problems) return otherwise;
  return fail(Errc::not_acceptable,
              "a stream comes as application/x-ndjson, text/event-stream or application/octet-stream");
}

Task<Result<>> stream_log(Call& call, std::shared_ptr<sessions::Command> command, LogStream options) {
  Interrupts interrupts;
  const Expiry expiry{call.agent.executor, call.identity.expires, [&] {
                        interrupts.expired = true;
                        command->log()->wake();
                      }};
  auto sender = std::make_shared<Sender>(call, command, options, interrupts);
  auto sent = co_await run_beside(watch_peer(&call.http, command->log(), &interrupts), Sender::run(sender));
  // A write that failed means that the client is gone.
  const bool is_left = !sent || interrupts.expired;
  if (is_left && options.kill_on_disconnect && !command->exit_status()) command->end(sessions::Cause::killed_by_client);
  co_return sent;
}

namespace {

Task<Result<WaitOutcome>> await_exit(Agent* agent, protocol::HttpExchange* http,
                                     std::shared_ptr<sessions::Command> command, Interrupts* interrupts,
                                     std::optional<std::chrono::milliseconds> limit) {
  const auto& log = command->log();
  WaitOutcome outcome;
  Deadline quiet{agent->executor, [interrupts, &log] {
                   interrupts->quiet = true;
                   log->wake();
                 }};
  Deadline overdue{agent->executor, [interrupts, &log] {
                     interrupts->overdue = true;
                     log->wake();
                   }};
  quiet.expires_after(agent->settings.keepalive);
  if (limit) overdue.expires_after(*limit);
  while (!log->exit_status() && !interrupts->overdue) {
    if (interrupts->peer_gone) co_return fail(Errc::cancelled, "the client is gone");
    if (interrupts->quiet) {
      // Nothing may close this connection for idleness: white space may go before a JSON value (RFC 8259).
      interrupts->quiet = false;
      quiet.expires_after(agent->settings.keepalive);
      Result<> sent;
      if (!outcome.begun) {
        outcome.begun = true;
        protocol::HttpResponse head{200, {{"Content-Type", "application/json"}}};
        head.headers.set("X-Skiff-Command-Id", command->id());
        sent = co_await http->start(std::move(head), {}, protocol::HttpExchange::Send::with_first_write);
      }
      if (sent) sent = co_await http->write(" ");
      if (!sent) co_return std::unexpected{sent.error()};
      continue;
    }
    co_await log->changed();
  }
  outcome.ended = log->exit_status().has_value();
  co_return outcome;
}

}  // namespace

Task<Result<WaitOutcome>> wait_for_exit(Agent* agent, protocol::HttpExchange* http,
                                        std::shared_ptr<sessions::Command> command,
                                        std::optional<std::chrono::milliseconds> limit) {
  if (command->exit_status()) co_return WaitOutcome{.ended = true};
  Interrupts interrupts;
  co_return co_await run_beside(watch_peer(http, command->log(), &interrupts),
                                await_exit(agent, http, command, &interrupts, limit));
}

Task<Result<>> answer_json(Call& call, bool begun, unsigned status, std::string text) {
  if (!begun) co_return co_await call.json(status, std::move(text));
  text += '\n';
  SKIFF_CO_TRY_VOID(co_await call.http.write(text));
  co_return co_await call.http.finish();
}

}  // namespace skiff::runtime::api
