#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "protocol/json/schema.hpp"
#include "runtime/api/requests.hpp"

/// The arguments of the tools for commands and sessions, as field lists.
namespace skiff::runtime::mcp {

using api::Milliseconds;
using protocol::field;
using protocol::Text;

/// How long a wait lasts unless the model asks for another time. Most clients give up an answer after a minute.
inline constexpr Milliseconds kUsualWait{50'000};
inline constexpr std::int64_t kLongestWait = 10 * 60 * 1000;
inline constexpr std::int64_t kMostOutput = 1 << 20;

struct RunArguments {
  std::optional<std::string> command;
  std::optional<std::vector<std::string>> argv;
  std::optional<std::string> session;
  std::optional<std::string> cwd;
  std::map<std::string, std::optional<std::string>> env;
  std::optional<std::string> stdin_text;
  bool stdin_open = false;
  bool background = false;
  std::optional<Milliseconds> timeout;
  Milliseconds wait = kUsualWait;
  std::uint64_t max_output_bytes = 32 * 1024;
  std::optional<std::string> id;
  static constexpr auto fields = std::tuple{
      field("command", &RunArguments::command, "A shell line, such as `ls -l | head`; this or argv",
            {.min_length = 1, .text = Text::no_nul}),
      field("argv", &RunArguments::argv, "Program and arguments, run without a shell; this or command",
            {.max_items = 4096, .text = Text::no_nul}),
      field("session", &RunArguments::session, "The session to run in; leave out for the usual one",
            {.text = Text::id}),
      field("cwd", &RunArguments::cwd, "Working directory, relative to the session's", {.text = Text::no_nul}),
      field("env", &RunArguments::env, "Variables to set; null removes one",
            {.text = Text::no_nul, .keys = Text::env_name, .optional = true}),
      field("stdin", &RunArguments::stdin_text, "Text for its stdin"),
      field("stdin_open", &RunArguments::stdin_open, "Keep stdin open, for write_input", {.optional = true}),
      field("background", &RunArguments::background, "Answer at once and leave it running", {.optional = true}),
      field("timeout_ms", &RunArguments::timeout, "End the command after this time; none by default",
            {.minimum = 1, .maximum = api::kLongestTime}),
      field("wait_ms", &RunArguments::wait, "Wait this long for its end, default 50 s; it goes on afterwards",
            {.minimum = 0, .maximum = kLongestWait, .optional = true}),
      field("max_output_bytes", &RunArguments::max_output_bytes,
            "The most bytes of each stream in the answer, default 32768; a longer stream is cut in the middle",
            {.minimum = 0, .maximum = kMostOutput, .optional = true}),
      field("id", &RunArguments::id, "An id of yours: the same call again with it does not start it twice",
            {.text = Text::id}),
  };
};

struct RunCodeArguments {
  std::string code;
  std::optional<std::string> language;
  std::optional<std::string> context;
  std::optional<std::string> session;
  Milliseconds timeout = kUsualWait;
  std::uint64_t max_output_bytes = 32 * 1024;
  static constexpr auto fields = std::tuple{
      field("code", &RunCodeArguments::code, "The code", {.text = Text::no_nul}),
      field("language", &RunCodeArguments::language, "python (the default), javascript or bash"),
      field("context", &RunCodeArguments::context, "A context that was created for you; leave out for the usual one",
            {.text = Text::id}),
      field("session", &RunCodeArguments::session, "The session to run in; leave out for the usual one",
            {.text = Text::id}),
      field("timeout_ms", &RunCodeArguments::timeout, "End the context after this time, default 50 s",
            {.minimum = 1, .maximum = kLongestWait, .optional = true}),
      field("max_output_bytes", &RunCodeArguments::max_output_bytes,
            "The most bytes of stdout and of stderr in the answer, default 32768",
            {.minimum = 0, .maximum = kMostOutput, .optional = true}),
  };
};

struct ReadOutputArguments {
  std::string command;
  std::optional<std::string> session;
  std::uint64_t from = 0;
  std::uint64_t limit = 64 * 1024;
  Milliseconds wait{0};
  static constexpr auto fields = std::tuple{
      field("command", &ReadOutputArguments::command, "Id of the command", {.text = Text::id}),
      field("session", &ReadOutputArguments::session, "Its session; leave out for the usual one", {.text = Text::id}),
      field("from", &ReadOutputArguments::from, "Offset to begin at: `next` of the answer before; default 0",
            {.optional = true}),
      field("limit_bytes", &ReadOutputArguments::limit, "At most this much, default 65536",
            {.minimum = 1024, .maximum = kMostOutput, .optional = true}),
      field("wait_ms", &ReadOutputArguments::wait, "Wait this long for something new; default 0",
            {.minimum = 0, .maximum = kLongestWait, .optional = true}),
  };
};

struct WriteInputArguments {
  std::string command;
  std::optional<std::string> session;
  std::string text;
  bool eof = false;
  static constexpr auto fields = std::tuple{
      field("command", &WriteInputArguments::command, "Id of a command that was started with stdin_open",
            {.text = Text::id}),
      field("session", &WriteInputArguments::session, "Its session; leave out for the usual one", {.text = Text::id}),
      field("text", &WriteInputArguments::text, "What to write; end a line with \\n", {.optional = true}),
      field("eof", &WriteInputArguments::eof, "Close stdin afterwards", {.optional = true}),
  };
};

struct SendSignalArguments {
  std::string command;
  std::optional<std::string> session;
  std::string signal = "TERM";
  std::optional<sessions::Target> target;
  std::optional<Milliseconds> escalate_after;
  static constexpr auto fields = std::tuple{
      field("command", &SendSignalArguments::command, "Id of the command", {.text = Text::id}),
      field("session", &SendSignalArguments::session, "Its session; leave out for the usual one", {.text = Text::id}),
      field("signal", &SendSignalArguments::signal, "INT, TERM, KILL, ...; default TERM",
            {.min_length = 1, .max_length = 16, .optional = true}),
      field("target", &SendSignalArguments::target,
            "Which processes get it; by default the whole tree for TERM and KILL, the group for INT, else the process "
            "itself"),
      field("escalate_after_ms", &SendSignalArguments::escalate_after, "If it still lives after this long, KILL",
            {.minimum = 0, .maximum = kLongestWait}),
  };
};

struct WaitArguments {
  std::optional<std::string> command;
  std::optional<std::string> pattern;
  std::optional<std::uint16_t> port;
  std::optional<std::string> path;
  std::optional<std::string> session;
  Milliseconds timeout = kUsualWait;
  static constexpr auto fields = std::tuple{
      field("command", &WaitArguments::command, "Until this command has ended", {.text = Text::id}),
      field("pattern", &WaitArguments::pattern, "With command: until it has printed this regular expression (RE2)",
            {.min_length = 1, .max_length = 4096}),
      field("port", &WaitArguments::port, "Until something listens on this TCP port", {.minimum = 1}),
      field("path", &WaitArguments::path, "Until this path exists", {.min_length = 1, .text = Text::no_nul}),
      field("session", &WaitArguments::session, "The session; leave out for the usual one", {.text = Text::id}),
      field("timeout_ms", &WaitArguments::timeout, "Answer with met: false after this long, default 50 s",
            {.minimum = 0, .maximum = kLongestWait, .optional = true}),
  };
  [[nodiscard]] Result<> validate() const {
    const int given = (command ? 1 : 0) + (port ? 1 : 0) + (path ? 1 : 0);
    if (given != 1) return fail(Errc::invalid_field, "give exactly one of command, port and path", "/command");
    if (pattern && !command) return fail(Errc::invalid_field, "pattern goes with command", "/pattern");
    return {};
  }
};

enum class Listed : std::uint8_t { all, running, ended };

struct ListCommandsArguments {
  std::optional<std::string> session;
  Listed state = Listed::all;
  std::uint64_t limit = 50;
  static constexpr auto fields = std::tuple{
      field("session", &ListCommandsArguments::session, "The session; leave out for the usual one", {.text = Text::id}),
      field("state", &ListCommandsArguments::state, "List only commands in this state; default all",
            {.optional = true}),
      field("limit", &ListCommandsArguments::limit, "List at most this many, the newest ones; default 50",
            {.minimum = 1, .maximum = 1000, .optional = true}),
  };
};

struct CreateSessionArguments {
  std::optional<std::string> id;
  std::optional<std::string> root;
  std::optional<std::string> cwd;
  std::map<std::string, std::optional<std::string>> env;
  bool stateful = true;
  std::optional<Milliseconds> idle_timeout;
  static constexpr auto fields = std::tuple{
      field("id", &CreateSessionArguments::id, "A name for it; made up when left out", {.text = Text::id}),
      field("root", &CreateSessionArguments::root, "Its directory, below the sandbox's; made when it is missing",
            {.min_length = 1, .text = Text::no_nul}),
      field("cwd", &CreateSessionArguments::cwd, "Where its commands start, relative to its root",
            {.text = Text::no_nul}),
      field("env", &CreateSessionArguments::env, "Variables of its commands; null removes one",
            {.text = Text::no_nul, .keys = Text::env_name, .optional = true}),
      field("stateful", &CreateSessionArguments::stateful,
            "Keep `cd`, exported variables and functions from command to command; default true", {.optional = true}),
      field("idle_timeout_ms", &CreateSessionArguments::idle_timeout, "Delete the session after this time without use",
            {.minimum = 1, .maximum = api::kLongestTime}),
  };
};

struct SessionArguments {
  std::string session;
  static constexpr auto fields =
      std::tuple{field("session", &SessionArguments::session, "Id of the session", {.text = Text::id})};
};

struct NoArguments {
  static constexpr auto fields = std::tuple<>{};
};

}  // namespace skiff::runtime::mcp

namespace skiff::protocol {

template <>
struct EnumNames<runtime::mcp::Listed> {
  using E = runtime::mcp::Listed;
  static constexpr std::array values{EnumName{E::all, "all"}, EnumName{E::running, "running"},
                                     EnumName{E::ended, "ended"}};
};

}  // namespace skiff::protocol
