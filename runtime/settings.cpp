#include "runtime/settings.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "base/settings/settings.hpp"
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

// No flag may be named `port`, `service-host` or `service-port`: Kubernetes sets their variables for a service named
// skiff.
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
       "Address to listen on. [::] is every address, also of IPv4. Port 0 selects a free port, unix:PATH is a Unix socket, fd:NUMBER an inherited Unix socket that listens.", "127.0.0.1:7070 ([::]:7070 as PID 1)"},
      {"allowed-host", "SKIFF_ALLOWED_HOST", List{&s.allowed_hosts}, "NAME", kAddresses,
       "Further host name that is accepted in Host, against DNS rebinding; *.NAME is every name below NAME, * any name, on addresses that require a credential. Loopback names and the agent's addresses are always accepted."},
      {"allowed-origin", "SKIFF_ALLOWED_ORIGIN", List{&s.allowed_origins}, "ORIGIN", kAddresses,
       "Web origin whose pages may use the agent, for example https://example.org."},
      {"dialect", "SKIFF_DIALECT", List{&s.dialects}, "NAME[=ADDR:PORT]", kAddresses,
       "Also serve another system's protocol, on a separate port and without the agent's credentials: see docs/clients.md."},
      {"egress", "SKIFF_EGRESS", Text{&s.egress}, "IP:PORT", kAddresses,
       "The egress proxy that is the sandbox's only way out, with --egress-canary. The agent listens on 127.0.0.1:3128 and carries what comes there to it; if the proxy itself listens on that address, it needs no canary. The agent sets the proxy variables of commands, and answers DNS on 127.0.0.1:53 for programs that obey none."},
      {"egress-canary", "SKIFF_EGRESS_CANARY", Text{&s.egress_canary}, "IP:PORT", kAddresses,
       "Port of the egress proxy that only the sandbox's NetworkPolicy closes. The agent is not ready and starts no command until this port is closed and the proxy answers."},
      {"egress-trust", "SKIFF_EGRESS_TRUST", Text{&s.egress_trust}, "DIR", kAddresses,
       "For an egress proxy that ends TLS: the agent writes the certificates of SKIFF_EGRESS_CA to ca.pem in this directory, and behind the system's own to ca-bundle.pem; trust.p12 is for Java, and chromium.json a policy for Chromium."},
      {"tls-cert", "SKIFF_TLS_CERT", Text{&s.tls_cert}, "FILE", kAddresses,
       "Certificate chain (PEM): serve TLS."},
      {"tls-key", "SKIFF_TLS_KEY", Text{&s.tls_key}, "FILE", kAddresses,
       "Private key (PEM) of the certificate."},

      {"token-file", "SKIFF_TOKEN_FILE", Text{&s.token_file}, "FILE", kCredentials,
       "Accepted tokens, one per line: token [scopes, separated by commas] [session]. The agent hashes them at startup and does not need the file afterwards."},
      {"token-sha256", "SKIFF_TOKEN_SHA256", List{&s.token_sha256}, "HEX", kCredentials,
       "SHA-256 of an accepted token: the token itself never enters the sandbox."},
      {"", "SKIFF_TOKEN", Text{&s.token}, "TOKEN", kCredentials,
       "An accepted token in plain text. The agent hashes and erases it at startup."},
      {"", "SKIFF_EGRESS_TOKEN", Text{&s.egress_token}, "TOKEN", kCredentials,
       "The sandbox's token for an egress proxy at an address. The agent erases it from its environment; commands never see it. A sandbox of a pool gets it by /v1/init."},
      {"", "SKIFF_EGRESS_CA", Text{&s.egress_ca}, "PEM", kCredentials,
       "Certificates of an egress proxy that ends TLS, for --egress-trust."},
      {"public-key", "SKIFF_PUBLIC_KEY_FILE", List{&s.public_key_files}, "FILE", kCredentials,
       "Ed25519 public key (PEM) whose JWTs are accepted: aud = the sandbox id, exp required, scope any of read, exec, ports, admin."},
      {"", "SKIFF_PUBLIC_KEY", Text{&s.public_key_pem}, "PEM", kCredentials,
       "The same, the PEM text itself."},
      {"sandbox-id", "SKIFF_SANDBOX_ID", Text{&s.sandbox_id}, "ID", kCredentials,
       "The audience that a JWT must name.", "the host name"},
      {"e2b-token-sha256", "SKIFF_E2B_TOKEN_SHA256", Text{&s.e2b_token_sha256}, "HEX", kCredentials,
       "SHA-256 of the token that clients of --dialect e2b must send. Without it the first /init sets the token, and until then everyone is admitted."},
      {"print-token", "SKIFF_PRINT_TOKEN", Switch{&s.print_token}, "", kCredentials,
       "If no credential is configured, create a token and print it, even if the output is not a terminal."},
      {"allow-unauthenticated", "SKIFF_ALLOW_UNAUTHENTICATED", Switch{&s.allow_unauthenticated}, "", kCredentials,
       "Admit everyone who reaches the port. Requests for another user are refused then."},

      {"root", "SKIFF_ROOT", Text{&s.root}, "DIR", kWorkspace,
       "Root of the default session. With --dialect python-runtime, SANDBOX_BASE_DIR also sets it.", "/workspace if it exists, else the working directory"},
      {"data-dir", "SKIFF_DATA_DIR", Text{&s.data_dir}, "DIR", kWorkspace,
       "Directory for output that does not fit into memory. Without it such output is dropped and reported as a gap."},
      {"e2b-home", "SKIFF_E2B_HOME", Text{&s.e2b_home}, "DIR", kWorkspace,
       "Home of programs of --dialect e2b: HOME, the directory of their commands, and the start of relative paths. Their paths then lead to every file that the agent may use, not only to those below --root."},
      {"shell", "SKIFF_SHELL", Text{&s.shell}, "PATH", kWorkspace,
       "Shell of commands whose session does not name one."},
      {"env-deny", "SKIFF_ENV_DENY", List{&s.env_deny}, "GLOB", kWorkspace,
       "Variables of the agent that commands do not inherit. Commands never inherit SKIFF_*."},

      {"log-level", "SKIFF_LOG_LEVEL", Choice{&s.log_level, {"debug", "info", "warning", "error"}}, "LEVEL", kLog,
       "Lowest level of messages to log; debug logs the start and the end of each command."},
      {"log-format", "SKIFF_LOG_FORMAT", Choice{&s.log_format, {"auto", "json", "text"}}, "FORMAT", kLog,
       "json, text, or auto: text on a terminal."},
      {"audit-log", "SKIFF_AUDIT_LOG", Text{&s.audit_log}, "FILE", kLog,
       "File to which the agent appends the audit log as JSON lines; - is standard output. SIGHUP opens a file again, for rotation. Keep it where commands cannot write."},
      {"audit-commands", "SKIFF_AUDIT_COMMANDS", Switch{&s.audit_commands}, "", kLog,
       "Record command lines in the audit log; otherwise only their size and SHA-256. Environments and input are never recorded."},

      {"max-connections", "SKIFF_MAX_CONNECTIONS", Count{&s.max_connections, 1, 100'000}, "N", kConnections,
       "Simultaneous connections of clients that have sent a valid credential, or what open files leave if that is fewer: 200 are the agent's own, and of the others connections get half, or all but 4,096 if that is more. When all are taken, the credential that has most loses one to another. Connections without one use the free part of these, and 64 more; when all are taken, a new one replaces the oldest."},
      {"max-received-bytes", "SKIFF_MAX_RECEIVED_BYTES", Size{&s.max_received_bytes, 1 * kMiB, 64 * kGiB}, "SIZE", kConnections,
       "Memory for what was received and is not yet used: requests and messages that are not whole. When it is used up, the client that has most loses some (503)."},
      {"max-header-bytes", "SKIFF_MAX_HEADER_BYTES", Size{&s.max_header_bytes, 1 * kKiB, 1 * kMiB}, "SIZE", kConnections,
       "Largest header section of a request; above it 431."},
      {"max-target-bytes", "SKIFF_MAX_TARGET_BYTES", Size{&s.max_target_bytes, 256, 1 * kMiB}, "SIZE", kConnections,
       "Longest path and query of a request; above it 414."},
      {"max-json-bytes", "SKIFF_MAX_JSON_BYTES", Size{&s.max_json_bytes, 1 * kKiB, 64 * kMiB}, "SIZE", kConnections,
       "Largest JSON body; above it 413."},
      {"max-script-bytes", "SKIFF_MAX_SCRIPT_BYTES", Size{&s.max_script_bytes, 1 * kKiB, 1 * kGiB}, "SIZE", kConnections,
       "Largest script sent to /v1/run; above it 413."},
      {"max-frame-bytes", "SKIFF_MAX_FRAME_BYTES", Size{&s.max_frame_bytes, 1 * kKiB, 64 * kMiB}, "SIZE", kConnections,
       "Largest WebSocket message; above it the connection is closed with 1009."},
      {"header-timeout", "SKIFF_HEADER_TIMEOUT", Duration{&s.header_timeout, 10ms, 1h}, "TIME", kConnections,
       "Time limit for a request's header section, and for the TLS handshake."},
      {"body-timeout", "SKIFF_BODY_TIMEOUT", Duration{&s.body_timeout, 10ms, 24h}, "TIME", kConnections,
       "How long a client may send nothing of a request's body."},
      {"idle-timeout", "SKIFF_IDLE_TIMEOUT", Duration{&s.idle_timeout, 10ms, 24h}, "TIME", kConnections,
       "How long a connection may be idle between two requests; at most 5s before it has sent a valid credential."},
      {"write-timeout", "SKIFF_WRITE_TIMEOUT", Duration{&s.write_timeout, 10ms, 24h}, "TIME", kConnections,
       "How long a peer may read nothing before its connection is closed; a reader that makes its command wait loses that right."},
      {"port-timeout", "SKIFF_PORT_TIMEOUT", Duration{&s.port_timeout, 10ms, 24h}, "TIME", kConnections,
       "How long a server may take to begin its answer to a request to /v1/ports/PORT/; after it 504."},
      {"keepalive", "SKIFF_KEEPALIVE", Duration{&s.keepalive, 10ms, 1h}, "TIME", kConnections,
       "Interval of keep-alive messages in a long answer, and of WebSocket pings."},

      {"max-sessions", "SKIFF_MAX_SESSIONS", Count{&s.max_sessions, 1, 1'000'000}, "N", kCommands,
       "Simultaneous sessions, including the default one."},
      {"max-commands", "SKIFF_MAX_COMMANDS", Count{&s.max_commands, 1, 100'000}, "N", kCommands,
       "Simultaneous live commands; above it 429."},
      {"max-ended-commands", "SKIFF_MAX_ENDED_COMMANDS", Count{&s.max_ended_commands, 0, 1'000'000}, "N", kCommands,
       "Ended commands that are kept with their output; the oldest is removed first."},
      {"ended-command-ttl", "SKIFF_ENDED_COMMAND_TTL", Duration{&s.ended_command_ttl, 0ms, std::chrono::days{30}}, "TIME", kCommands,
       "Longest time that an ended command is kept."},
      {"max-wait", "SKIFF_MAX_WAIT", Duration{&s.max_wait, 1s, 24h}, "TIME", kCommands,
       "Longest wait_ms; a longer one is shortened to it."},
      {"kill-grace", "SKIFF_KILL_GRACE", Duration{&s.kill_grace, 0ms, 1h}, "TIME", kCommands,
       "Time from SIGTERM to SIGKILL, unless the request sets it."},
      {"exit-drain", "SKIFF_EXIT_DRAIN", Duration{&s.exit_drain, 0ms, 1min}, "TIME", kCommands,
       "Time from the end of a command's main process to its exit event while another process keeps its output open."},
      {"idempotency-window", "SKIFF_IDEMPOTENCY_WINDOW", Duration{&s.idempotency_window, 0ms, std::chrono::days{30}}, "TIME", kCommands,
       "How long an id chosen by a client starts at most one command."},
      {"idempotency-ids", "SKIFF_IDEMPOTENCY_IDS", Count{&s.idempotency_ids, 1, 10'000'000}, "N", kCommands,
       "How many such ids are remembered."},
      {"stdin-bytes", "SKIFF_STDIN_BYTES", Size{&s.stdin_bytes, 4 * kKiB, 1 * kGiB}, "SIZE", kCommands,
       "Input that a WebSocket buffers for one command. When the buffer is full, further input waits; it is refused if the command reads nothing for 1s."},
      {"e2b-deadline", "SKIFF_E2B_DEADLINE", Choice{&s.e2b_deadline, {"kill", "detach"}}, "WHAT", kCommands,
       "What happens when the time limit of a stream of --dialect e2b is over: kill the command, as E2B's own agent does, or detach from it: it continues and can be connected to."},

      {"keep-bytes", "SKIFF_KEEP_BYTES", Size{&s.keep_bytes, 128 * kKiB, 1024 * kGiB}, "SIZE", kOutput,
       "Output of one command that is kept in memory, unless the request sets it."},
      {"output-memory", "SKIFF_OUTPUT_MEMORY", Size{&s.output_memory, 1 * kMiB, 1024 * kGiB}, "SIZE", kOutput,
       "Output of all commands that is kept in memory."},
      {"spool-bytes", "SKIFF_SPOOL_BYTES", Size{&s.spool_bytes, 0, 1024 * 1024 * kGiB}, "SIZE", kOutput,
       "Output of all commands that is kept in the data directory."},
      {"max-output-bytes", "SKIFF_MAX_OUTPUT_BYTES", Size{&s.max_output_bytes, 0, 1 * kGiB}, "SIZE", kOutput,
       "Longest stdout or stderr in the result of mode wait; of longer output the head and the tail are returned and the middle is counted."},

      {"drain-timeout", "SKIFF_DRAIN_TIMEOUT", Duration{&s.drain_timeout, 0ms, 1h}, "TIME", kProcess,
       "How long commands may take to end after SIGTERM to the agent, or when their session is deleted; after it they are killed. Keep it below the pod's terminationGracePeriodSeconds."},
      {"ttl", "SKIFF_TTL", Duration{&s.ttl, 0ms, std::chrono::days{365}}, "TIME", kProcess,
       "The agent drains and exits with status 0 after this time, unless /v1/init or /v1/lease change it. 0: never."},
      {"idle-ttl", "SKIFF_IDLE_TTL", Duration{&s.idle_ttl, 0ms, std::chrono::days{365}}, "TIME", kProcess,
       "The agent drains and exits with status 0 after this time without a request, a live command or an open stream. 0: never."},
      {"termination-log", "SKIFF_TERMINATION_LOG", Text{&s.termination_log}, "FILE", kProcess,
       "Existing file into which the agent writes why it ends, as JSON: Kubernetes passes it on (terminationMessagePath). Empty: none."},
      {"memory-guard-percent", "SKIFF_MEMORY_GUARD_PERCENT", Count{&s.memory_guard_percent, 0, 100}, "N", kProcess,
       "Percentage of the container's memory limit above which the agent kills the largest command, before the kernel kills the container. 0: off."},
      {"cgroup", "SKIFF_CGROUP", Text{&s.cgroup}, "DIR", kProcess,
       "Writable cgroup v2 directory in which commands with memory_bytes, pids or cpu_millis get a leaf. auto: the agent's own cgroup, if it is writable; none: no such limits."},
      {"spawn-threads", "SKIFF_SPAWN_THREADS", Count{&s.spawn_threads, 1, 64}, "N", kProcess,
       "Threads that start processes."},
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
  SKIFF_TRY(s.e2b_home, absolute(std::move(s.e2b_home), surroundings, "--e2b-home"));
  SKIFF_TRY(s.data_dir, absolute(std::move(s.data_dir), surroundings, "--data-dir"));
  SKIFF_TRY(s.audit_log, absolute(std::move(s.audit_log), surroundings, "--audit-log"));
  return {};
}

}  // namespace

std::string_view default_host(bool is_init) noexcept {
  return is_init ? "[::]" : "127.0.0.1";
}

Surroundings look_around() {
  Surroundings found;
  found.is_init = ::getpid() == 1;
  std::array<char, 256> name{};
  // Keep the last byte zero: gethostname(2) does not terminate a name that it truncates.
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
  // Look for --help before reading the environment: help must not fail because of a bad variable.
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
         "Each setting has a flag and a variable. Flags override variables, variables override defaults. A variable of "
         "a "
         "repeatable\nsetting holds several values, separated by commas; an empty variable counts as unset. A switch "
         "is "
         "`--flag` or `--no-flag`, as a\nvariable `true` or `false`. A size is a number of bytes, or has the unit KiB, "
         "MiB or GiB; a time is a number of milliseconds, or has\nthe unit ms, s, m, h or d. `--` introduces a "
         "workload "
         "that skiffd runs. skiffd warns of a variable\n`SKIFF_*` that it does not know.\n\n"
         "This page is generated from the table in `runtime/settings.cpp`: run `runtime_tests` with "
         "`SKIFF_UPDATE_DOCS=1` after a change.\n\n" +
         SettingsTable{rows(defaults)}.markdown();
}

}  // namespace skiff::runtime
