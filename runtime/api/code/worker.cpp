#include "runtime/api/code/worker.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/async/beside.hpp"
#include "base/async/finally.hpp"
#include "base/async/with_timeout.hpp"
#include "protocol/json/utf8.hpp"
#include "runtime/api/commands/command_routes.hpp"
#include "runtime/reader/log_reader.hpp"
#include "runtime/reader/outcome.hpp"

namespace skiff::runtime::api {
namespace {

using sessions::Command;
using sessions::LogItem;

constexpr std::size_t kKeptOutput = std::size_t{1} << 20U;
/// A longer frame is parsed on another thread.
constexpr std::size_t kShortFrame = std::size_t{64} << 10U;
/// Bytes of frames that are taken before others have their turn, and the cost of a frame beside its own.
constexpr std::size_t kMostOfTurn = std::size_t{64} << 10U;
constexpr std::size_t kCostOfFrame = 1024;
/// Most frames of other calls that come during one.
constexpr std::size_t kMostStrays = 10'000;
constexpr std::size_t kMostOfPiece = std::size_t{64} << 10U;
/// How long interrupted code may take to end.
constexpr Milliseconds kInterruptPatience{1'000};
/// How long a process may live that has closed its pipe: one that is ending does so, too.
constexpr Milliseconds kClosedPatience{1'000};

struct WorkerPipes {
  UniqueFd requests_in, requests, frames, frames_out;
};

Result<WorkerPipes> open_worker_pipes() {
  WorkerPipes pipes;
  std::array<int, 2> to{};
  std::array<int, 2> from{};
  if (::pipe2(to.data(), O_CLOEXEC) != 0) return std::unexpected{system_error(errno, "make a pipe")};
  pipes.requests_in.reset(to[0]);
  pipes.requests.reset(to[1]);
  if (::pipe2(from.data(), O_CLOEXEC) != 0) return std::unexpected{system_error(errno, "make a pipe")};
  pipes.frames.reset(from[0]);
  pipes.frames_out.reset(from[1]);
  ::fcntl(to[1], F_SETFL, O_NONBLOCK);
  ::fcntl(from[0], F_SETFL, O_NONBLOCK);
  return pipes;
}

std::unexpected<Error> not_started(const sessions::SpawnFailure& failure, const CodeLanguage& language) {
  const StartFault fault = start_fault(failure);
  if (failure.stage == "exec" && (fault == StartFault::absent || fault == StartFault::forbidden)) {
    const std::string& program = language.argv.front();
    return fail(Errc::language_unavailable,
                "the sandbox has no " + program + " in its PATH: use an image with " + program, "/language");
  }
  return fail(fault == StartFault::exhausted ? Errc::resource_exhausted : Errc::invalid_field,
              "the context could not be started: " + failure.message, failure.stage == "chdir" ? "/cwd" : "");
}

std::string how_worker_ended(const Command& command) {
  const auto& status = command.exit_status();
  std::string text = "the process of this context ";
  if (status && status->signal) {
    text += "was ended by signal " + std::to_string(*status->signal);
    if (status->cause == sessions::Cause::oom) text += " (out of memory)";
  } else if (status && status->exit_code) {
    text += "has exited with " + std::to_string(*status->exit_code);
  } else {
    text += "has ended";
  }
  return text + ": the next call starts a new one, without its variables";
}

}  // namespace

Task<Result<std::shared_ptr<CodeWorker>>> CodeWorker::start(Agent* agent, const Caller* caller,
                                                            std::shared_ptr<sessions::Session> session,
                                                            const CodeLanguage* language, CommandRequest request) {
  SKIFF_CO_TRY(auto pipes, open_worker_pipes());
  auto channels = std::make_shared<sessions::Channels>();
  channels->text = code_worker_source(*language);
  channels->in = std::move(pipes.requests_in);
  channels->out = std::move(pipes.frames_out);
  request.argv = language->argv;
  request.output.keep_bytes = kKeptOutput;
  SKIFF_CO_TRY(auto started, co_await api::start(*agent, caller, std::move(session), &request, std::move(channels)));
  co_await started.command->started();
  if (const auto* const failure = start_failure(*started.command)) co_return not_started(*failure, *language);
  auto worker = std::make_shared<CodeWorker>(*agent, std::move(started.command), *language, std::move(pipes.requests),
                                             std::move(pipes.frames));
  agent->supervisor.tasks.spawn("code", watch(worker));
  co_return worker;
}

CodeWorker::CodeWorker(Agent& agent, std::shared_ptr<Command> command, const CodeLanguage& language, UniqueFd in,
                       UniqueFd out)
    : agent_{agent},
      command_{std::move(command)},
      language_{language},
      requests_{agent.executor, std::move(in), false},
      frames_{agent.executor, out.release()},
      taken_{agent.executor} {}

Task<> CodeWorker::watch(std::shared_ptr<CodeWorker> self) {
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  co_await self->command_->gone();
  if (!self->is_running_) self->let_go();
}

void CodeWorker::let_go() {
  requests_.close();
  boost::system::error_code ignored;
  frames_.close(ignored);
}

Task<> CodeWorker::watch_frames() {
  for (;;) {
    while (readable_ || closed_) co_await taken_.wait();
    co_await frames_.async_wait(boost::asio::posix::descriptor_base::wait_read, use_task);
    readable_ = true;
    command_->log()->wake();
  }
}

Result<> CodeWorker::read_frames() {
  std::array<char, std::size_t{64} << 10U> room;
  const ssize_t got = ::read(frames_.native_handle(), room.data(), room.size());
  if (got == 0) {
    closed_ = true;
    readable_ = false;
    command_->escalate(kClosedPatience, SIGKILL);
  } else if (got > 0) {
    lines_.add({room.data(), static_cast<std::size_t>(got)});
    frame_bytes_ += static_cast<std::uint64_t>(got);
    if (frame_bytes_ > kMostOfFrames) {
      return fail(Errc::payload_too_large, "one call may show " + std::to_string(kMostOfFrames >> 20U) + " MiB");
    }
  } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
    readable_ = false;
    taken_.notify_all();
  } else if (errno != EINTR) {
    return std::unexpected{system_error(errno, "read from the context")};
  }
  return {};
}

/// Follows one call.
class CodeWorker::Run {
 public:
  Run(CodeWorker& worker, CodeCall call, CodeReader& to)
      : worker_{worker},
        call_{std::move(call)},
        to_{to},
        reader_{
            worker.agent_.supervisor.output.reader_turns,
            worker.command_->log(),
            {.from = worker.command_->log()->next_offset(),
             .lossless = true,
             .watch = {.keepalive = worker.agent_.settings.keepalive,
                       .until = call_.timeout ? std::optional{SteadyTime::clock::now() + *call_.timeout} : std::nullopt,
                       .token_end = call_.token_end}}} {}

  /// What happens beside `follow`.
  static Task<> beside(Run* self) {
    TaskGroup group{self->worker_.agent_.executor};
    auto watch = [&](this auto) -> Task<> {
      if (self->call_.client != nullptr) group.spawn("peer", self->reader_.watch_peer(*self->call_.client));
      group.spawn("request", ask(self));
      co_await self->worker_.watch_frames();
    };
    co_await finally(std::move(watch), [&] { return end_tasks(&group); });
  }

  static Task<Result<CodeEnd>> follow(Run* self) {
    for (;;) {
      Wake wake = Wake::output;
      if (std::exchange(self->more_, false) || (self->worker_.readable_ && !self->held_)) {
        // A worker that floods its pipe leaves other work its turn.
        co_await boost::asio::post(self->worker_.agent_.executor, use_task);
      } else {
        wake = co_await self->reader_.ready();
      }
      if (self->reader_.expired()) co_return fail(Errc::unauthenticated, std::string{kExpired});
      if (self->reader_.client_gone()) co_return fail(Errc::cancelled, "the client is gone");
      if (wake == Wake::overdue || self->is_late())
        co_return CodeEnd{.why_worker_ended = late_text(), .cause = "timeout"};
      self->take_output();
      auto end = co_await take_frames(self);
      if (!end) co_return CodeEnd{.why_worker_ended = std::move(end.error().message), .cause = "invalid"};
      if (!*end && self->reader_.over() && !self->more_) {
        *end = CodeEnd{.why_worker_ended = how_worker_ended(*self->worker_.command_), .cause = "ended"};
      }
      SKIFF_CO_TRY_VOID(co_await self->to_.flush(wake == Wake::keepalive));
      if (*end) co_return std::move(**end);
    }
  }

 private:
  [[nodiscard]] bool is_late() const { return call_.timeout && SteadyTime::clock::now() >= began_ + *call_.timeout; }
  static std::string late_text() {
    return "the time limit is over: everything that the context had started was ended, and the next call starts a new "
           "one, without its variables";
  }

  /// A worker that does not read is one that ends or is late.
  static Task<> ask(Run* self) {
    Slice request{code_worker_request(self->worker_.language_, self->worker_.id_, self->call_.code, self->call_.env)};
    auto written = co_await self->worker_.requests_.write(std::move(request), std::nullopt);
    if (!written) self->worker_.command_->kill(sessions::Cause::killed_by_client);
  }

  void take_output() {
    while (auto item = reader_.next(kMostOfPiece)) {
      if (item->kind != LogItem::Kind::output) continue;
      last_ = item->time;
      auto& splitter = item->stream == sessions::Stream::out ? out_ : err_;
      const auto pieces = splitter.push(item->bytes.view());
      tell(item->stream, std::string{pieces.head}.append(pieces.body));
    }
  }

  void tell(sessions::Stream stream, std::string_view bytes) {
    if (!bytes.empty()) to_.output(stream, protocol::to_valid_utf8(bytes), last_);
  }

  /// Hands over the frames whose output was handed over; a worker that floods its pipe gets one turn after the other.
  static Task<Result<std::optional<CodeEnd>>> take_frames(Run* self) {
    std::size_t taken = 0;
    while (taken < kMostOfTurn) {
      if (!self->held_) {
        SKIFF_CO_TRY(self->held_, self->worker_.lines_.next());
        if (!self->held_ && !self->worker_.closed_ && (self->worker_.readable_ || self->reader_.over())) {
          SKIFF_CO_TRY_VOID(self->worker_.read_frames());
          SKIFF_CO_TRY(self->held_, self->worker_.lines_.next());
        }
        if (!self->held_) co_return std::nullopt;
        self->after_ = self->worker_.command_->written_offset();
      }
      if (self->reader_.offset() < self->after_ && !self->reader_.over()) co_return std::nullopt;
      const std::string line = std::move(*std::exchange(self->held_, std::nullopt));
      taken += line.size() + kCostOfFrame;
      auto frame = line.size() <= kShortFrame ? read_code_frame(line) : co_await read_elsewhere(self, &line);
      if (!frame) co_return fail(Errc::io_error, "the context has sent what is not a frame: " + frame.error().message);
      if (frame->id != self->worker_.id_) {
        // A call that has ended may have left some.
        if (++self->strays_ <= kMostStrays) continue;
        co_return fail(Errc::io_error, "the context sends frames of other calls");
      }
      if (frame->result) self->to_.result(std::move(*frame->result), line.size());
      if (frame->error) self->to_.error(std::move(*frame->error));
      if (frame->end) {
        self->tell(sessions::Stream::out, self->out_.flush());
        self->tell(sessions::Stream::err, self->err_.flush());
        co_return CodeEnd{.count = *frame->end};
      }
      // It is sent before the next one is read.
      if (frame->result) break;
    }
    self->more_ = true;
    co_return std::nullopt;
  }

  static Task<Result<CodeFrame>> read_elsewhere(Run* self, const std::string* line) {
    auto parse = [line] { return read_code_frame(*line); };
    co_return co_await self->worker_.agent_.pools.long_work.run(std::move(parse));
  }

  CodeWorker& worker_;
  const CodeCall call_;
  CodeReader& to_;
  LogReader reader_;
  const SteadyTime began_ = SteadyTime::clock::now();
  std::optional<std::string> held_ = {};  ///< a frame that waits for the output before it
  std::uint64_t after_ = 0;               ///< offset of the output before `held_`
  bool more_ = false;                     ///< more frames may be there
  std::size_t strays_ = 0;                ///< frames of other calls
  WallTime last_ = {};
  protocol::Utf8Splitter out_ = {};
  protocol::Utf8Splitter err_ = {};
};

Task<Result<CodeEnd>> CodeWorker::run(std::shared_ptr<CodeWorker> self, CodeCall call, CodeReader* to) {
  self->is_running_ = true;
  self->is_spent_ = true;
  ++self->id_;
  self->frame_bytes_ = 0;
  Result<CodeEnd> end;
  try {
    Run one{*self, std::move(call), *to};
    end = co_await run_beside(Run::beside(&one), Run::follow(&one));
    if (!end) co_await interrupt(self);
  } catch (...) {
    self->is_running_ = false;
    self->command_->kill(sessions::Cause::killed_by_client);
    throw;
  }
  if (end && end->why_worker_ended.empty()) {
    self->is_spent_ = false;
  } else if (end) {
    const bool is_late = end->cause == "timeout";
    co_await CodeWorker::end(self, is_late ? sessions::Cause::timeout : sessions::Cause::killed_by_client);
  }
  self->is_running_ = false;
  if (self->command_->over()) self->let_go();
  co_return end;
}

Task<bool> CodeWorker::until_end(std::shared_ptr<CodeWorker> self) {
  for (std::size_t count = 1;; ++count) {
    if (count % 64 == 0) co_await boost::asio::post(self->agent_.executor, use_task);
    auto line = self->lines_.next();
    if (!line) co_return false;
    if (*line) {
      if ((*line)->size() > kShortFrame) continue;  // no end is as long
      const auto frame = read_code_frame(**line);
      if (!frame) co_return false;
      if (frame->id == self->id_ && frame->end) co_return true;
      continue;
    }
    co_await self->frames_.async_wait(boost::asio::posix::descriptor_base::wait_read, use_task);
    if (!self->read_frames() || self->closed_) co_return false;
  }
}

Task<> CodeWorker::interrupt(std::shared_ptr<CodeWorker> self) {
  (void)co_await self->command_->signal(SIGINT, sessions::Target::group);
  const auto ended = co_await within(SteadyTime::clock::now() + kInterruptPatience, until_end(self));
  if (ended.value_or(false)) {
    self->is_spent_ = false;
    self->readable_ = false;
  } else {
    co_await end(self, sessions::Cause::killed_by_client);
  }
}

Task<> CodeWorker::end(std::shared_ptr<CodeWorker> self, sessions::Cause cause) {
  self->command_->kill(cause);
  co_await self->command_->gone();
}

}  // namespace skiff::runtime::api
