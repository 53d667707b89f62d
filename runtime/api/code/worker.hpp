#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "base/async/task.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "protocol/http/server/exchange.hpp"
#include "runtime/agent.hpp"
#include "runtime/api/call.hpp"
#include "runtime/api/code/frames.hpp"
#include "runtime/api/code/languages.hpp"
#include "runtime/api/requests.hpp"
#include "sessions/input/stdin_feed.hpp"

namespace skiff::runtime::api {

class CodeContext;

/// Takes what code shows while it runs, in order.
class CodeReader {
 public:
  CodeReader() = default;
  CodeReader(const CodeReader&) = delete;
  CodeReader& operator=(const CodeReader&) = delete;
  virtual ~CodeReader() = default;

  /// The code is about to run; `fresh`: by a worker without variables of earlier calls.
  virtual void began(const CodeContext& context, bool fresh) = 0;
  /// Text that the code wrote; characters are whole.
  virtual void output(sessions::Stream stream, std::string_view text, WallTime time) = 0;
  /// `bytes`: about the size of the result.
  virtual void result(CodeResult result, std::size_t bytes) = 0;
  virtual void error(CodeError error) = 0;
  /// Sends what was taken so far. `quiet`: there was nothing for the time of a keep-alive. Errors: the client is gone.
  [[nodiscard]] virtual Task<Result<>> flush(bool quiet) = 0;
};

/// One call: what to run, for whom.
struct CodeCall {
  std::string code;
  std::map<std::string, std::string> env;
  std::optional<Milliseconds> timeout;
  std::optional<WallTime> token_end = {};
  protocol::HttpExchange* client = nullptr;  ///< its end interrupts the code; null: nobody can leave
};

/// How a call has ended.
struct CodeEnd {
  std::uint64_t count = 0;               ///< calls of this worker so far
  std::string why_worker_ended = {};     ///< empty: it lives
  std::string_view cause = "completed";  ///< completed, timeout, ended (the worker ended by itself), invalid
};

/// The process that runs the code of one context: a command of its session, with two pipes beside its streams. Reactor
/// thread only.
class CodeWorker {
 public:
  static constexpr std::uint64_t kMostOfFrames = std::uint64_t{64} << 20U;  ///< bytes of one call

  /// Starts it. Errors: language_unavailable when the sandbox has no such program; those of `api::start`.
  [[nodiscard]] static Task<Result<std::shared_ptr<CodeWorker>>> start(Agent* agent, const Caller* caller,
                                                                       std::shared_ptr<sessions::Session> session,
                                                                       const CodeLanguage* language,
                                                                       CommandRequest request);
  CodeWorker(Agent& agent, std::shared_ptr<sessions::Command> command, const CodeLanguage& language, UniqueFd in,
             UniqueFd out);

  /// Whether it takes a further call.
  [[nodiscard]] bool lives() const { return !is_spent_ && !command_->exit_status() && requests_.is_open(); }
  [[nodiscard]] const std::shared_ptr<sessions::Command>& command() const noexcept { return command_; }

  /// Runs one call. A client that leaves interrupts the code, and the error is `cancelled`; an expired token is
  /// `unauthenticated`. A worker that cannot go on is ended with its whole tree.
  [[nodiscard]] static Task<Result<CodeEnd>> run(std::shared_ptr<CodeWorker> self, CodeCall call, CodeReader* to);
  /// Kills it with its tree. Ends when nothing of it is left.
  [[nodiscard]] static Task<> end(std::shared_ptr<CodeWorker> self, sessions::Cause cause);

 private:
  class Run;
  /// Closes the pipes when the command is gone.
  [[nodiscard]] static Task<> watch(std::shared_ptr<CodeWorker> self);
  void let_go();
  [[nodiscard]] Task<> watch_frames();
  /// Reads what has come of frames. Errors: io_error, payload_too_large.
  [[nodiscard]] Result<> read_frames();
  /// Interrupts the code of the current call, and kills the worker if that does not help.
  [[nodiscard]] static Task<> interrupt(std::shared_ptr<CodeWorker> self);
  [[nodiscard]] static Task<bool> until_end(std::shared_ptr<CodeWorker> self);

  Agent& agent_;
  std::shared_ptr<sessions::Command> command_;
  const CodeLanguage& language_;
  sessions::StdinFeed requests_;
  boost::asio::posix::basic_stream_descriptor<Executor> frames_;
  Event taken_;
  CodeLines lines_;
  std::uint64_t id_ = 0;           ///< of the current call
  std::uint64_t frame_bytes_ = 0;  ///< of the current call
  bool readable_ = false;          ///< frames have come
  bool closed_ = false;            ///< no frames can come any more
  bool is_running_ = false;        ///< a call runs
  bool is_spent_ = false;          ///< it takes no further call, unless the one that runs ends well
};

}  // namespace skiff::runtime::api
