#include "runtime/serve.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <new>
#include <optional>
#include <span>
#include <system_error>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "base/log/log.hpp"
#include "base/small_file.hpp"
#include "base/variables.hpp"
#include "protocol/http/server/server.hpp"
#include "protocol/net/listener.hpp"
#include "protocol/net/tls_reload.hpp"
#include "runtime/agent.hpp"
#include "runtime/api/call.hpp"
#include "runtime/api/dispatch.hpp"
#include "runtime/api/requests.hpp"
#include "runtime/connection_limits.hpp"
#include "runtime/egress/trust.hpp"
#include "runtime/mcp/clients.hpp"
#include "runtime/process/exposure.hpp"
#include "runtime/process/file_watch.hpp"
#include "runtime/process/lacks.hpp"
#include "runtime/process/process_stats.hpp"
#include "runtime/process/signals.hpp"
#include "runtime/process/start_egress.hpp"
#include "runtime/version.hpp"
#include "runtime/workload.hpp"

namespace skiff::runtime {
namespace asio = boost::asio;
namespace {

constexpr int kWrongSettings = 2;

/// Time for streams to send their last records after the commands have ended.
constexpr std::chrono::milliseconds kLastResponses{3000};

/// Time for processes to end after SIGKILL; then the agent exits without them.
constexpr std::chrono::milliseconds kAfterKill{2000};

std::string url_of(const protocol::Address& address, bool tls) {
  if (address.is_unix()) return address.text();
  return (tls ? "https://" : "http://") + address.text();
}

/// A URL for a local client, also if the server listens on every address.
std::string reachable(const protocol::Address& address, bool tls) {
  if (address.host() != "0.0.0.0" && address.host() != "::") return url_of(address, tls);
  return (tls ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(address.port());
}

void say(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void print_token_help(const protocol::Address& address, bool tls, const std::string& token) {
  std::string text = "\ntoken: " + token + "\n\nTo try it, paste this into another terminal:\n";
  const std::string curl = tls ? "curl -sSk" : "curl -sS";
  if (address.descriptor() >= 0) {
    text += "  with the program that has created the socket\n\n";
  } else if (address.is_unix()) {
    text += "  " + curl + " --unix-socket " + address.path() + " -H 'Authorization: Bearer " + token +
            "' http://localhost/v1/run -d 'echo hello from $(uname)'\n\n";
  } else {
    const std::string url = reachable(address, tls);
    // The README and the examples use these variables.
    text += "  export SKIFF_URL=" + url + " SKIFF_TOKEN=" + token + "\n";
    text += "  " + curl +
            "N -H \"Authorization: Bearer $SKIFF_TOKEN\" \"$SKIFF_URL/v1/run\" -d 'echo hello from $(uname)'\n";
    text += "A terminal, in a clone of skiff, and with its launcher:\n";
    text += "  python3 examples/python/skiff.py shell\n";
    text += "  skiff shell any-name\n\n";
  }
  // Print to stderr: stdout is for programs, and has the listening lines only.
  std::fputs(text.c_str(), stderr);
}

Result<Authenticator> create_authenticator(Settings& settings, std::string& made) {
  auto who = Authenticator::from_settings(settings);
  if (!who || !who->empty()) return who;
  const bool may_print = settings.print_token || ::isatty(STDERR_FILENO) == 1;
  if (!may_print) {
    return fail(Errc::unauthenticated,
                "no credential is configured: set --token-file, --token-sha256, --public-key or SKIFF_TOKEN; or "
                "--print-token to create and print a token; or --allow-unauthenticated to admit everyone");
  }
  made = new_token();
  who->add(TokenEntry{.digest = digest_of(made)});
  return who;
}

/// The running parts of the agent, for the coroutines that end them.
struct Running {
  Agent& agent;
  mcp::Clients& mcp_clients;
  protocol::HttpServer& server;
  std::vector<std::unique_ptr<dialects::Service>> dialects;
  Signals& signals;
  protocol::ReloadableTls* tls = nullptr;  ///< null: no TLS
  std::unique_ptr<Workload> workload = nullptr;
  int status = 0;  ///< exit status of the process, unless the agent failed

  [[nodiscard]] int exit_status() const { return agent.shutdown.failed() ? 1 : status; }
};

/// Stops the agent with status 128 + N: a status of 0 would mean that it finished by itself.
void end_by_signal(Running& running, int signal) {
  if (!running.agent.shutdown.ask(EndCause::signal, api::signal_name(signal))) return;
  running.status = sessions::kShellsSignal + signal;
}

void reload_certificate(Running& running) {
  if (running.tls == nullptr) return;
  const auto outcome = running.tls->reload();
  if (!outcome) {
    log::error("the new certificate cannot be used: the agent keeps the old one", {{"error", outcome.error().message}});
  } else if (*outcome == protocol::ReloadableTls::Outcome::changed) {
    log::info("the new certificate is used from now on");
  }
}

/// Handles SIGHUP: reopens the audit log and reloads the certificate. Without either, SIGHUP means that the terminal
/// was closed, and stops the agent.
void hang_up(Running& running, bool from_outside) {
  if (running.tls == nullptr && !running.agent.access.audit) {
    if (from_outside) end_by_signal(running, SIGHUP);
    return;
  }
  if (running.agent.access.audit) running.agent.access.audit->reopen();
  reload_certificate(running);
}

Task<> watch_certificate(Running* running) {
  const Settings& settings = running->agent.settings;
  auto watch = FileWatch::open({settings.tls_cert, settings.tls_key});
  if (!watch) {
    log::warning("a new certificate is only seen after a SIGHUP", {{"error", watch.error().message}});
    co_return;
  }
  co_await watch->watch([running] { reload_certificate(*running); });
}

Task<> run_workload(Running* running) {
  if (running->agent.fence) co_await running->agent.fence->until(egress::Fence::State::fenced);
  if (running->agent.shutdown.draining()) co_return;
  if (auto started = co_await running->workload->start(); !started) {
    std::fprintf(stderr, "skiffd: %s\n", started.error().message.c_str());
    running->agent.shutdown.ask(EndCause::workload, "the workload could not be started");
  }
  co_await running->workload->ended();
  running->agent.shutdown.ask(EndCause::workload, "the workload has ended");
}

/// Ends all commands and the workload, with their grace.
Task<> end_everything(Running* running) {
  if (running->workload) running->workload->terminate();
  co_await running->agent.drain();
  // Clients that wait for a command have got its exit by now.
  co_await running->mcp_clients.close();
  if (!running->workload) co_return;
  co_await running->workload->ended();
  co_await running->workload->sweep();
  // At the end of its lease the agent exits with 0, whatever the workload's status.
  if (!running->agent.shutdown.outlived()) running->status = running->workload->status();
}

/// Drains all servers at the same time, because they share the time limit.
Task<> all_drained(Running* running) {
  TaskGroup beside{running->agent.executor};
  for (const auto& dialect : running->dialects) beside.spawn("drained", dialect->drained(kLastResponses));
  co_await running->server.drained(kLastResponses);
  co_await beside.join();
}

Task<> run_until_stopped(Running* running) {
  TaskGroup beside{running->agent.executor};
  beside.spawn("signals", running->signals.watch([running](int signal) { end_by_signal(*running, signal); },
                                                 [running](bool from_outside) { hang_up(*running, from_outside); }));
  if (running->tls != nullptr) beside.spawn("certificate", watch_certificate(running));
  if (running->workload) beside.spawn("workload", run_workload(running));
  co_await running->agent.shutdown.asked();

  // Keep serving: clients learn from /readyz and from 503 that this agent is stopping.
  Deadline last{running->agent.executor, [running] {
                  log::warning("some processes cannot be killed: the agent exits without them");
                  running->agent.access.audit.reset();
                  running->agent.shutdown.say_last_word();
                  log::flush();
                  std::_Exit(running->exit_status());
                }};
  Deadline limit{running->agent.executor, [running, &last] {
                   log::warning("commands still run after --drain-timeout: killing them");
                   running->agent.kill_everything();
                   if (running->workload) running->agent.supervisor.tasks.spawn("kill", running->workload->kill());
                   last.expires_after(kLastResponses + kAfterKill);
                 }};
  limit.expires_after(running->agent.settings.drain_timeout);
  co_await end_everything(running);
  limit.clear();
  last.expires_after(kLastResponses + kAfterKill);
  running->server.drain();
  for (const auto& dialect : running->dialects) dialect->drain();
  co_await all_drained(running);
  co_await running->server.stop();
  for (const auto& dialect : running->dialects) co_await dialect->stop();
  if (running->agent.names) co_await running->agent.names->stop();
  if (running->agent.egress) co_await running->agent.egress->stop();
  if (running->agent.fence) co_await running->agent.fence->stop();
  beside.cancel();
  co_await beside.join();
  co_await running->agent.supervisor.tasks.join();
  co_await running->agent.supervisor.output.budget.drain();
  running->agent.executor.context().stop();
}

int failed(const Error& error, int status) {
  std::fprintf(stderr, "skiffd: %s\n", error.message.c_str());
  return status;
}

/// Checks the addresses and directories in the settings before the agent serves.
Result<std::vector<protocol::Address>> check(const Settings& settings) {
  std::vector<protocol::Address> addresses;
  for (const std::string& text : settings.listen) {
    SKIFF_TRY(auto address, protocol::Address::parse(text));
    addresses.push_back(address);
  }
  for (const auto& [flag, directory] :
       {std::pair{std::string{"--root "}, settings.root}, std::pair{std::string{"--e2b-home "}, settings.e2b_home},
        std::pair{std::string{"--data-dir "}, settings.data_dir}}) {
    if (directory.empty()) continue;
    std::string named = flag;
    named.append(1, '"').append(directory).append(1, '"');
    struct stat info{};
    if (::stat(directory.c_str(), &info) != 0) return std::unexpected{system_error(errno, named)};
    if (!S_ISDIR(info.st_mode)) return fail(Errc::not_a_directory, named + " is not a directory");
  }
  // The spool creates files in it.
  if (!settings.data_dir.empty() && ::access(settings.data_dir.c_str(), W_OK | X_OK) != 0) {
    return std::unexpected{system_error(errno, "write to --data-dir \"" + settings.data_dir + '"')};
  }
  return addresses;
}

std::vector<std::string_view> names_of(const std::vector<dialects::Wanted>& wanted) {
  std::vector<std::string_view> names;
  for (const dialects::Wanted& one : wanted) names.push_back(one.dialect->name);
  return names;
}

void warn_of(const dialects::Wanted& wanted, const Settings& settings) {
  if (wanted.dialect->is_guarded != nullptr && wanted.dialect->is_guarded(settings)) return;
  for (const protocol::Address& address : wanted.addresses) {
    log::warning("everyone who can connect to " + address.text() + " may run commands (--dialect " +
                 std::string{wanted.dialect->name} + ")");
  }
}

/// A port of a dialect, and who will serve it.
struct DialectPort {
  std::unique_ptr<dialects::Service> service;
  std::shared_ptr<protocol::Listener> listener;
  std::string what;  ///< for people
};

/// Opens the ports. Nobody listens on them yet: without one of them the agent does not start.
Result<std::vector<DialectPort>> open_dialects(Agent& agent, const std::vector<dialects::Wanted>& wanted,
                                               std::span<const protocol::Address> all) {
  std::vector<DialectPort> ports;
  for (const dialects::Wanted& one : wanted) {
    for (std::size_t i = 0; i < one.addresses.size(); ++i) {
      const auto any = protocol::any_address(one.addresses[i], all);
      SKIFF_TRY(auto listener, protocol::Listener::open(agent.executor, one.addresses[i], any));
      const dialects::Endpoint& endpoint = one.dialect->endpoints[i];
      ports.push_back({.service = endpoint.open(agent),
                       .listener = std::move(listener),
                       .what = std::string{one.dialect->name} + " (" + std::string{endpoint.speaks} + ")"});
    }
  }
  return ports;
}

std::vector<std::unique_ptr<dialects::Service>> listen(Agent& agent, std::vector<DialectPort> ports) {
  std::vector<std::unique_ptr<dialects::Service>> services;
  for (DialectPort& port : ports) {
    agent.connections.own_ports.push_back(port.listener->address().port());
    say("skiffd speaks " + port.what + " on " + port.listener->address().text() + "\n");
    port.service->listen(std::move(port.listener));
    services.push_back(std::move(port.service));
  }
  return services;
}

}  // namespace

int serve(Settings settings, const InheritedLimits& inherited, std::span<const dialects::Dialect> known_dialects) {
  log::configure(settings.log_level == "debug"     ? log::Level::debug
                 : settings.log_level == "warning" ? log::Level::warning
                 : settings.log_level == "error"   ? log::Level::error
                                                   : log::Level::info,
                 settings.log_format == "text" || (settings.log_format == "auto" && ::isatty(STDERR_FILENO) == 1)
                     ? log::Form::text
                     : log::Form::json);
  const auto addresses = check(settings);
  if (!addresses) return failed(addresses.error(), kWrongSettings);
  const auto wanted = dialects::wanted(settings.dialects, known_dialects, default_host(::getpid() == 1));
  if (!wanted) return failed(wanted.error(), kWrongSettings);
  std::string made_token;
  auto who = create_authenticator(settings, made_token);
  wipe_environment("SKIFF_TOKEN");
  wipe_environment("SKIFF_EGRESS_TOKEN");
  if (!who) return failed(who.error(), kWrongSettings);
  if (auto checked = check_egress(settings); !checked) return failed(checked.error(), kWrongSettings);
  if (auto trusted = start_trust(settings); !trusted) return failed(trusted.error(), kWrongSettings);
  for (const UnknownVariable& variable : unknown_variables(::environ, Program::agent)) {
    log::warning(variable.text("skiffd"));
  }
  if (settings.allow_unauthenticated)
    log::warning("everyone who can connect may run commands (--allow-unauthenticated)");
  auto browsers = BrowserGuard::create(settings.allowed_hosts, settings.allowed_origins);
  if (!browsers) return failed(browsers.error(), kWrongSettings);
  std::shared_ptr<protocol::ReloadableTls> tls;
  if (!settings.tls_cert.empty()) {
    auto context = protocol::ReloadableTls::open({settings.tls_cert, settings.tls_key});
    if (!context) return failed(context.error(), kWrongSettings);
    tls = std::move(*context);
  }
  for (const std::string& exposure : exposures(settings, *addresses)) log::warning(exposure);
  for (const std::string& lack : lacks()) log::warning(lack);
  for (const dialects::Wanted& dialect : *wanted) warn_of(dialect, settings);

  std::optional<log::Background> background_log;
  Signals signals;
  asio::io_context io;
  const Executor executor = io.get_executor();
  std::optional<Agent> made;
  try {
    background_log.emplace();
    Access access{.authenticator = std::move(*who), .browser_guard = std::move(*browsers), .audit = nullptr};
    if (!settings.audit_log.empty()) {
      auto opened = AuditLog::open(settings.audit_log);
      if (!opened) return failed(opened.error(), kWrongSettings);
      access.audit = std::move(*opened);
    }
    made.emplace(executor, std::move(settings), std::move(access), inherited, names_of(*wanted));
  } catch (const std::system_error& error) {
    // EAGAIN from pthread_create(3): a pool could not start its first thread.
    if (error.code() != std::errc::resource_unavailable_try_again) throw;
    return failed({.message = "cannot start a thread, because processes are limited: " + error.code().message()}, 1);
  }
  Agent& agent = *made;
  mcp::Clients mcp_clients{executor};
  protocol::HttpServer server{
      executor,
      {.limits = connection_limits(agent.settings),
       .name = "skiffd",
       .takes_faulty_targets = true,
       .received = &agent.quotas.received,
       .handler = [&](protocol::HttpExchange& http) { return api::dispatch(agent, mcp_clients, http); },
       .out_of_descriptors = [&agent] { return agent.keep_limits().restored; },
       .error_response =
           [&agent](unsigned status, const Error& error) {
             agent.requests.count(agent.requests.no_route(), status);
             auto response = api::problem_response(error, {});
             response.status = status;
             return response;
           }}};
  agent.connections.server = &server;
  std::vector<protocol::Address> all = *addresses;
  for (const dialects::Wanted& one : *wanted) all.insert(all.end(), one.addresses.begin(), one.addresses.end());
  std::vector<std::shared_ptr<protocol::Listener>> listeners;
  for (const protocol::Address& address : *addresses) {
    auto listener = protocol::Listener::open(executor, address, protocol::any_address(address, all));
    if (!listener && listener.error().code == Errc::already_exists && !address.is_unix()) {
      listener.error().message += " (--listen 127.0.0.1:0 or SKIFF_LISTEN=127.0.0.1:0 selects a free port)";
    }
    if (!listener) return failed(listener.error(), 1);
    listeners.push_back(std::move(*listener));
  }
  auto ports = open_dialects(agent, *wanted, all);
  if (!ports) return failed(ports.error(), 1);
  // From its success on there are tasks, which only the end of a run ends.
  if (auto started = start_egress(agent); !started) return failed(started.error(), 1);
  const protocol::Address first = listeners.front()->address();
  for (const auto& listener : listeners) {
    const protocol::Address address = listener->address();
    agent.connections.own_ports.push_back(address.port());
    say("skiffd listening on " + url_of(address, tls != nullptr && !address.is_unix()) + "\n");
    server.listen(listener, address.is_unix() ? nullptr : tls);
  }
  auto services = listen(agent, std::move(*ports));
  if (!made_token.empty()) {
    print_token_help(first, tls != nullptr, made_token);
    wipe(made_token);
  }
  const std::size_t connections = connection_limits(agent.settings).slots.authenticated;
  log::info("serving", {{"version", kVersion},
                        {"instance", agent.instance},
                        {"root", agent.settings.root},
                        {"connections", connections}});
  if (connections < agent.settings.max_connections) {
    log::warning("open files are limited to " + std::to_string(most_open_files()) + ", so the agent takes " +
                 std::to_string(connections) + " connections, not --max-connections");
  }

  Running running{agent, mcp_clients, server, std::move(services), signals, tls.get()};
  if (!agent.settings.workload.empty()) {
    running.workload = std::make_unique<Workload>(agent.supervisor, agent.settings.workload,
                                                  environment_below(agent.settings, {}), inherited);
  }
  asio::co_spawn(executor, run_until_stopped(&running), asio::detached);
  while (!io.stopped()) {
    try {
      io.run();
    } catch (const std::bad_alloc&) {
      // A handler of a timer or a signal failed, for which no request waits. Go on: later handlers may find memory
      // again.
      log::error("memory ran out");
    }
  }
  agent.shutdown.say_last_word();
  log::info("stopped");
  return running.exit_status();
}

}  // namespace skiff::runtime
