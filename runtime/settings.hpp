#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace skiff::runtime {

/// The settings of skiffd. The table of flags, variables, ranges and help is in settings.cpp; the defaults are the
/// values here. Durations are in milliseconds, sizes in bytes.
struct Settings {
  using Milliseconds = std::chrono::milliseconds;
  static constexpr std::uint64_t kKiB = 1024;
  static constexpr std::uint64_t kMiB = 1024 * kKiB;
  static constexpr std::uint64_t kGiB = 1024 * kMiB;

  // Addresses
  std::vector<std::string>
      listen;  ///< "ADDR:PORT", "[ADDR]:PORT" (port 0 picks one) or "unix:PATH"; never empty after reading
  std::vector<std::string> allowed_hosts;    ///< names, "*.suffix" or "*", accepted as Host
  std::vector<std::string> allowed_origins;  ///< "scheme://host[:port]", accepted as Origin
  std::vector<std::string> dialects;         ///< see dialects::wanted
  std::string egress;                        ///< "IP:PORT" of the egress proxy; empty: none
  std::string egress_canary;                 ///< "IP:PORT" that the network must refuse; with "IP:PORT" of the proxy
  std::string egress_token;                  ///< shown to a proxy at "IP:PORT"; wiped once it was read
  std::string egress_trust;                  ///< directory for the certificates in `egress_ca`; empty: none
  std::string egress_ca;                     ///< PEM
  std::string tls_cert;                      ///< file with the PEM chain; given together with tls_key
  std::string tls_key;                       ///< file with the PEM key

  // Credentials
  std::string token_file;                     ///< see token_file.hpp
  std::vector<std::string> token_sha256;      ///< lower or upper hex, 64 digits each
  std::vector<std::string> public_key_files;  ///< PEM files
  std::string public_key_pem;                 ///< SKIFF_PUBLIC_KEY: one or more PEM blocks
  std::string token;                          ///< SKIFF_TOKEN: plain; Authenticator takes it and wipes it
  bool print_token = false;                   ///< create and print a token also when stderr is not a terminal
  bool allow_unauthenticated = false;         ///< admit requests without a credential; they may not switch users
  std::string sandbox_id;                     ///< `aud` of tokens; never empty after reading
  std::string e2b_token_sha256;               ///< for the dialect e2b: 64 hex digits; empty: the first /init sets it

  // Workspace
  std::string root;      ///< absolute; root of the default session; never empty after reading
  std::string data_dir;  ///< absolute; directory for output that no longer fits in memory; empty: none
  std::string e2b_home;  ///< for the dialect e2b: absolute; empty: the dialect's files are those below `root`
  std::string shell = "/bin/sh";
  std::vector<std::string> env_deny;  ///< globs (fnmatch(3)) of variables that commands do not inherit from the agent

  // Log
  std::string log_level = "info";   ///< debug, info, warning, error
  std::string log_format = "auto";  ///< auto (text on a terminal, else json), json, text
  std::string audit_log;            ///< absolute; empty: none
  bool audit_commands = false;      ///< write command lines to the audit log, not only their sizes and digests

  // Connections
  std::uint64_t max_connections = 1024;
  std::uint64_t max_received_bytes = std::uint64_t{192} << 20U;
  std::uint64_t max_header_bytes = 32 * kKiB;  ///< request line and all header fields together
  std::uint64_t max_target_bytes = 8 * kKiB;   ///< path and query
  std::uint64_t max_json_bytes = 1 * kMiB;     ///< largest JSON body
  std::uint64_t max_script_bytes = 16 * kMiB;  ///< largest script sent to /v1/run
  std::uint64_t max_frame_bytes = 1 * kMiB;    ///< largest WebSocket message
  Milliseconds header_timeout{
      10'000};  ///< from the first byte of a request to the end of its headers; also the TLS handshake
  Milliseconds body_timeout{30'000};  ///< longest pause in a request's body
  Milliseconds idle_timeout{75'000};  ///< idle time of a connection between requests
  Milliseconds write_timeout{
      30'000};  ///< longest time that a peer may read nothing; also the patience with a lossless reader
  Milliseconds port_timeout{300'000};  ///< time for a port's server to begin its answer
  Milliseconds keepalive{15'000};      ///< interval of keep-alives in long answers, and of WebSocket pings

  // Sessions and commands
  std::uint64_t max_sessions = 1000;
  std::uint64_t max_commands = 512;           ///< live commands at a time
  std::uint64_t max_ended_commands = 1000;    ///< ended commands that are kept with their output
  Milliseconds ended_command_ttl{3'600'000};  ///< longest time that an ended command is kept
  Milliseconds max_wait{3'600'000};  ///< longest `wait_ms` and other long poll; a longer one is shortened to it
  Milliseconds kill_grace{2'000};    ///< from SIGTERM to SIGKILL, unless the request sets it
  Milliseconds exit_drain{150};      ///< from a leader's end to its `exit` record while a pipe is still open
  Milliseconds idempotency_window{86'400'000};  ///< time for which a client's command id starts at most one command
  std::uint64_t idempotency_ids = 100'000;      ///< number of ids that are remembered
  std::uint64_t stdin_bytes = 1 * kMiB;         ///< input that a WebSocket queues for one command
  std::string e2b_deadline = "kill";            ///< for the dialect e2b: kill the command with its stream, or detach

  // Output
  std::uint64_t keep_bytes = 8 * kMiB;        ///< one command's output in memory, unless the request sets it
  std::uint64_t output_memory = 64 * kMiB;    ///< all commands' output in memory
  std::uint64_t spool_bytes = 1 * kGiB;       ///< all commands' output in data_dir
  std::uint64_t max_output_bytes = 1 * kMiB;  ///< longest stream in the result of mode wait, unless the request sets it

  // Process
  Milliseconds drain_timeout{10'000};  ///< time for commands to end after SIGTERM to the agent
  std::string termination_log{"/dev/termination-log"};
  std::string cgroup = "auto";              ///< where commands with limits get cgroups: auto, none, or a directory
  Milliseconds ttl{0};                      ///< the lease at start; 0: none
  Milliseconds idle_ttl{0};                 ///< longest idle time of the sandbox; 0: no limit
  std::uint64_t memory_guard_percent = 95;  ///< percentage of the container's memory limit; 0: off
  std::uint64_t spawn_threads = 4;
  std::uint64_t disk_threads = 2;

  // From the command line only
  bool help = false;                  ///< --help: print `settings_help` and exit; the other settings were not checked
  std::vector<std::string> workload;  ///< program and arguments after `--`
};

/// The host to listen on by default: every address as PID 1 of a container, else loopback.
[[nodiscard]] std::string_view default_host(bool is_init) noexcept;

/// The facts that defaults depend on.
struct Surroundings {
  bool is_init = false;           ///< PID 1
  std::string host_name;          ///< gethostname(2)
  std::string working_directory;  ///< absolute
  bool has_workspace = false;     ///< /workspace is a directory
  std::string base_dir = {};      ///< SANDBOX_BASE_DIR: directory for files of the dialect python-runtime
};
[[nodiscard]] Surroundings look_around();

/// Reads the environment (environ(7)), then `arguments` (without the program's name and a subcommand). Errors:
/// invalid_field, with a message for the terminal.
[[nodiscard]] Result<Settings> read_settings(std::span<const char* const> arguments, const char* const* environment,
                                             const Surroundings& surroundings);

/// The settings part of `skiffd --help`, for a terminal of `width` columns.
[[nodiscard]] std::string settings_help(std::size_t width);

/// docs/settings.md. A test compares the committed file; SKIFF_UPDATE_DOCS=1 makes that test write it.
[[nodiscard]] std::string settings_markdown();

}  // namespace skiff::runtime
