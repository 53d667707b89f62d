#include <csignal>
#include <functional>

#include "base/async/beside.hpp"
#include "base/async/with_timeout.hpp"
#include "protocol/json/text.hpp"
#include "protocol/json/utf8.hpp"
#include "runtime/api/commands/command_routes.hpp"
#include "runtime/api/commands/wait_answer.hpp"
#include "runtime/api/events.hpp"
#include "runtime/api/openapi/answer_schemas.hpp"
#include "runtime/api/openapi/event_schemas.hpp"
#include "runtime/api/sessions/wait_routes.hpp"
#include "runtime/mcp/progress.hpp"
#include "runtime/mcp/tools/command_arguments.hpp"
#include "runtime/mcp/tools/tools.hpp"
#include "runtime/reader/log_part.hpp"

namespace skiff::runtime::mcp {
namespace {

using sessions::Command;
using sessions::LogItem;
using sessions::OutputLog;

/// How long to wait for a command that does not read its stdin.
constexpr Milliseconds kInputPatience{30'000};

template <class T>
std::string input_of() {
  return protocol::json_schema<T>();
}

/// Adds `next_step`, which says what a model may do next, to a JSON object.
void append_next_step(std::string& object, std::string_view text) {
  object.pop_back();
  protocol::append_json_text(object, "next_step", text);
  object += '}';
}

Result<std::shared_ptr<Command>> find_command(const Request& request, const std::optional<std::string>& session,
                                              const std::string& id) {
  SKIFF_TRY(auto found, request.session(session));
  return found->find(id);
}

Task<bool> until_exit(std::shared_ptr<OutputLog> log) {
  co_await log->exited();
  co_return true;
}

/// Waits until there is output after `from`, or the command has ended.
Task<bool> until_more(std::shared_ptr<OutputLog> log, std::uint64_t from) {
  while (log->next_offset() <= from && !log->exit_status()) co_await log->changed();
  co_return true;
}

/// Runs `wait` for at most `limit`, and reports progress.
Task<> wait_for_log(std::shared_ptr<Request> request, std::shared_ptr<OutputLog> log, Milliseconds limit,
                    Task<bool> wait) {
  auto message = [log] { return std::to_string(log->next_offset()) + " bytes of output so far"; };
  (void)co_await run_beside(tell_progress(request, limit, std::move(message)),
                            within(std::chrono::steady_clock::now() + limit, std::move(wait)));
}

/// Ends the command that a request has started, if the request is cancelled while it waits: nobody will ask for that
/// command.
class EndIfCancelled {
 public:
  EndIfCancelled(std::shared_ptr<Job> job, std::shared_ptr<Command> command)
      : job_{std::move(job)}, command_{std::move(command)} {}
  ~EndIfCancelled() {
    if (command_ && job_->cancelled) command_->end(sessions::Cause::killed_by_client);
  }
  EndIfCancelled(const EndIfCancelled&) = delete;
  EndIfCancelled& operator=(const EndIfCancelled&) = delete;

 private:
  std::shared_ptr<Job> job_;
  std::shared_ptr<Command> command_;
};

api::CommandRequest command_request(RunArguments asked) {
  api::CommandRequest request;
  request.command = std::move(asked.command);
  request.argv = std::move(asked.argv);
  request.mode = asked.background ? api::Mode::background : api::Mode::wait;
  request.id = std::move(asked.id);
  request.cwd = std::move(asked.cwd);
  request.env = std::move(asked.env);
  request.stdin_text = std::move(asked.stdin_text);
  request.stdin_open = asked.stdin_open;
  request.timeout = asked.timeout;
  return request;
}

Task<Result<std::string>> run_line(std::shared_ptr<Request> request, nlohmann::json arguments) {
  SKIFF_CO_TRY(auto asked, protocol::decode_json<RunArguments>(arguments));
  SKIFF_CO_TRY(auto session, request->session(asked.session));
  const Milliseconds wait = std::min(asked.wait, request->agent.settings.max_wait);
  const std::uint64_t most = asked.max_output_bytes;
  const bool is_background = asked.background;
  const api::CommandRequest wanted = command_request(std::move(asked));
  SKIFF_CO_TRY_VOID(wanted.validate());
  SKIFF_CO_TRY(auto started, co_await api::start(request->agent, &request->caller, session, &wanted));
  const std::shared_ptr<Command> command = started.command;
  request->job->command = command->id();
  if (is_background) {
    co_await command->started();
    std::string text;
    api::append_command(text, *command);
    append_next_step(text,
                     "The command runs. wait_for waits for its end, a port or a pattern; read_output reads its output; "
                     "send_signal ends it.");
    co_return text;
  }
  const EndIfCancelled end{request->job, started.repeated ? nullptr : command};
  co_await wait_for_log(request, command->log(), wait, until_exit(command->log()));
  std::string text = co_await api::wait_result(&request->agent, holder_of(request->caller.identity), command, most);
  if (!command->exit_status()) {
    append_next_step(
        text, "The command still runs. Call wait_for with its id, or read_output from `next` on; send_signal ends it.");
  }
  co_return text;
}

std::string run_output() {
  // A background command is answered in the form of list_commands: both forms have the id and the state.
  return api::object({{"id", api::kId},
                      {"state", api::one_of({"starting", "running", "ended"})},
                      {"exit_code", R"({"type":["integer","null"]})", false, "null: it was ended by a signal"},
                      {"signal", R"({"type":["string","null"]})", false},
                      {"cause", api::kText, false, "exited, signaled, timeout, spawn_failed, ..."},
                      {"stdout", api::kText, false},
                      {"stderr", api::kText, false},
                      {"stdout_base64", api::kText, false, "where stdout is not UTF-8"},
                      {"stderr_base64", api::kText, false},
                      {"truncated", api::kFlag, false, "the middle of a stream was left out"},
                      {"next", api::kCount, false, "offset from which read_output returns new output"},
                      {"next_step", api::kText, false}});
}

/// The output in a part of a command's log.
struct LogPart {
  std::string out;
  std::string err;
  std::uint64_t next = 0;
  std::uint64_t omitted = 0;  ///< bytes that the log no longer had
};

Task<LogPart> read_log(std::shared_ptr<OutputLog> log, std::uint64_t from, std::uint64_t limit) {
  LogPart part;
  std::uint64_t size = 0;
  std::string* last = nullptr;
  std::function<void(LogItem)> take = [&](const LogItem& item) {
    if (item.kind == LogItem::Kind::gap) part.omitted += item.next - item.offset;
    if (item.kind != LogItem::Kind::output) return;
    last = item.stream == sessions::Stream::out ? &part.out : &part.err;
    *last += item.bytes.view();
    size += item.bytes.size();
  };
  part.next = co_await read_part(log, from, std::move(take), limit);
  // A character that goes on after the end of this part belongs to the next one.
  const std::size_t half = last == nullptr || log->exit_status() ? 0 : protocol::incomplete_tail(*last);
  if (half > 0 && half < size) {
    last->resize(last->size() - half);
    part.next -= half;
  }
  co_return part;
}

Task<Result<std::string>> read_output(std::shared_ptr<Request> request, nlohmann::json arguments) {
  SKIFF_CO_TRY(auto asked, protocol::decode_json<ReadOutputArguments>(arguments));
  SKIFF_CO_TRY(auto command, find_command(*request, asked.session, asked.command));
  const auto log = command->log();
  const Milliseconds wait = std::min(asked.wait, request->agent.settings.max_wait);
  if (wait.count() > 0) co_await wait_for_log(request, log, wait, until_more(log, asked.from));
  const LogPart part = co_await read_log(log, asked.from, asked.limit);
  std::string text{'{'};
  protocol::append_json_text(text, "command", command->id());
  protocol::append_json_text(text, "state", sessions::name(command->state()));
  protocol::append_json_text(text, "stdout", part.out);
  protocol::append_json_text(text, "stderr", part.err);
  protocol::append_json_number(text, "next", part.next);
  protocol::append_json_number(text, "omitted_bytes", part.omitted);
  const bool more = part.next < log->next_offset();
  protocol::append_json_flag(text, "more", more);
  if (const auto& status = command->exit_status()) api::append_exit_members(text, *status);
  text += '}';
  if (more) append_next_step(text, "There is more: call read_output with from set to `next`.");
  co_return text;
}

std::string read_output_schema() {
  return api::object({{"command", api::kId},
                      {"state", api::one_of({"starting", "running", "ended"})},
                      {"stdout", api::kText},
                      {"stderr", api::kText},
                      {"next", api::kCount, true, "where to go on reading"},
                      {"omitted_bytes", api::kCount, true, "that were no longer kept"},
                      {"more", api::kFlag, true, "there is more already"},
                      {"exit_code", R"({"type":["integer","null"]})", false},
                      {"signal", R"({"type":["string","null"]})", false},
                      {"cause", api::kText, false},
                      {"next_step", api::kText, false}});
}

Task<Result<std::string>> write_input(std::shared_ptr<Request> request, nlohmann::json arguments) {
  SKIFF_CO_TRY(auto asked, protocol::decode_json<WriteInputArguments>(arguments));
  SKIFF_CO_TRY(auto command, find_command(*request, asked.session, asked.command));
  if (!command->stdin_open() && command->state() != sessions::State::starting) {
    co_return fail(Errc::stdin_closed, "stdin of the command is closed");
  }
  if (!asked.text.empty()) {
    auto written = co_await within(std::chrono::steady_clock::now() + kInputPatience,
                                   command->write_stdin(Slice{std::move(asked.text)}, std::nullopt));
    if (!written) {
      co_return fail(Errc::timeout, "the command has not read its stdin for 30 s; " +
                                        std::to_string(command->stdin_offset()) + " bytes were written in all");
    }
    if (!*written) co_return std::unexpected{std::move(written->error())};
  }
  if (asked.eof) {
    auto closed = co_await within(std::chrono::steady_clock::now() + kInputPatience, command->close_stdin());
    if (closed && !*closed) co_return std::unexpected{std::move(closed->error())};
  }
  std::string text{'{'};
  protocol::append_json_text(text, "command", command->id());
  protocol::append_json_number(text, "written_bytes", command->stdin_offset());
  protocol::append_json_flag(text, "open", command->stdin_open());
  co_return text + '}';
}

std::string write_input_schema() {
  return api::object({{"command", api::kId},
                      {"written_bytes", api::kCount, true, "to its stdin, in all"},
                      {"open", api::kFlag, true, "it takes more"}});
}

Task<Result<std::string>> send_one_signal(std::shared_ptr<Request> request, nlohmann::json arguments) {
  SKIFF_CO_TRY(auto asked, protocol::decode_json<SendSignalArguments>(arguments));
  SKIFF_CO_TRY(auto command, find_command(*request, asked.session, asked.command));
  api::SignalRequest wanted{.signal = std::move(asked.signal),
                            .target = asked.target,
                            .escalate_after = asked.escalate_after,
                            .escalate_to = std::nullopt};
  SKIFF_CO_TRY_VOID(co_await api::send_signal(command, std::move(wanted)));
  std::string text;
  api::append_command(text, *command);
  append_next_step(text, "The signal was sent. wait_for waits for the end of the command.");
  co_return text;
}

std::string one_command_schema() {
  return api::command_schema().json;
}

Task<Result<std::string>> until_settled(std::shared_ptr<Request> request, api::Awaited* awaited, Milliseconds limit) {
  const auto settled = [](api::Awaited* one) -> Task<bool> {
    while (!one->settled()) co_await one->changed.wait();
    co_return true;
  };
  auto message = [] { return std::string{"waiting"}; };
  (void)co_await run_beside(tell_progress(request, limit, std::move(message)),
                            within(std::chrono::steady_clock::now() + limit, settled(awaited)));
  if (awaited->failure) co_return std::unexpected{std::move(*awaited->failure)};
  co_return api::wait_answer().text({*awaited, "timeout"});
}

Task<Result<std::string>> wait_until(std::shared_ptr<Request> request, nlohmann::json arguments) {
  SKIFF_CO_TRY(auto asked, protocol::decode_json<WaitArguments>(arguments));
  SKIFF_CO_TRY(auto session, request->session(asked.session));
  const Milliseconds limit = std::min(asked.timeout, request->agent.settings.max_wait);
  api::WaitCondition wanted;
  if (asked.pattern) {
    wanted.output = api::OutputCondition{.command = std::move(*asked.command), .pattern = std::move(*asked.pattern)};
  } else {
    wanted.command = std::move(asked.command);
  }
  wanted.port = asked.port;
  wanted.path = std::move(asked.path);
  const std::string ends = wanted.command.value_or("");
  api::Awaited awaited{request->agent.executor};
  SKIFF_CO_TRY(auto condition, co_await api::await_condition(&request->agent, session, std::move(wanted), &awaited));
  auto text = co_await run_beside(std::move(condition), until_settled(request, &awaited, limit));
  if (!text) co_return text;
  if (awaited.met && !ends.empty()) {
    if (auto command = session->find(ends); command && (*command)->exit_status()) {
      text->pop_back();
      api::append_exit_members(*text, *(*command)->exit_status());
      *text += '}';
    }
    append_next_step(*text, "The command has ended: read_output returns its output.");
  } else if (!awaited.met) {
    append_next_step(*text, awaited.ended
                                ? "It cannot happen any more: read_output shows why."
                                : "Not yet: call wait_for again, or check with read_output or list_commands.");
  }
  co_return text;
}

std::string wait_output() {
  return api::object({{"met", api::kFlag},
                      {"reason", api::one_of({"ended", "timeout", "shutdown"}), false, "why not"},
                      {"match", api::kText, false, "what the pattern has found"},
                      {"next", api::kCount, false, "offset behind that"},
                      {"exit_code", R"({"type":["integer","null"]})", false},
                      {"signal", R"({"type":["string","null"]})", false},
                      {"cause", api::kText, false},
                      {"next_step", api::kText, false}});
}

Task<Result<std::string>> list_all(std::shared_ptr<Request> request, nlohmann::json arguments) {
  SKIFF_CO_TRY(auto asked, protocol::decode_json<ListCommandsArguments>(arguments));
  SKIFF_CO_TRY(auto session, request->session(asked.session));
  auto all = session->commands();
  if (asked.state != Listed::all) {
    std::erase_if(all, [&](const auto& one) {
      return (one->state() >= sessions::State::ended) != (asked.state == Listed::ended);
    });
  }
  const std::size_t first = all.size() - std::min<std::size_t>(all.size(), asked.limit);
  std::string text{R"({"items":[)"};
  for (std::size_t i = first; i < all.size(); ++i) {
    if (i > first) text += ',';
    api::append_command(text, *all[i]);
  }
  co_return text + "]}";
}

std::string command_list() {
  return api::command_list_schema().json;
}

constexpr std::array kCommandTools{
    Tool{.name = "run_command",
         .title = "Run a command",
         .description =
             "Run a shell line, or a program with arguments, in the sandbox and return its output and exit code. It "
             "waits up to wait_ms; a command that takes longer continues, and the answer says state: running. Use "
             "background for servers.",
         .scope = Scope::exec,
         .destructive = true,
         .open_world = true,
         .input = input_of<RunArguments>,
         .output = run_output,
         .run = run_line},
    Tool{.name = "read_output",
         .title = "Read a command's output",
         .description = "Read the output of a command from an offset on. With wait_ms it waits for new output. "
                        "Output stays readable after the command has ended.",
         .scope = Scope::read,
         .read_only = true,
         .idempotent = true,
         .input = input_of<ReadOutputArguments>,
         .output = read_output_schema,
         .run = read_output},
    Tool{.name = "wait_for",
         .title = "Wait for something",
         .description = "Wait until a command has ended or has printed a pattern, a TCP port is listened on, or a path "
                        "exists. It answers met: false if that has not happened within timeout_ms.",
         .scope = Scope::read,
         .read_only = true,
         .idempotent = true,
         .input = input_of<WaitArguments>,
         .output = wait_output,
         .run = wait_until},
    Tool{.name = "write_input",
         .title = "Write to a command's stdin",
         .description =
             "Write text to the stdin of a running command, and close it with eof. The command must have been "
             "started with stdin_open.",
         .scope = Scope::exec,
         .input = input_of<WriteInputArguments>,
         .output = write_input_schema,
         .run = write_input},
    Tool{.name = "send_signal",
         .title = "Send a signal",
         .description = "Send a signal to a command: TERM and KILL reach its whole process tree, INT is Ctrl-C. With "
                        "escalate_after_ms it is killed if that does not help.",
         .scope = Scope::exec,
         .destructive = true,
         .input = input_of<SendSignalArguments>,
         .output = one_command_schema,
         .run = send_one_signal},
    Tool{.name = "list_commands",
         .title = "List commands",
         .description = "List the commands of a session, oldest first, with their ids, states and exit codes.",
         .scope = Scope::read,
         .read_only = true,
         .idempotent = true,
         .input = input_of<ListCommandsArguments>,
         .output = command_list,
         .run = list_all},
};

}  // namespace

std::span<const Tool> command_tools() {
  return kCommandTools;
}

}  // namespace skiff::runtime::mcp
