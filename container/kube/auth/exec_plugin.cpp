#include "container/kube/auth/exec_plugin.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/small_file.hpp"
#include "base/unique_fd.hpp"
#include "container/net/time.hpp"
#include "container/process/spawn.hpp"
#include "protocol/json/base64.hpp"
#include "protocol/json/schema.hpp"

namespace skiff::kube {
namespace {

using protocol::field;
using std::chrono::milliseconds;

constexpr std::size_t kMostOutput = 1024 * 1024;
constexpr std::chrono::seconds kAlone{60};
constexpr std::chrono::minutes kWithPerson{5};
/// Interval of checks for a plugin that has closed its output but has not ended, which is rare.
constexpr milliseconds kLookAgain{5};

struct WireCredentials {
  std::string expiration_timestamp;
  std::string token;
  std::string certificate;
  std::string key;
  static constexpr auto fields =
      std::tuple{field("expirationTimestamp", &WireCredentials::expiration_timestamp, "", {.optional = true}),
                 field("token", &WireCredentials::token, "", {.text = protocol::Text::no_nul, .optional = true}),
                 field("clientCertificateData", &WireCredentials::certificate, "", {.optional = true}),
                 field("clientKeyData", &WireCredentials::key, "", {.optional = true})};
};

struct WireCredential {
  std::string kind;
  std::string api_version;
  std::optional<WireCredentials> status;
  static constexpr auto fields =
      std::tuple{field("kind", &WireCredential::kind, ""), field("apiVersion", &WireCredential::api_version, ""),
                 field("status", &WireCredential::status, "")};
};

std::string plugin_name(const ExecPlugin& plugin) {
  return "the credential plugin \"" + plugin.command + "\"";
}

std::string with_hint(const ExecPlugin& plugin) {
  return plugin.install_hint.empty() ? std::string{} : "; " + plugin.install_hint;
}

/// The environment of the plugin: our own, where the plugin's variables replace ours.
std::vector<std::string> environment_for(const ExecPlugin& plugin, std::string info) {
  std::vector<std::string> set;
  for (const ExecPlugin::Variable& variable : plugin.environment) set.push_back(variable.name + "=" + variable.value);
  set.push_back("KUBERNETES_EXEC_INFO=" + std::move(info));
  const std::size_t ours = set.size();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text{*entry};
    const std::string_view name = text.substr(0, text.find('=') + 1);
    bool replaced = false;
    for (std::size_t i = 0; i < ours; ++i) replaced = replaced || set[i].starts_with(name);
    if (!replaced) set.emplace_back(text);
  }
  return set;
}

struct Started {
  pid_t pid = -1;
  UniqueFd output;
};

Result<Started> start(const ExecPlugin& plugin, std::string info, bool interactive) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::unexpected{system_error(errno, "make a pipe")};
  Started started{.output = UniqueFd{ends[0]}};
  const UniqueFd input{ends[1]};
  std::vector<std::string> words{plugin.command};
  words.insert(words.end(), plugin.arguments.begin(), plugin.arguments.end());
  const auto pid = container::spawn({.argv = std::move(words),
                                     .environment = environment_for(plugin, std::move(info)),
                                     .input = interactive ? STDIN_FILENO : -1,
                                     .output = input.get(),
                                     .errors = STDERR_FILENO});
  if (!pid && pid.error() == ENOENT) {
    return fail(Errc::unauthenticated, plugin_name(plugin) + " is not installed" + with_hint(plugin));
  }
  if (!pid) return std::unexpected{system_error(pid.error(), "start " + plugin_name(plugin))};
  started.pid = *pid;
  return started;
}

/// Reads the plugin's output until it is closed. Returns an error when the output is too long or takes too long.
Result<std::string> read_output(int fd, SteadyTime until, const ExecPlugin& plugin) {
  std::string output;
  std::array<char, 16 * 1024> piece{};
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(until - std::chrono::steady_clock::now());
    pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || ::poll(&entry, 1, static_cast<int>(left.count())) == 0) {
      return fail(Errc::timeout, plugin_name(plugin) + " did not answer in time");
    }
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got == 0) return output;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected{system_error(errno, "read from " + plugin_name(plugin))};
    output.append(piece.data(), static_cast<std::size_t>(got));
    if (output.size() > kMostOutput) return fail(Errc::payload_too_large, plugin_name(plugin) + " printed over 1 MiB");
  }
}

/// Waits for a child, which is killed at `until`, and returns its status.
int wait_for(pid_t pid, SteadyTime until) {
  int status = 0;
  if (const UniqueFd process{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))}; process) {
    pollfd entry{.fd = process.get(), .events = POLLIN, .revents = 0};
    int ready = 0;
    do {
      const auto left = std::chrono::duration_cast<milliseconds>(until - std::chrono::steady_clock::now());
      ready = ::poll(&entry, 1, static_cast<int>(std::max(left, milliseconds{0}).count()));
    } while (ready < 0 && errno == EINTR);
    if (ready != 1) ::kill(pid, SIGKILL);
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }
  // Without pidfds one call cannot wait for both a child's end and a time, so look repeatedly.
  for (;;) {
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid || (ended < 0 && errno != EINTR)) return status;
    if (std::chrono::steady_clock::now() >= until) ::kill(pid, SIGKILL);
    std::this_thread::sleep_for(kLookAgain);
  }
}

}  // namespace

std::string exec_info(const ExecPlugin& plugin, const Access& access, bool interactive) {
  nlohmann::json spec{{"interactive", interactive}};
  if (plugin.provide_cluster_info) {
    nlohmann::json cluster{{"server", access.server.text()}};
    if (!access.tls_server_name.empty()) cluster["tls-server-name"] = access.tls_server_name;
    if (access.insecure_skip_tls_verify) cluster["insecure-skip-tls-verify"] = true;
    if (!access.ca_pem.empty()) cluster["certificate-authority-data"] = protocol::encode_base64(access.ca_pem);
    if (access.proxy) cluster["proxy-url"] = access.proxy->text();
    if (!access.exec_config.empty()) cluster["config"] = nlohmann::json::parse(access.exec_config, nullptr, false);
    spec["cluster"] = std::move(cluster);
  }
  return nlohmann::json{{"kind", "ExecCredential"}, {"apiVersion", plugin.api_version}, {"spec", std::move(spec)}}
      .dump();
}

Result<ExecCredential> parse_exec_credential(std::string_view output, const ExecPlugin& plugin) {
  const auto bad = [&](std::string_view why) {
    return fail(Errc::unauthenticated,
                plugin_name(plugin) + " printed no usable ExecCredential: " + std::string{why} + with_hint(plugin));
  };
  std::vector<std::string> ignored;
  auto wire = protocol::decode<WireCredential>(output, {}, &ignored);
  if (!wire) return bad(wire.error().message);
  if (wire->kind != "ExecCredential") return bad("its kind is \"" + wire->kind + "\"");
  if (wire->api_version != plugin.api_version) {
    return bad("its apiVersion is \"" + wire->api_version + "\", the kubeconfig says \"" + plugin.api_version + "\"");
  }
  if (!wire->status) return bad("it has no status");
  WireCredentials& status = *wire->status;
  if (status.certificate.empty() != status.key.empty()) return bad("a certificate goes with its key");
  if (status.token.empty() && status.certificate.empty()) return bad("it has neither a token nor a certificate");
  ExecCredential credential{.token = std::move(status.token),
                            .certificate_pem = std::move(status.certificate),
                            .key_pem = std::move(status.key)};
  if (!status.expiration_timestamp.empty()) {
    credential.expires = net::parse_time(status.expiration_timestamp);
    if (!credential.expires) return bad("its expirationTimestamp is not an RFC 3339 time");
  }
  return credential;
}

Result<ExecCredential> run_exec_plugin(const Access& access) {
  const ExecPlugin& plugin = *access.identity.exec;
  const bool terminal = ::isatty(STDIN_FILENO) == 1;
  const bool interactive = terminal && plugin.interactive_mode != "Never";
  if (plugin.interactive_mode == "Always" && !terminal) {
    return fail(Errc::unauthenticated,
                plugin_name(plugin) + " must ask its user, but standard input is not a terminal: run it once by hand");
  }
  const SteadyTime until = std::chrono::steady_clock::now() + (interactive ? kWithPerson : kAlone);
  SKIFF_TRY(auto started, start(plugin, exec_info(plugin, access, interactive), interactive));
  auto output = read_output(started.output.get(), until, plugin);
  started.output.reset();
  const int status = wait_for(started.pid, output ? until : SteadyTime{});
  if (!output) return std::unexpected{std::move(output.error())};
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    wipe(*output);
    const std::string how = WIFEXITED(status) ? "failed with status " + std::to_string(WEXITSTATUS(status))
                                              : "was ended by signal " + std::to_string(WTERMSIG(status));
    return fail(Errc::unauthenticated, plugin_name(plugin) + " " + how + with_hint(plugin));
  }
  auto credential = parse_exec_credential(*output, plugin);
  wipe(*output);
  return credential;
}

}  // namespace skiff::kube
