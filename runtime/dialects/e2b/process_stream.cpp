#include "runtime/dialects/e2b/process_stream.hpp"

#include <algorithm>
#include <utility>

#include "base/async/beside.hpp"
#include "runtime/reader/log_reader.hpp"

namespace skiff::runtime::dialects::e2b {
namespace {

using sessions::LogItem;
using sessions::Stream;

/// The most bytes of output in one event.
constexpr std::size_t kMostOfEvent = std::size_t{32} << 10U;

/// Sends the events of one stream.
class ProcessStream {
 public:
  ProcessStream(StreamCall& call, std::shared_ptr<sessions::Command> command, bool lossless,
                std::optional<OutputOffsets> resume_from)
      : call_{call},
        command_{std::move(command)},
        reader_{call.call.agent().supervisor.output.reader_turns,
                command_->log(),
                {.lossless = lossless,
                 .watch = {.keepalive = keepalive_interval(headers(), call.call.agent().settings.keepalive),
                           .until = call.until}}},
        lossless_{lossless},
        resumes_{resume_from},
        // Clients older than connectrpc's fail at unknown fields.
        tells_offsets_{!headers().get("User-Agent").starts_with("connect-python")} {}

  [[nodiscard]] LogReader& reader() noexcept { return reader_; }

  static Task<Result<>> run(ProcessStream* self) {
    LogReader& reader = self->reader_;
    self->begin();
    for (;;) {
      const Wake wake = co_await reader.ready();
      if (wake == Wake::overdue) co_return fail(Errc::timeout, "the stream's time is over; the process may go on");
      const Result<> gathered = self->gather();
      if (self->text_.empty() && wake == Wake::keepalive) self->add(kKeepaliveEvent);
      if (!gathered || reader.over()) {
        self->call_.send_with_end(std::move(self->text_));
        co_return gathered;
      }
      if (!self->text_.empty()) {
        SKIFF_CO_TRY_VOID(co_await self->flush());
      }
      if (reader.client_gone()) co_return fail(Errc::cancelled, "the client is gone");
    }
  }

 private:
  [[nodiscard]] const protocol::Headers& headers() const { return call_.call.request.http.request().headers; }
  void add(std::string_view event) { append_envelope(text_, Envelope::message, event); }

  Task<Result<>> flush() {
    auto sent = co_await call_.send(text_);
    text_.clear();
    co_return sent;
  }

  void begin() {
    const OutputOffsets from = resumes_.value_or(OutputOffsets{});
    add(start_event(command_->pid(), tells_offsets_ ? std::optional{from} : std::nullopt));
  }

  /// Adds what the log has now, up to this turn's share of bytes.
  Result<> gather() {
    while (const auto item = reader_.next(kMostOfEvent)) {
      if (item->kind == LogItem::Kind::gap) {
        SKIFF_TRY_VOID(tell_gap(*item));
      } else if (item->kind == LogItem::Kind::output) {
        add_output(*item);
      } else {
        return end();
      }
    }
    return {};
  }

  void add_output(const LogItem& item) {
    const bool is_out = item.stream == Stream::out;
    std::uint64_t& at = is_out ? at_.out : at_.err;
    const std::uint64_t begins = std::exchange(at, at + item.bytes.size());
    std::string_view bytes = item.bytes.view();
    if (resumes_) {
      const std::uint64_t has = is_out ? resumes_->out : resumes_->err;
      bytes.remove_prefix(static_cast<std::size_t>(std::min<std::uint64_t>(has - std::min(has, begins), bytes.size())));
    }
    if (bytes.empty()) return;
    const std::string_view stream = command_->spec().terminal ? "pty" : is_out ? "stdout" : "stderr";
    add(data_event(stream, bytes, tells_offsets_ ? std::optional{at - bytes.size()} : std::nullopt));
  }

  /// The log no longer knows to which stream the lost bytes belonged, so the offsets end here.
  Result<> tell_gap(const LogItem& gap) {
    const std::string bytes = std::to_string(gap.next - gap.offset) + " bytes of output are no longer kept";
    if (resumes_) return fail(Errc::range_not_satisfiable, bytes);
    if (lossless_) return fail(Errc::io_error, bytes);
    tells_offsets_ = false;
    add(R"({"event":{"keepalive":{}},"lostBytes":")" + std::to_string(gap.next - gap.offset) + "\"}");
    return {};
  }

  Result<> end() {
    const auto& status = *command_->exit_status();
    if (status.cause == sessions::Cause::timeout)
      return fail(Errc::timeout, "the process was ended: its time was over");
    add(end_event(status));
    return {};
  }

  StreamCall& call_;
  std::shared_ptr<sessions::Command> command_;
  LogReader reader_;
  const bool lossless_;
  const std::optional<OutputOffsets> resumes_;
  bool tells_offsets_;
  OutputOffsets at_;
  std::string text_;
};

}  // namespace

Task<Result<>> stream_process(StreamCall* call, std::shared_ptr<sessions::Command> command, bool lossless,
                              std::optional<OutputOffsets> resume_from) {
  ProcessStream stream{*call, std::move(command), lossless, resume_from};
  co_return co_await run_beside(stream.reader().watch_peer(call->call.request.http), ProcessStream::run(&stream));
}

}  // namespace skiff::runtime::dialects::e2b
