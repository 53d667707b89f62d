#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "protocol/json/schema.hpp"
#include "runtime/api/answers/domain_schemas.hpp"
#include "sessions/command.hpp"
#include "sessions/session.hpp"

/// The bodies of requests, as lists of fields. Decoding, its errors and the OpenAPI document are derived from them.

namespace skiff::runtime::api {

using protocol::field;
using protocol::Text;
using Milliseconds = std::chrono::milliseconds;

/// A year, in milliseconds; a longer time is a mistake in the unit.
inline constexpr std::int64_t kLongestTime = std::int64_t{365} * 24 * 3600 * 1000;

enum class Mode : std::uint8_t { wait, stream, background };
enum class OnDisconnect : std::uint8_t { go_on, kill };

struct OutputRequest {
  std::optional<std::uint64_t> keep_bytes;
  sessions::Overflow overflow = sessions::Overflow::automatic;
  std::optional<std::uint64_t> max_output_bytes;
  bool merge_stderr = false;
  bool checksum = false;
  static constexpr std::string_view kSchemaName = "OutputOptions";
  static constexpr auto fields = std::tuple{
      field("keep_bytes", &OutputRequest::keep_bytes, "Output kept in memory for readers", {.minimum = 128 * 1024}),
      field("overflow", &OutputRequest::overflow, "Policy when more than keep_bytes are unread", {.optional = true}),
      field("max_output_bytes", &OutputRequest::max_output_bytes, "Longest stdout or stderr in the result of mode wait",
            {.minimum = 0, .maximum = 256 << 20}),
      field("merge_stderr", &OutputRequest::merge_stderr, "stderr goes to the same pipe as stdout", {.optional = true}),
      field("checksum", &OutputRequest::checksum, "The end event has the SHA-256 of each stream", {.optional = true}),
  };
};

struct CommandRequest {
  std::optional<std::string> command;
  std::optional<std::vector<std::string>> argv;
  Mode mode = Mode::wait;
  std::optional<std::string> id;
  std::optional<std::string> if_instance;
  std::optional<std::string> cwd;
  std::map<std::string, std::optional<std::string>> env;
  std::map<std::string, std::string> secret_env;
  std::optional<std::string> user;
  std::optional<std::string> stdin_text;
  std::optional<std::string> stdin_base64;
  bool stdin_open = false;
  std::optional<sessions::TerminalSize> tty;
  std::optional<Milliseconds> timeout;
  std::optional<Milliseconds> idle_timeout;
  std::optional<Milliseconds> kill_grace;
  std::optional<Milliseconds> wait;
  OnDisconnect on_disconnect = OnDisconnect::go_on;
  OutputRequest output;
  sessions::ResourceLimits limits;

  static constexpr auto fields = std::tuple{
      field("command", &CommandRequest::command, "Line for the session's shell; excludes argv", {.text = Text::no_nul}),
      field("argv", &CommandRequest::argv, "Program and arguments, run without a shell; excludes command",
            {.max_items = 65536, .text = Text::no_nul}),
      field("mode", &CommandRequest::mode, "When to answer: after the end, with events as they happen, or immediately",
            {.optional = true}),
      field("id", &CommandRequest::id, "Id chosen by the client; it starts at most one command", {.text = Text::id}),
      field("if_instance", &CommandRequest::if_instance, "Start only if the agent is still this instance"),
      field("cwd", &CommandRequest::cwd, "Working directory, relative to the session's", {.text = Text::no_nul}),
      field("env", &CommandRequest::env, "Variables to set; null removes one",
            {.text = Text::no_nul, .keys = Text::env_name, .optional = true}),
      field("secret_env", &CommandRequest::secret_env, "Variables that are never listed, logged or echoed",
            {.text = Text::no_nul, .keys = Text::env_name, .optional = true, .write_only = true}),
      field("user", &CommandRequest::user, "Name or uid, with :group or :gid", {.min_length = 1, .text = Text::no_nul}),
      field("stdin", &CommandRequest::stdin_text, "Text to write to stdin at the start"),
      field("stdin_base64", &CommandRequest::stdin_base64, "Bytes to write to stdin at the start, in base64"),
      field("stdin_open", &CommandRequest::stdin_open, "Keep stdin open for later writes", {.optional = true}),
      field("tty", &CommandRequest::tty, "Run on a pseudo-terminal of this size"),
      field("timeout_ms", &CommandRequest::timeout, "End the process tree after this time",
            {.minimum = 1, .maximum = kLongestTime}),
      field("idle_timeout_ms", &CommandRequest::idle_timeout, "End the process tree after this time without output",
            {.minimum = 1, .maximum = kLongestTime}),
      field("kill_grace_ms", &CommandRequest::kill_grace, "Time from SIGTERM to SIGKILL",
            {.minimum = 0, .maximum = 3'600'000}),
      field("wait_ms", &CommandRequest::wait, "Mode wait: answer after this time even if the command still runs",
            {.minimum = 0, .maximum = kLongestTime}),
      field("on_disconnect", &CommandRequest::on_disconnect, "What happens to the command when the client disconnects",
            {.optional = true}),
      field("output", &CommandRequest::output, "Options for its output", {.optional = true}),
      field("limits", &CommandRequest::limits, "Limits of the command", {.optional = true}),
  };

  static constexpr std::string_view kJsonRule = R"("allOf":[{"oneOf":[
    {"required":["command"],"properties":{"command":{"type":"string"},"argv":{"type":"null"}}},
    {"required":["argv"],"properties":{"argv":{"type":"array","minItems":1,"prefixItems":[{"minLength":1}]},"command":{"type":"null"}}}]},
    {"anyOf":[{"properties":{"stdin":{"type":"null"}}},{"properties":{"stdin_base64":{"type":"null"}}}]},
    {"properties":{"stdin_base64":{"pattern":"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$"}}}])";

  [[nodiscard]] Result<> validate() const;
  /// Converts the request for the sessions layer. `traceparent` is the request's trace context, or empty.
  [[nodiscard]] Result<sessions::CommandSpec> spec(std::string traceparent) const;
};

/// A further root of a session.
struct ExtraRootRequest {
  std::string path;
  sessions::RootAccess access = sessions::RootAccess::rw;
  static constexpr std::string_view kSchemaName = "ExtraRoot";
  static constexpr auto fields = std::tuple{
      field("path", &ExtraRootRequest::path, "Absolute path of an existing directory",
            {.min_length = 1, .text = Text::no_nul}),
      field("access", &ExtraRootRequest::access, "Whether files below it may be changed", {.optional = true}),
  };
};

struct ShellRequest {
  std::optional<std::string> path;
  bool login = false;
  bool stateful = false;
  bool functions = true;
  static constexpr std::string_view kSchemaName = "ShellOptions";
  static constexpr auto fields = std::tuple{
      field("path", &ShellRequest::path, "Absolute path of the shell", {.min_length = 1, .text = Text::no_nul}),
      field("login", &ShellRequest::login, "Run it as a login shell", {.optional = true}),
      field("stateful", &ShellRequest::stateful, "Keep cwd, variables and functions from command to command",
            {.optional = true}),
      field("functions", &ShellRequest::functions, "In a stateful session: also keep functions, if the shell is bash",
            {.optional = true}),
  };
};

struct SessionRequest {
  std::optional<std::string> id;
  std::optional<std::string> root;
  std::optional<std::string> cwd;
  std::map<std::string, std::optional<std::string>> env;
  std::map<std::string, std::string> secret_env;
  bool env_inherit = true;
  std::vector<std::string> env_unset;
  std::optional<std::string> user;
  ShellRequest shell;
  std::map<std::string, std::string> labels;
  std::optional<Milliseconds> idle_timeout;
  std::optional<Milliseconds> default_timeout;
  sessions::ResourceLimits limits;
  std::vector<ExtraRootRequest> extra_roots;
  sessions::Isolation isolation = sessions::Isolation::none;

  static constexpr auto fields = std::tuple{
      field("id", &SessionRequest::id, "Id chosen by the client", {.text = Text::id}),
      field("root", &SessionRequest::root, "Directory of the session, below the agent's root; created if it is missing",
            {.min_length = 1, .text = Text::no_nul}),
      field("extra_roots", &SessionRequest::extra_roots, "Further directories for file operations",
            {.max_items = 16, .optional = true}),
      field("cwd", &SessionRequest::cwd, "Working directory of its commands, relative to the root",
            {.text = Text::no_nul}),
      field("env", &SessionRequest::env, "Variables of its commands; null removes one",
            {.text = Text::no_nul, .keys = Text::env_name, .optional = true}),
      field("secret_env", &SessionRequest::secret_env, "Variables that are never listed, logged or echoed",
            {.text = Text::no_nul, .keys = Text::env_name, .optional = true, .write_only = true}),
      field("env_inherit", &SessionRequest::env_inherit, "Start from the agent's environment", {.optional = true}),
      field("env_unset", &SessionRequest::env_unset, "Variables of the agent to leave out",
            {.text = Text::env_name, .optional = true}),
      field("user", &SessionRequest::user, "Name or uid, with :group or :gid", {.min_length = 1, .text = Text::no_nul}),
      field("shell", &SessionRequest::shell, "The shell that runs command lines", {.optional = true}),
      field("labels", &SessionRequest::labels, "Names and values for lists and filters",
            {.max_items = 64, .optional = true}),
      field("idle_timeout_ms", &SessionRequest::idle_timeout, "Delete the session after this time without use",
            {.minimum = 1, .maximum = kLongestTime}),
      field("default_timeout_ms", &SessionRequest::default_timeout, "timeout_ms of commands without one",
            {.minimum = 1, .maximum = kLongestTime}),
      field("limits", &SessionRequest::limits, "Limits of commands without any", {.optional = true}),
      field("isolation", &SessionRequest::isolation, "Isolation of its commands", {.optional = true}),
  };

  /// Converts the request for the sessions layer. Errors: invalid_field for a relative path.
  [[nodiscard]] Result<sessions::SessionSpec> spec() const;
};

/// A body of application/merge-patch+json (RFC 7396): null removes a member.
struct SessionPatchRequest {
  std::optional<std::map<std::string, std::optional<std::string>>> labels;
  std::optional<std::optional<Milliseconds>> idle_timeout;
  std::optional<std::optional<Milliseconds>> default_timeout;
  std::optional<sessions::ResourceLimits> limits;
  std::optional<std::map<std::string, std::optional<std::string>>> env;
  std::optional<std::string> cwd;
  static constexpr auto fields = std::tuple{
      field("labels", &SessionPatchRequest::labels, "Labels to set; null removes one"),
      field("idle_timeout_ms", &SessionPatchRequest::idle_timeout,
            "Delete the session after this time without use; null: never", {.minimum = 1, .maximum = kLongestTime}),
      field("default_timeout_ms", &SessionPatchRequest::default_timeout,
            "timeout_ms of commands without one; null: none", {.minimum = 1, .maximum = kLongestTime}),
      field("limits", &SessionPatchRequest::limits, "Replaces the limits of later commands"),
      field("env", &SessionPatchRequest::env, "Variables of later commands; null removes one",
            {.text = Text::no_nul, .keys = Text::env_name}),
      field("cwd", &SessionPatchRequest::cwd, "Working directory of later commands", {.text = Text::no_nul}),
  };
};

struct SignalRequest {
  std::string signal;
  std::optional<sessions::Target> target;
  std::optional<Milliseconds> escalate_after;
  std::optional<std::string> escalate_to;
  static constexpr auto fields = std::tuple{
      field("signal", &SignalRequest::signal, "Name with or without SIG, or number",
            {.min_length = 1, .max_length = 16}),
      field("target", &SignalRequest::target,
            "Receiver; by default the tree for KILL and TERM, the group for INT and QUIT, else the leader"),
      field("escalate_after_ms", &SignalRequest::escalate_after,
            "Time after which a stronger signal is sent if the command still lives",
            {.minimum = 0, .maximum = kLongestTime}),
      field("escalate_to", &SignalRequest::escalate_to, "Stronger signal; default KILL",
            {.min_length = 1, .max_length = 16}),
  };
  static constexpr std::string_view kJsonRule = R"("allOf":[{"properties":{
    "signal":{"pattern":"^(0*([1-9]|[1-5][0-9]|6[0-4])|(SIG)?(HUP|INT|QUIT|ILL|TRAP|ABRT|BUS|FPE|KILL|USR1|SEGV|USR2|PIPE|ALRM|TERM|STKFLT|CHLD|CONT|STOP|TSTP|TTIN|TTOU|URG|XCPU|XFSZ|VTALRM|PROF|WINCH|POLL|PWR|SYS))$"},
    "escalate_to":{"pattern":"^(0*([1-9]|[1-5][0-9]|6[0-4])|(SIG)?(HUP|INT|QUIT|ILL|TRAP|ABRT|BUS|FPE|KILL|USR1|SEGV|USR2|PIPE|ALRM|TERM|STKFLT|CHLD|CONT|STOP|TSTP|TTIN|TTOU|URG|XCPU|XFSZ|VTALRM|PROF|WINCH|POLL|PWR|SYS))$"}}}])";
};

/// Parses a signal: "TERM", "SIGTERM" or "15". Errors: invalid_field.
[[nodiscard]] Result<int> signal_number(std::string_view text, std::string_view field_name);
/// The name of a signal: "SIGTERM", or "SIG64" if it has no name.
[[nodiscard]] std::string signal_name(int signal);

}  // namespace skiff::runtime::api

namespace skiff::protocol {

template <>
struct EnumNames<runtime::api::Mode> {
  using E = runtime::api::Mode;
  static constexpr std::string_view kSchemaName = "CommandMode";
  static constexpr std::array values{EnumName{E::wait, "wait"}, EnumName{E::stream, "stream"},
                                     EnumName{E::background, "background"}};
};
template <>
struct EnumNames<runtime::api::OnDisconnect> {
  using E = runtime::api::OnDisconnect;
  static constexpr std::string_view kSchemaName = "OnDisconnect";
  static constexpr std::array values{EnumName{E::go_on, "continue"}, EnumName{E::kill, "kill"}};
};
}  // namespace skiff::protocol
