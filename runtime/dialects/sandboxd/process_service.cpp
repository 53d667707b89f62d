#include "runtime/dialects/sandboxd/process_service.hpp"

#include <csignal>
#include <cstdlib>
#include <utility>
#include <vector>

#include "runtime/api/commands/command_routes.hpp"
#include "runtime/dialects/sandboxd/find_program.hpp"
#include "runtime/dialects/sandboxd/process_messages.hpp"
#include "runtime/dialects/sandboxd/sandbox_path.hpp"
#include "runtime/reader/log_reader.hpp"
#include "runtime/reader/outcome.hpp"

namespace skiff::runtime::dialects::sandboxd {
namespace {

using protocol::grpc_status;
using protocol::GrpcCode;
using protocol::GrpcStatus;
using sessions::LogItem;

/// The most output of both streams in an answer of Execute. Start has no such limit, because it holds no output.
constexpr std::size_t kMostExecuteOutput = std::size_t{64} << 20U;
/// The most output in one message of Start.
constexpr std::size_t kMostOfMessage = std::size_t{64} << 10U;

/// Ends a command together with the call that has started it, however the call ends.
class Held {
 public:
  Held(const ServiceCall& call, std::shared_ptr<sessions::Command> command)
      : call_{call}, command_{std::move(command)} {}
  ~Held() {
    if (command_->exit_status()) return;
    command_->end(call_.over_time ? sessions::Cause::timeout : sessions::Cause::killed_by_client);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  const ServiceCall& call_;
  std::shared_ptr<sessions::Command> command_;
};

GrpcCode code_of(StartFault fault) {
  switch (fault) {
    case StartFault::absent:
      return GrpcCode::not_found;
    case StartFault::forbidden:
      return GrpcCode::permission_denied;
    case StartFault::too_large:
    case StartFault::exhausted:
      return GrpcCode::resource_exhausted;
    case StartFault::other:
      break;
  }
  return GrpcCode::internal;
}

/// The status of a command that could not be started; nothing: it could.
std::optional<GrpcStatus> failed_start(const sessions::Command& command) {
  const auto* const failure = start_failure(command);
  if (failure == nullptr) return std::nullopt;
  return GrpcStatus{code_of(start_fault(*failure)), "failed to start command: " + failure->message};
}

/// The absolute working directory. Errors: path_escapes_root, path_not_found and the like.
Task<Result<std::string>> find_cwd(BlockingPool* disk, const Sandbox* sandbox, std::string path) {
  SKIFF_CO_TRY(auto below, sandbox_path(path, sandbox->root));
  auto look = [&] { return sandbox->tree->open_directory(below); };
  SKIFF_CO_TRY_VOID(co_await disk->run(std::move(look)));
  co_return sandbox->root + '/' + below;
}

/// Starts a command. Errors: those of an invalid request. A program that could not be started is reported in the
/// command's log.
Task<Result<std::shared_ptr<sessions::Command>>> begin(ServiceCall* call, ProcessRequest request, bool with_stdin) {
  Agent& agent = call->service.agent;
  SKIFF_CO_TRY(auto sandbox, co_await open_sandbox(&agent.registry));
  api::CommandRequest wanted;
  if (request.config.cwd && !request.config.cwd->empty()) {
    auto cwd = co_await find_cwd(&agent.pools.disk, &sandbox, std::move(*request.config.cwd));
    if (!cwd) co_return fail(cwd.error().code, "cwd: " + cwd.error().message, "cwd");
    wanted.cwd = std::move(*cwd);
  }
  auto& command = request.config.command;
  if (const auto path = request.config.env_vars.find("PATH"); path != request.config.env_vars.end()) {
    const char* const own = std::getenv("PATH");
    auto find = [&] { return find_program(command.front(), path->second, own == nullptr ? "" : own); };
    command.front() = co_await agent.pools.disk.run(std::move(find));
  }
  wanted.argv = std::move(command);
  for (auto& [name, value] : request.config.env_vars) wanted.env.emplace(name, std::move(value));
  wanted.stdin_open = with_stdin;
  wanted.tty = request.pty;
  // Only the client's flow-control window holds the command up: no byte is dropped for a client that pauses.
  wanted.output.overflow = sessions::Overflow::block;
  SKIFF_CO_TRY(auto started, co_await api::start(agent, &call->caller, sandbox.session, &wanted));
  call->command = started.command->id();
  co_return started.command;
}

/// The messages of Start, one for each piece of output.
struct OutputBatch {
  std::vector<std::string> heads;
  std::vector<Slice> pieces;
  std::size_t bytes = 0;

  void add(const LogItem& item) {
    for (std::size_t at = 0; at < item.bytes.size();) {
      Slice piece = item.bytes.sub(at, kMostOfMessage);
      at += piece.size();
      std::string field;
      append_bytes_head(field, item.stream == sessions::Stream::out ? kStdoutField : kStderrField, piece.size());
      heads.push_back(protocol::grpc_prefix(field.size() + piece.size()) + field);
      pieces.push_back(std::move(piece));
    }
    bytes += item.bytes.size();
  }
};

Task<Result<>> send_batch(ServiceCall* call, OutputBatch* batch) {
  std::vector<std::string_view> parts;
  parts.reserve(2 * batch->heads.size());
  for (std::size_t i = 0; i < batch->heads.size(); ++i) {
    parts.emplace_back(batch->heads[i]);
    parts.push_back(batch->pieces[i].view());
  }
  co_return co_await call->grpc.send_framed(parts);
}

GrpcStatus output_was_lost(const LogItem& gap) {
  return {GrpcCode::data_loss, std::to_string(gap.next - gap.offset) + " bytes of output were lost"};
}

Task<GrpcStatus> stream_output(ServiceCall* call, std::shared_ptr<sessions::Command> command) {
  LogReader reader{call->service.agent.supervisor.output.reader_turns, command->log(), {.lossless = true}};
  while (!reader.over()) {
    co_await reader.ready();
    OutputBatch batch;
    auto item = reader.next();
    for (; item && item->kind == LogItem::Kind::output; item = reader.next()) batch.add(*item);
    if (batch.bytes > 0) {
      if (auto sent = co_await send_batch(call, &batch); !sent) co_return grpc_status(sent.error());
    }
    if (item && item->kind == LogItem::Kind::gap) co_return output_was_lost(*item);
  }
  auto sent = co_await call->grpc.send(exit_event(go_exit_code(*command->exit_status())));
  co_return sent ? GrpcStatus{} : grpc_status(sent.error());
}

/// The whole output of a command.
struct WholeOutput {
  std::unique_ptr<protocol::ReceiveBudget::Share>
      share;  ///< may be held for long: the command sets the pace, not the client
  std::vector<Slice> out;
  std::vector<Slice> err;
  std::size_t out_bytes = 0;
  std::size_t err_bytes = 0;

  void add(LogItem item) {
    const bool is_out = item.stream == sessions::Stream::out;
    (is_out ? out_bytes : err_bytes) += item.bytes.size();
    (is_out ? out : err).push_back(std::move(item.bytes));
  }
};

Task<GrpcStatus> collect(ServiceCall* call, std::shared_ptr<sessions::Command> command, WholeOutput* output) {
  output->share = call->grpc.http().share(std::chrono::hours{24 * 365});
  LogReader reader{call->service.agent.supervisor.output.reader_turns, command->log(), {.lossless = true}};
  while (!reader.over()) {
    co_await reader.ready();
    while (auto item = reader.next()) {
      if (item->kind == LogItem::Kind::gap) co_return output_was_lost(*item);
      if (item->kind != LogItem::Kind::output) break;
      output->add(std::move(*item));
      const std::size_t all = output->out_bytes + output->err_bytes;
      if (all > kMostExecuteOutput) {
        co_return GrpcStatus{GrpcCode::resource_exhausted, "the command wrote more than the " +
                                                               std::to_string(kMostExecuteOutput) +
                                                               " bytes that Execute takes: use Start"};
      }
      if (!output->share->hold(all)) {
        co_return GrpcStatus{GrpcCode::resource_exhausted, std::string{protocol::kNoReceiveRoom}};
      }
    }
  }
  co_return GrpcStatus{};
}

Task<GrpcStatus> answer_whole(ServiceCall* call, std::int32_t exit_code, const WholeOutput* output) {
  std::string out_head = execute_head(exit_code);
  std::string err_head;
  if (output->out_bytes > 0) append_bytes_head(out_head, kStdoutField, output->out_bytes);
  if (output->err_bytes > 0) append_bytes_head(err_head, kStderrField, output->err_bytes);
  std::vector<std::string_view> parts{out_head};
  for (const Slice& piece : output->out) parts.push_back(piece.view());
  parts.emplace_back(err_head);
  for (const Slice& piece : output->err) parts.push_back(piece.view());
  std::erase_if(parts, [](std::string_view part) { return part.empty(); });
  auto sent = co_await call->grpc.send(parts);
  co_return sent ? GrpcStatus{} : grpc_status(sent.error());
}

Task<GrpcStatus> answer_empty(ServiceCall* call) {
  auto sent = co_await call->grpc.send(std::string_view{});
  co_return sent ? GrpcStatus{} : grpc_status(sent.error());
}

}  // namespace

Task<GrpcStatus> start_process(ServiceCall* call) {
  auto message = co_await call->grpc.read_one();
  if (!message) co_return grpc_status(message.error());
  auto request = read_process_request(*message);
  if (!request) co_return grpc_status(request.error());
  auto command = co_await begin(call, std::move(*request), true);
  if (!command) co_return grpc_status(command.error());
  const Held held{*call, *command};
  co_await (*command)->started();
  if (auto failure = failed_start(**command)) co_return *failure;
  // The command has its number before the client knows it.
  const ProcessTable::Entry entry{call->service.table, *command};
  auto sent = co_await call->grpc.send(init_event(entry.id()));
  if (!sent) co_return grpc_status(sent.error());
  co_return co_await stream_output(call, *command);
}

Task<GrpcStatus> execute_process(ServiceCall* call) {
  auto message = co_await call->grpc.read_one();
  if (!message) co_return grpc_status(message.error());
  auto request = read_process_request(*message);
  if (!request) co_return grpc_status(request.error());
  request->pty.reset();
  auto command = co_await begin(call, std::move(*request), false);
  if (!command) co_return grpc_status(command.error());
  const Held held{*call, *command};
  WholeOutput output;
  auto collected = co_await collect(call, *command, &output);
  if (collected.code != GrpcCode::ok) co_return collected;
  if (auto failure = failed_start(**command)) co_return *failure;
  co_return co_await answer_whole(call, go_exit_code(*(*command)->exit_status()), &output);
}

Task<GrpcStatus> write_stdin(ServiceCall* call) {
  auto message = co_await call->grpc.read_one();
  if (!message) co_return grpc_status(message.error());
  auto request = read_write_stdin(*message);
  if (!request) co_return grpc_status(request.error());
  message->clear();
  message->shrink_to_fit();
  auto command = call->service.table.find(request->process_id);
  if (!command) co_return grpc_status(command.error());
  if (request->eof) {
    // A command that has ended, or has closed its stdin, needs no end of input.
    auto closed = co_await (*command)->close_stdin();
    if (!closed && closed.error().code != Errc::stdin_closed) co_return grpc_status(closed.error());
  } else if (!request->input.empty()) {
    Slice input{std::move(request->input)};
    auto written = co_await (*command)->write_stdin(std::move(input), std::nullopt);
    if (!written) co_return grpc_status(written.error());
  }
  co_return co_await answer_empty(call);
}

Task<GrpcStatus> send_signal(ServiceCall* call) {
  auto message = co_await call->grpc.read_one();
  if (!message) co_return grpc_status(message.error());
  const auto request = read_send_signal(*message);
  if (!request) co_return grpc_status(request.error());
  auto command = call->service.table.find(request->process_id);
  if (!command) co_return grpc_status(command.error());
  if (request->signal != SIGINT && request->signal != SIGTERM && request->signal != SIGKILL) {
    co_return GrpcStatus{GrpcCode::invalid_argument,
                         "unsupported or unspecified signal: " + std::to_string(request->signal)};
  }
  api::SignalRequest signal{.signal = std::to_string(request->signal),
                            .target = std::nullopt,
                            .escalate_after = std::nullopt,
                            .escalate_to = std::nullopt};
  auto sent = co_await api::send_signal(*command, std::move(signal));
  // The command has ended; its exit event may be on its way to the client.
  if (!sent && sent.error().code != Errc::command_ended) co_return grpc_status(sent.error());
  co_return co_await answer_empty(call);
}

Task<GrpcStatus> resize_terminal(ServiceCall* call) {
  auto message = co_await call->grpc.read_one();
  if (!message) co_return grpc_status(message.error());
  const auto request = read_resize(*message);
  if (!request) co_return grpc_status(request.error());
  auto command = call->service.table.find(request->process_id);
  if (!command) co_return grpc_status(command.error());
  if (!(*command)->spec().terminal) {
    co_return GrpcStatus{GrpcCode::failed_precondition,
                         "process " + std::to_string(request->process_id) + " has no terminal"};
  }
  const bool says_one = request->cols != 0 || request->rows != 0;
  const auto size = (says_one ? size_but_for_zeros : terminal_size)(request->cols, request->rows);
  if (!size) co_return grpc_status(size.error());
  if (auto resized = (*command)->resize(*size); !resized) co_return grpc_status(resized.error());
  co_return co_await answer_empty(call);
}

}  // namespace skiff::runtime::dialects::sandboxd
