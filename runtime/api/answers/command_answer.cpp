#include "runtime/api/answers/command_answer.hpp"

#include <chrono>
#include <string_view>

#include "runtime/api/requests.hpp"
#include "sessions/counts.hpp"

namespace skiff::runtime::api {
namespace {

using sessions::Command;
using sessions::ExitStatus;
using sessions::OutputLog;
using sessions::ResourceLimits;
using sessions::SpawnFailure;
using sessions::Usage;

std::uint64_t whole_us(std::chrono::microseconds time) {
  return static_cast<std::uint64_t>(time.count());
}

const Answer<Usage>& usage_answer() {
  static const Answer<Usage> answer{
      "Usage",
      {{"wall_us", [](const Usage& usage) { return whole_us(usage.wall); }},
       {"user_us", [](const Usage& usage) { return whole_us(usage.user); }},
       {"system_us", [](const Usage& usage) { return whole_us(usage.system); }},
       {"max_rss_bytes", [](const Usage& usage) { return usage.max_rss_bytes; },
        "Peak resident size of the largest process"},
       {"peak_bytes", [](const Usage& usage) { return usage.peak_bytes; },
        "With a cgroup: peak memory of all processes together"},
       {"voluntary_switches", [](const Usage& usage) { return usage.voluntary_switches; }},
       {"involuntary_switches", [](const Usage& usage) { return usage.involuntary_switches; }},
       {"read_bytes", [](const Usage& usage) { return usage.read_blocks * 512; }, "Bytes read from disks"},
       {"write_bytes", [](const Usage& usage) { return usage.write_blocks * 512; }}}};
  return answer;
}

const Answer<SpawnFailure>& failure_answer() {
  using Failure = SpawnFailure;
  static const Answer<Failure> answer{
      "SpawnError",
      {{"stage", [](const Failure& failure) { return failure.stage; }, "Step that failed"},
       {"errno", [](const Failure& failure) { return errno_name(failure.error); }, "Name of the error, such as ENOENT"},
       {"message", [](const Failure& failure) { return std::string_view{failure.message}; }}}};
  return answer;
}

const Answer<Command>& stdin_answer() {
  static const Answer<Command> answer{"StdinState",
                                      {{"open", [](const Command& command) { return command.stdin_open(); }},
                                       {"offset", [](const Command& command) { return command.stdin_offset(); }}}};
  return answer;
}

const Answer<OutputLog>& log_answer() {
  using sessions::Stream;
  using Counted = MadePart<&per_stream_answer>;
  static const Answer<OutputLog> answer{
      "OutputState",
      {{"first_kept", [](const OutputLog& log) { return log.first_kept(); }},
       {"next_offset", [](const OutputLog& log) { return log.next_offset(); }},
       {"bytes", [](const OutputLog& log) { return Counted{{log.bytes_of(Stream::out), log.bytes_of(Stream::err)}}; }},
       {"ended", [](const OutputLog& log) { return log.ended(); }}}};
  return answer;
}

const Answer<CommandOf>& hints_answer() {
  static const Answer<CommandOf> answer{
      "CommandHints",
      {{"waiting_for_input", [](const CommandOf& of) -> std::optional<bool> { return of.waits_for_input; }}}};
  return answer;
}

std::string cause_words() {
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < sessions::Counts::kCauses; ++i) words.push_back(name(static_cast<sessions::Cause>(i)));
  return named("CommandCause", one_of(words));
}

/// A limit and the mechanism that enforces it.
struct OneEnforced {
  std::uint64_t value;
  std::string_view by;
};

const Answer<OneEnforced>& enforced_answer() {
  static const Answer<OneEnforced> answer{"EnforcedLimit",
                                          {{"value", [](const OneEnforced& limit) { return limit.value; }},
                                           {"by", [](const OneEnforced& limit) { return limit.by; }}}};
  return answer;
}

}  // namespace

std::string AnswerValue<Enforced>::schema() {
  return R"({"type":"object","additionalProperties":)" + enforced_answer().named_schema() + '}';
}

void AnswerValue<Enforced>::append(std::string& out, const Enforced& of) {
  out += '{';
  const auto append = [&out](std::string_view name, const std::optional<std::uint64_t>& value, std::string_view by) {
    if (!value) return;
    protocol::append_json_key(out, name);
    enforced_answer().append(out, {*value, by});
  };
  append("memory_bytes", of.limits.memory_bytes, "cgroup");
  append("pids", of.limits.pids, "cgroup");
  append("cpu_millis", of.limits.cpu_millis, "cgroup");
  append("cpu_time_ms", of.limits.cpu_time_ms, "rlimit");
  append("open_files", of.limits.open_files, "rlimit");
  append("file_size_bytes", of.limits.file_size_bytes, "rlimit");
  out += '}';
}

std::optional<Enforced> enforced(const ResourceLimits& limits) {
  return limits == ResourceLimits{} ? std::nullopt : std::optional<Enforced>{Enforced{limits}};
}

const Answer<PerStream>& per_stream_answer() {
  static const Answer<PerStream> answer{"BytesPerStream",
                                        {{"stdout", [](const PerStream& bytes) { return bytes.out; }},
                                         {"stderr", [](const PerStream& bytes) { return bytes.err; }}}};
  return answer;
}

const Answer<ExitStatus>& exit_answer() {
  using std::string_view;
  using Status = ExitStatus;
  static const Answer<Status> answer{
      {},
      {{"exit_code", [](const Status& status) { return OrNull<int>{status.exit_code}; },
        "Exit code; null if a signal ended the command"},
       {"signal",
        [](const Status& status) {
          return OrNull<std::string>{status.signal ? std::optional{std::string{signal_name(*status.signal)}}
                                                   : std::nullopt};
        },
        "Signal that ended the command, such as SIGTERM; null if it exited"},
       {"cause", [](const Status& status) { return name(status.cause); }, "Why the command ended", cause_words},
       {"core_dumped", [](const Status& status) { return status.core_dumped ? std::optional{true} : std::nullopt; }},
       {"output_complete", [](const Status& status) { return status.output_complete; },
        "true: every pipe was read to its end; false: more may follow, marked late, or a pipe was given up"},
       {"background",
        [](const Status& status) {
          return status.background.empty() ? std::nullopt : std::optional{status.background};
        },
        "Processes that still run and hold a pipe"},
       {"state_saved",
        [](const Status& status) {
          return status.state_saved ? std::optional{string_view{name(*status.state_saved)}} : std::nullopt;
        },
        "In a stateful session: whether its state was saved",
        [] { return named("StateSaved", one_of({"saved", "discarded", "conflict"})); }},
       {"kill_level",
        [](const Status& status) {
          return status.kill_level.empty() ? std::nullopt : std::optional{string_view{status.kill_level}};
        },
        "After a kill: tree or cgroup if no process is left; incomplete if some may be left"},
       {"error",
        [](const Status& status) {
          using Error = Part<&failure_answer>;
          return status.failure ? std::optional<Error>{Error{*status.failure}} : std::nullopt;
        },
        "Why the command could not start, with cause spawn_failed"},
       {"ended_at", [](const Status& status) { return status.ended_at; }},
       {"duration_ms", [](const Status& status) { return whole_us(status.usage.wall) / 1000; }},
       {"usage", [](const Status& status) { return Part<&usage_answer>{status.usage}; }}}};
  return answer;
}

const Answer<CommandOf>& command_answer() {
  using std::string_view;
  static const Answer<CommandOf> answer{
      "Command",
      {{"id", [](const CommandOf& of) { return Id{of.command.id()}; }},
       {"session", [](const CommandOf& of) { return Id{of.command.session()}; }},
       {"pid",
        [](const CommandOf& of) {
          const pid_t pid = of.command.pid();
          return pid > 0 ? std::optional{static_cast<std::uint64_t>(pid)} : std::nullopt;
        }},
       {"state", [](const CommandOf& of) { return name(of.command.state()); }, {}, command_states},
       {"command", [](const CommandOf& of) -> const auto& { return of.command.spec().line; }},
       {"argv",
        [](const CommandOf& of) {
          const auto& spec = of.command.spec();
          return spec.line ? std::nullopt : std::optional{spec.argv};
        }},
       {"started_at", [](const CommandOf& of) { return of.command.started_at(); }},
       {"tty", [](const CommandOf& of) { return of.command.spec().terminal.has_value(); }},
       {"stdin", [](const CommandOf& of) { return Part<&stdin_answer>{of.command}; }},
       {"output", [](const CommandOf& of) { return Part<&log_answer>{*of.command.log()}; }},
       {"limits", [](const CommandOf& of) { return enforced(of.command.spec().limits); }},
       {"hints", [](const CommandOf& of) {
          using Hints = Part<&hints_answer>;
          return of.waits_for_input ? std::optional<Hints>{Hints{of}} : std::nullopt;
        }}}};
  return answer;
}

void append_exit_members(std::string& out, const ExitStatus& status) {
  exit_answer().append_members(out, status);
}

void append_command(std::string& out, const Command& command, bool waits_for_input) {
  out += '{';
  command_answer().append_members(out, {command, waits_for_input});
  if (const auto& status = command.exit_status()) append_exit_members(out, *status);
  out += '}';
}

std::vector<Member> with_exit(std::vector<Member> members, bool always) {
  for (Member& member : exit_answer().members()) {
    member.always = member.always && always;
    members.push_back(std::move(member));
  }
  return members;
}

std::string command_states() {
  return named("CommandState", one_of({"starting", "running", "ended"}));
}

}  // namespace skiff::runtime::api
