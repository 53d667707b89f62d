#include "runtime/settings.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "base/settings.hpp"
#include "runtime/auth/token_file.hpp"

namespace skiff::runtime {
namespace {

using namespace std::chrono_literals;
using setting::Choice;
using setting::Count;
using setting::Duration;
using setting::List;
using setting::Size;
using setting::Switch;
using setting::Text;

constexpr std::uint64_t kKiB = Settings::kKiB;
constexpr std::uint64_t kMiB = Settings::kMiB;
constexpr std::uint64_t kGiB = Settings::kGiB;

// No flag may be called `port`, `service-host` or `service-port`: Kubernetes sets those variables when a service is
// called skiff.
// clang-format off
std::vector<Setting> rows(Settings& s) {
  constexpr std::string_view kAddresses = "Addresses";
  constexpr std::string_view kCredentials = "Credentials";
  constexpr std::string_view kWorkspace = "Workspace";
  constexpr std::string_view kLog = "Log";
  constexpr std::string_view kConnections = "Connections";
  constexpr std::string_view kCommands = "Sessions and commands";
  constexpr std::string_view kOutput = "Output";
  constexpr std::string_view kProcess = "Process";
  return {
      {"listen", "SKIFF_LISTEN", List{&s.listen}, "ADDR:PORT", kAddresses,
       "Where to accept connections. Port 0 picks a free one, unix:PATH is a Unix socket.", "127.0.0.1:7070 (0.0.0.0:7070 as PID 1)"},
      {"allowed-host", "SKIFF_ALLOWED_HOST", List{&s.allowed_hosts}, "NAME", kAddresses,
       "A further name that a request's Host may hold, against DNS rebinding; *.NAME is every name below it, * any, where a credential is asked for. Loopback names and own addresses always pass."},
      {"allowed-origin", "SKIFF_ALLOWED_ORIGIN", List{&s.allowed_origins}, "ORIGIN", kAddresses,
       "A web origin, as https://example.org, whose pages may use the agent."},
      {"dialect", "SKIFF_DIALECT", List{&s.dialects}, "NAME[=ADDR:PORT]", kAddresses,
       "Also speak another system's protocol, on a port of its own and without the agent's credentials: see docs/clients.md."},
      {"tls-cert", "SKIFF_TLS_CERT", Text{&s.tls_cert}, "FILE", kAddresses,
       "Certificate chain (PEM): serve TLS."},
      {"tls-key", "SKIFF_TLS_KEY", Text{&s.tls_key}, "FILE", kAddresses,
       "Private key (PEM) of the certificate."},

      {"token-file", "SKIFF_TOKEN_FILE", Text{&s.token_file}, "FILE", kCredentials,
       "Accepted tokens, one a line: token [scopes, by commas] [session]. They are hashed at start; the file is not needed afterwards."},
      {"token-sha256", "SKIFF_TOKEN_SHA256", List{&s.token_sha256}, "HEX", kCredentials,
       "SHA-256 of an accepted token: the token itself never enters the sandbox."},
      {"", "SKIFF_TOKEN", Text{&s.token}, "TOKEN", kCredentials,
       "An accepted token, in plain. It is hashed and wiped at start."},
      {"public-key", "SKIFF_PUBLIC_KEY_FILE", List{&s.public_key_files}, "FILE", kCredentials,
       "Ed25519 public key (PEM) whose JWTs are accepted: aud = the sandbox id, exp required, scope any of read, exec, ports, admin."},
      {"", "SKIFF_PUBLIC_KEY", Text{&s.public_key_pem}, "PEM", kCredentials,
       "The same, the PEM text itself."},
      {"sandbox-id", "SKIFF_SANDBOX_ID", Text{&s.sandbox_id}, "ID", kCredentials,
       "The audience that a JWT must name.", "the host name"},
      {"e2b-token-sha256", "SKIFF_E2B_TOKEN_SHA256", Text{&s.e2b_token_sha256}, "HEX", kCredentials,
       "SHA-256 of the token that clients of --dialect e2b must show. Without it the first /init sets one, and until then everybody is let in."},
      {"print-token", "SKIFF_PRINT_TOKEN", Switch{&s.print_token}, "", kCredentials,
       "With no credential configured, make a token and print it, also when the output is not a terminal."},
      {"allow-unauthenticated", "SKIFF_ALLOW_UNAUTHENTICATED", Switch{&s.allow_unauthenticated}, "", kCredentials,
       "Let everybody in who reaches the port. Switching users is then refused."},

      {"root", "SKIFF_ROOT", Text{&s.root}, "DIR", kWorkspace,
       "Root of the default session. With --dialect python-runtime SANDBOX_BASE_DIR sets it, too.", "/workspace if it exists, else the working directory"},
      {"data-dir", "SKIFF_DATA_DIR", Text{&s.data_dir}, "DIR", kWorkspace,
       "Where output goes that no longer fits in memory. Without it such output is dropped, and said to be."},
      {"shell", "SKIFF_SHELL", Text{&s.shell}, "PATH", kWorkspace,
       "Shell of commands whose session names none."},
      {"env-deny", "SKIFF_ENV_DENY", List{&s.env_deny}, "GLOB", kWorkspace,
       "Variables of the agent that commands do not inherit. SKIFF_* never are."},

      {"log-level", "SKIFF_LOG_LEVEL", Choice{&s.log_level, {"debug", "info", "warning", "error"}}, "LEVEL", kLog,
       "Least important messages to log."},
      {"log-format", "SKIFF_LOG_FORMAT", Choice{&s.log_format, {"auto", "json", "text"}}, "FORMAT", kLog,
       "json, text, or auto: text on a terminal."},
      {"audit-log", "SKIFF_AUDIT_LOG", Text{&s.audit_log}, "FILE", kLog,
       "Who did what, as JSON lines appended to this file. After a SIGHUP it is opened again, for rotation. Keep it where commands can't write."},
      {"audit-commands", "SKIFF_AUDIT_COMMANDS", Switch{&s.audit_commands}, "", kLog,
       "Write what is run into the audit log; without it only its size and SHA-256. Environments and input never are."},

      {"max-connections", "SKIFF_MAX_CONNECTIONS", Count{&s.max_connections, 1, 100'000}, "N", kConnections,
       "Connections of clients that have shown a credential, at the same time. Others take what is free of these, and 64 "
       "places of their own; when there are no more, the oldest of them is closed for the next."},
      {"max-header-bytes", "SKIFF_MAX_HEADER_BYTES", Size{&s.max_header_bytes, 1 * kKiB, 1 * kMiB}, "SIZE", kConnections,
       "A request's header section; above it 431."},
      {"max-target-bytes", "SKIFF_MAX_TARGET_BYTES", Size{&s.max_target_bytes, 256, 1 * kMiB}, "SIZE", kConnections,
       "A request's path and query; above it 414."},
      {"max-json-bytes", "SKIFF_MAX_JSON_BYTES", Size{&s.max_json_bytes, 1 * kKiB, 64 * kMiB}, "SIZE", kConnections,
       "A JSON body; above it 413."},
      {"max-script-bytes", "SKIFF_MAX_SCRIPT_BYTES", Size{&s.max_script_bytes, 1 * kKiB, 1 * kGiB}, "SIZE", kConnections,
       "A script sent to /v1/run; above it 413."},
      {"max-frame-bytes", "SKIFF_MAX_FRAME_BYTES", Size{&s.max_frame_bytes, 1 * kKiB, 64 * kMiB}, "SIZE", kConnections,
       "A WebSocket message; above it the connection is closed with 1009."},
      {"header-timeout", "SKIFF_HEADER_TIMEOUT", Duration{&s.header_timeout, 10ms, 1h}, "TIME", kConnections,
       "For a request's header section, and for the TLS handshake."},
      {"body-timeout", "SKIFF_BODY_TIMEOUT", Duration{&s.body_timeout, 10ms, 24h}, "TIME", kConnections,
       "Without a byte of a request's body."},
      {"idle-timeout", "SKIFF_IDLE_TIMEOUT", Duration{&s.idle_timeout, 10ms, 24h}, "TIME", kConnections,
       "Of a connection between two requests; 5s at most before it has shown a credential."},
      {"write-timeout", "SKIFF_WRITE_TIMEOUT", Duration{&s.write_timeout, 10ms, 24h}, "TIME", kConnections,
       "For a peer that takes nothing: the connection is closed, and a reader that held a command up loses that right."},
      {"port-timeout", "SKIFF_PORT_TIMEOUT", Duration{&s.port_timeout, 10ms, 24h}, "TIME", kConnections,
       "From the end of a request to /v1/ports/PORT/ to the beginning of its answer; above it 504."},
      {"keepalive", "SKIFF_KEEPALIVE", Duration{&s.keepalive, 10ms, 1h}, "TIME", kConnections,
       "Between signs of life in a long answer, and between WebSocket pings."},

      {"max-sessions", "SKIFF_MAX_SESSIONS", Count{&s.max_sessions, 1, 1'000'000}, "N", kCommands,
       "Sessions at the same time, the default one included."},
      {"max-commands", "SKIFF_MAX_COMMANDS", Count{&s.max_commands, 1, 100'000}, "N", kCommands,
       "Commands that live at the same time; above it 429."},
      {"max-ended-commands", "SKIFF_MAX_ENDED_COMMANDS", Count{&s.max_ended_commands, 0, 1'000'000}, "N", kCommands,
       "Ended commands that are kept with their output; the oldest goes first."},
      {"ended-command-ttl", "SKIFF_ENDED_COMMAND_TTL", Duration{&s.ended_command_ttl, 0ms, std::chrono::days{30}}, "TIME", kCommands,
       "How long an ended command is kept at most."},
      {"max-wait", "SKIFF_MAX_WAIT", Duration{&s.max_wait, 1s, 24h}, "TIME", kCommands,
       "Longest wait_ms; a longer one is cut to it."},
      {"kill-grace", "SKIFF_KILL_GRACE", Duration{&s.kill_grace, 0ms, 1h}, "TIME", kCommands,
       "From SIGTERM to SIGKILL, where the request does not say."},
      {"exit-drain", "SKIFF_EXIT_DRAIN", Duration{&s.exit_drain, 0ms, 1min}, "TIME", kCommands,
       "From the end of a command's leader to its exit event while something still holds its output open."},
      {"idempotency-window", "SKIFF_IDEMPOTENCY_WINDOW", Duration{&s.idempotency_window, 0ms, std::chrono::days{30}}, "TIME", kCommands,
       "How long a command id chosen by a client starts at most one command."},
      {"idempotency-ids", "SKIFF_IDEMPOTENCY_IDS", Count{&s.idempotency_ids, 1, 10'000'000}, "N", kCommands,
       "How many such ids are remembered."},
      {"stdin-bytes", "SKIFF_STDIN_BYTES", Size{&s.stdin_bytes, 4 * kKiB, 1 * kGiB}, "SIZE", kCommands,
       "Input of one command that waits to be taken; a writer then waits for room."},
      {"e2b-deadline", "SKIFF_E2B_DEADLINE", Choice{&s.e2b_deadline, {"detach", "kill"}}, "WHAT", kCommands,
       "When the time that a client of --dialect e2b gives its stream is over: detach from the command, which goes on and can be connected to, or kill it."},

      {"keep-bytes", "SKIFF_KEEP_BYTES", Size{&s.keep_bytes, 128 * kKiB, 1024 * kGiB}, "SIZE", kOutput,
       "Output of one command that is kept in memory, where the request does not say."},
      {"output-memory", "SKIFF_OUTPUT_MEMORY", Size{&s.output_memory, 1 * kMiB, 1024 * kGiB}, "SIZE", kOutput,
       "Output of all commands that is kept in memory."},
      {"spool-bytes", "SKIFF_SPOOL_BYTES", Size{&s.spool_bytes, 0, 1024 * 1024 * kGiB}, "SIZE", kOutput,
       "Output of all commands that is kept in the data directory."},
      {"max-output-bytes", "SKIFF_MAX_OUTPUT_BYTES", Size{&s.max_output_bytes, 0, 1 * kGiB}, "SIZE", kOutput,
       "A stream in the result of a command that is waited for: head and tail are given and the middle is counted."},

      {"drain-timeout", "SKIFF_DRAIN_TIMEOUT", Duration{&s.drain_timeout, 0ms, 1h}, "TIME", kProcess,
       "To end everything after SIGTERM, or all of a session that is deleted; what is still there then is killed. Keep it "
       "below the pod's terminationGracePeriodSeconds."},
      {"ttl", "SKIFF_TTL", Duration{&s.ttl, 0ms, std::chrono::days{365}}, "TIME", kProcess,
       "The agent drains and exits with status 0 after this time, unless /v1/init or /v1/lease say otherwise. 0: never."},
      {"idle-ttl", "SKIFF_IDLE_TTL", Duration{&s.idle_ttl, 0ms, std::chrono::days{365}}, "TIME", kProcess,
       "The same, after this time without a request, a live command or an open stream. 0: never."},
      {"memory-guard-percent", "SKIFF_MEMORY_GUARD_PERCENT", Count{&s.memory_guard_percent, 0, 100}, "N", kProcess,
       "Of the container's memory limit: above it the largest command is ended before the kernel ends the container. 0: off."},
      {"cgroup", "SKIFF_CGROUP", Text{&s.cgroup}, "DIR", kProcess,
       "A cgroup v2 directory that the agent may write to: commands with memory_bytes, pids or cpu_millis get a leaf there. auto: the agent's own cgroup, if it may; none: no such limits."},
      {"spawn-threads", "SKIFF_SPAWN_THREADS", Count{&s.spawn_threads, 1, 64}, "N", kProcess,
       "Threads that start processes."},
      {"warm-shells", "SKIFF_WARM_SHELLS", Count{&s.warm_shells, 0, 16}, "N", kProcess,
       "Shells of each kind in use that are started ahead and wait, so that the next command is answered sooner. They go after a minute without one. 0: none."},
      {"disk-threads", "SKIFF_DISK_THREADS", Count{&s.disk_threads, 1, 64}, "N", kProcess,
       "Threads for short work on files and for output on disk."},
  };
}
// clang-format on

Result<std::string> absolute(std::string path, const Surroundings& surroundings, std::string_view flag) {
  if (path.empty() || path.front() == '/') return path;
  if (surroundings.working_directory.empty()) {
    return fail(Errc::invalid_field,
                std::string{flag} + " \"" + path + "\": the working directory is gone, give an absolute path",
                std::string{flag});
  }
  return surroundings.working_directory + (surroundings.working_directory.back() == '/' ? "" : "/") + path;
}

Result<> complete(Settings& s, const Surroundings& surroundings) {
  if (s.listen.empty()) s.listen = {std::string{default_host(surroundings.is_init)} + ":7070"};
  if (s.sandbox_id.empty()) s.sandbox_id = surroundings.host_name;
  if (s.sandbox_id.empty()) return fail(Errc::invalid_field, "the host has no name: give --sandbox-id", "--sandbox-id");
  if (s.tls_cert.empty() != s.tls_key.empty()) {
    const std::string absent = s.tls_cert.empty() ? "--tls-cert" : "--tls-key";
    return fail(Errc::invalid_field, "--tls-cert and --tls-key go together: " + absent + " is missing", absent);
  }
  if (!s.e2b_token_sha256.empty() && !digest_from_hex(s.e2b_token_sha256)) {
    return fail(Errc::invalid_field, "--e2b-token-sha256: expected 64 hex digits", "--e2b-token-sha256");
  }
  if (s.shell.empty() || s.shell.front() != '/') {
    return fail(Errc::invalid_field, "--shell \"" + s.shell + "\": expected an absolute path", "--shell");
  }
  if (s.keep_bytes > s.output_memory) {
    return fail(Errc::invalid_field, "--keep-bytes must not be above --output-memory", "--keep-bytes");
  }
  const bool replaces_python_runtime =
      std::ranges::any_of(s.dialects, [](const std::string& value) { return value.starts_with("python-runtime"); });
  if (s.root.empty() && replaces_python_runtime) s.root = surroundings.base_dir;
  if (s.root.empty()) s.root = surroundings.has_workspace ? "/workspace" : surroundings.working_directory;
  if (s.root.empty()) return fail(Errc::invalid_field, "the working directory is gone: give --root", "--root");
  SKIFF_TRY(s.root, absolute(std::move(s.root), surroundings, "--root"));
  SKIFF_TRY(s.data_dir, absolute(std::move(s.data_dir), surroundings, "--data-dir"));
  SKIFF_TRY(s.audit_log, absolute(std::move(s.audit_log), surroundings, "--audit-log"));
  return {};
}

}  // namespace

std::string_view default_host(bool is_init) noexcept {
  return is_init ? "0.0.0.0" : "127.0.0.1";
}

Surroundings look_around() {
  Surroundings found;
  found.is_init = ::getpid() == 1;
  std::array<char, 256> name{};
  // The last byte stays zero: gethostname(2) does not terminate a name that it cuts.
  if (::gethostname(name.data(), name.size() - 1) == 0) found.host_name = name.data();
  if (char* directory = ::getcwd(nullptr, 0); directory != nullptr) {
    // A directory outside of the process's root is reported as "(unreachable)..." (getcwd(3)).
    if (directory[0] == '/') found.working_directory = directory;
    std::free(directory);
  }
  if (const char* directory = std::getenv("SANDBOX_BASE_DIR"); directory != nullptr) {
    constexpr std::string_view kBlank = " \t\r\n";
    const std::string_view given{directory};
    const std::size_t begin = std::min(given.find_first_not_of(kBlank), given.size());
    found.base_dir = given.substr(begin, given.find_last_not_of(kBlank) + 1 - begin);
  }
  struct stat workspace{};
  found.has_workspace = ::stat("/workspace", &workspace) == 0 && S_ISDIR(workspace.st_mode);
  return found;
}

Result<Settings> read_settings(std::span<const char* const> arguments, const char* const* environment,
                               const Surroundings& surroundings) {
  Settings settings;
  SettingsTable table{rows(settings)};
  // The environment is judged after --help was looked for: help must not fail on a bad variable.
  for (const char* argument : arguments) {
    const std::string_view word{argument};
    if (word == "--") break;
    if (word == "--help" || word == "-h") {
      settings.help = true;
      return settings;
    }
  }
  SKIFF_TRY_VOID(table.read_environment(environment));
  SKIFF_TRY(auto given, table.read_arguments(arguments));
  settings.workload = std::move(given.rest);
  SKIFF_TRY_VOID(complete(settings, surroundings));
  return settings;
}

std::string settings_help(std::size_t width) {
  Settings defaults;
  return SettingsTable{rows(defaults)}.help(width);
}

std::string settings_markdown() {
  Settings defaults;
  return "# Settings of skiffd\n\n"
         "Each setting is a flag and a variable; flags win over variables, variables over defaults. A variable holds "
         "several values "
         "of a repeatable\nsetting separated by commas; an empty one counts as absent. A switch is `--flag` or "
         "`--no-flag`, in a "
         "variable `true` or `false`.\nA size is a number of bytes, or has KiB, MiB or GiB; a time is a number of "
         "milliseconds, or "
         "has ms, s, m, h or d.\nWhat follows `--` is a workload that skiffd runs beside itself.\n\n"
         "This page is made from the table in `runtime/settings.cpp`: run `runtime_tests` with `SKIFF_UPDATE_DOCS=1` "
         "after a "
         "change.\n\n" +
         SettingsTable{rows(defaults)}.markdown();
}

}  // namespace skiff::runtime
