#include "runtime/serve.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "base/log.hpp"
#include "protocol/http_server.hpp"
#include "protocol/listener.hpp"
#include "protocol/tls.hpp"
#include "runtime/agent.hpp"
#include "runtime/api/call.hpp"
#include "runtime/api/dispatch.hpp"
#include "runtime/small_file.hpp"
#include "runtime/version.hpp"

namespace skiff::runtime {
namespace asio = boost::asio;
namespace {

constexpr int kWrongSettings = 2;

/// When the commands are gone, their streams have this long to send their last records.
constexpr std::chrono::milliseconds kLastResponses{3000};

/// How long processes may take to be gone after a SIGKILL before the agent goes without them.
constexpr std::chrono::milliseconds kAfterKill{2000};

/// The signals that ask the agent to end. They are blocked everywhere and read here.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGTERM);
    sigaddset(&set_, SIGINT);
    sigprocmask(SIG_BLOCK, &set_, nullptr);
  }

  [[nodiscard]] Task<> wait() {
    const Executor executor = co_await asio::this_coro::executor;
    asio::posix::basic_stream_descriptor<Executor> source{executor, ::signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK)};
    for (;;) {
      co_await source.async_wait(asio::posix::descriptor_base::wait_read, use_task);
      signalfd_siginfo info{};
      while (::read(source.native_handle(), &info, sizeof info) == sizeof info) {
        // In a container of its own the agent can be signalled by its commands: those carry a pid of this namespace,
        // the kubelet's signal comes from outside and carries 0 (design: self-defence).
        const bool from_inside = ::getpid() == 1 && info.ssi_pid != 0;
        if (!from_inside) co_return;
        log::warning("a signal from inside the container was ignored", {{"pid", info.ssi_pid}});
      }
    }
  }

 private:
  sigset_t set_{};
};

std::string url_of(const protocol::Address& address, bool tls) {
  if (address.is_unix()) return address.text();
  return (tls ? "https://" : "http://") + address.text();
}

/// Where a person's client reaches a server that listens on every address.
std::string reachable(const protocol::Address& address, bool tls) {
  if (address.host() != "0.0.0.0" && address.host() != "::") return url_of(address, tls);
  return (tls ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(address.port());
}

void say(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void print_token_help(const protocol::Address& address, bool tls, const std::string& token) {
  std::string text = "\ntoken: " + token + "\n\ntry:\n";
  const std::string curl = tls ? "curl -sk" : "curl -s";
  if (address.is_unix()) {
    text += "  " + curl + " --unix-socket " + address.path() + " -H 'Authorization: Bearer " + token +
            "' http://localhost/v1/run -d 'echo hello; uname -a'\n\n";
  } else {
    const std::string url = reachable(address, tls);
    const std::string socket = (tls ? "wss" : "ws") + url.substr(url.find("://"));
    text += "  " + curl + "N -H 'Authorization: Bearer " + token + "' " + url + "/v1/run -d 'echo hello; uname -a'\n";
    // The address before -H: websocat takes everything behind -H for headers.
    text += "  websocat -b " + socket + "/v1/shell -H 'Authorization: Bearer " + token + "'\n\n";
  }
  // stdout holds the listening line alone, for programs to read.
  std::fputs(text.c_str(), stderr);
}

Result<Authenticator> make_authenticator(Settings& settings, std::string& made) {
  auto who = Authenticator::from_settings(settings);
  if (!who || !who->empty()) return who;
  const bool may_print = settings.print_token || ::isatty(STDERR_FILENO) == 1;
  if (!may_print) {
    return fail(Errc::unauthenticated,
                "no credential is configured: set --token-file, --token-sha256, --public-key or SKIFF_TOKEN; or "
                "--print-token to "
                "have one made and printed; or, to let everybody in, --allow-unauthenticated");
  }
  made = new_token();
  who->add(TokenEntry{.digest = digest_of(made)});
  return who;
}

struct Running {
  Agent& agent;
  protocol::HttpServer& server;
  StopSignals& signals;
};

Task<> run_until_stopped(Running* running) {
  co_await running->signals.wait();
  log::info("stopping: commands are ended", {{"live", running->agent.supervisor.live}});
  // Clients still connect and learn from /readyz and 503 that this agent is leaving.
  Deadline last{running->agent.executor, [] {
                  log::warning("some processes can't be ended: the agent goes without them");
                  std::_Exit(0);
                }};
  Deadline limit{running->agent.executor, [running, &last] {
                   log::warning("commands are still there after --drain-timeout: they are killed");
                   running->agent.kill_everything();
                   last.expires_after(kLastResponses + kAfterKill);
                 }};
  limit.expires_after(running->agent.settings.drain_timeout);
  co_await running->agent.drain();
  limit.clear();
  last.expires_after(kLastResponses + kAfterKill);
  running->server.drain();
  co_await running->server.drained(kLastResponses);
  co_await running->server.stop();
  co_await running->agent.supervisor.tasks.join();
  co_await running->agent.supervisor.budget.drain();
  running->agent.executor.context().stop();
}

int failed(const Error& error, int status) {
  std::fprintf(stderr, "skiffd: %s\n", error.message.c_str());
  return status;
}

/// What the settings name must exist before anything is served.
Result<std::vector<protocol::Address>> check(const Settings& settings) {
  std::vector<protocol::Address> addresses;
  for (const std::string& text : settings.listen) {
    auto address = protocol::Address::parse(text);
    if (!address) return std::unexpected{std::move(address.error())};
    addresses.push_back(*address);
  }
  std::error_code error;
  for (const std::string& folder : {settings.root, settings.data_dir}) {
    if (!folder.empty() && !std::filesystem::is_directory(folder, error)) {
      return fail(Errc::path_not_found, '"' + folder + "\" is not a folder");
    }
  }
  return addresses;
}

}  // namespace

int serve(Settings settings, const InheritedLimits& inherited) {
  log::configure(settings.log_level == "debug"     ? log::Level::debug
                 : settings.log_level == "warning" ? log::Level::warning
                 : settings.log_level == "error"   ? log::Level::error
                                                   : log::Level::info,
                 settings.log_format == "text" || (settings.log_format == "auto" && ::isatty(STDERR_FILENO) == 1)
                     ? log::Form::text
                     : log::Form::json);
  const auto addresses = check(settings);
  if (!addresses) return failed(addresses.error(), kWrongSettings);
  std::string made_token;
  auto who = make_authenticator(settings, made_token);
  wipe_environment("SKIFF_TOKEN");
  if (!who) return failed(who.error(), kWrongSettings);
  if (settings.allow_unauthenticated)
    log::warning("everybody who can connect may run commands (--allow-unauthenticated)");
  auto browsers = BrowserGuard::create(settings.allowed_hosts, settings.allowed_origins);
  if (!browsers) return failed(browsers.error(), kWrongSettings);
  std::shared_ptr<protocol::TlsContext> tls;
  if (!settings.tls_cert.empty()) {
    auto context = protocol::TlsContext::server({settings.tls_cert, settings.tls_key});
    if (!context) return failed(context.error(), kWrongSettings);
    tls = std::move(*context);
  }

  StopSignals signals;
  asio::io_context io;
  const Executor executor = io.get_executor();
  Agent agent{executor, std::move(settings), std::move(*who), std::move(*browsers), inherited};
  protocol::HttpServer server{executor,
                              {.limits = {.header_bytes = agent.settings.max_header_bytes,
                                          .target_bytes = agent.settings.max_target_bytes,
                                          .header_time = agent.settings.header_timeout,
                                          .body_idle_time = agent.settings.body_timeout,
                                          .keep_alive_time = agent.settings.idle_timeout,
                                          .write_stall_time = agent.settings.write_timeout,
                                          .connections = agent.settings.max_connections},
                               .handler = [&agent](protocol::HttpExchange& http) { return api::dispatch(agent, http); },
                               .error_response =
                                   [](unsigned status, const Error& error) {
                                     auto response = api::problem_response(error, {});
                                     response.status = status;
                                     return response;
                                   }}};
  protocol::Address first;
  for (const protocol::Address& address : *addresses) {
    auto listener = protocol::Listener::open(executor, address);
    if (!listener) return failed(listener.error(), 1);
    std::shared_ptr<protocol::Listener> listening = std::move(*listener);
    if (&address == &addresses->front()) first = listening->address();
    say("skiffd listening on " + url_of(listening->address(), tls != nullptr && !listening->address().is_unix()) +
        "\n");
    server.listen(listening, listening->address().is_unix() ? nullptr : tls);
  }
  if (!made_token.empty()) {
    print_token_help(first, tls != nullptr, made_token);
    wipe(made_token);
  }
  log::info("serving", {{"version", kVersion}, {"instance", agent.instance}, {"root", agent.settings.root}});

  Running running{agent, server, signals};
  asio::co_spawn(executor, run_until_stopped(&running), asio::detached);
  io.run();
  log::info("stopped");
  return 0;
}

}  // namespace skiff::runtime
