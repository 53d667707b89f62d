#include "container/cli/context.hpp"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/async/finally.hpp"
#include "container/cli/output/json_path.hpp"
#include "container/cli/output/output.hpp"
#include "container/cli/output/printable.hpp"
#include "container/cli/output/terminal.hpp"
#include "container/drivers/box/driver.hpp"
#include "container/drivers/claims/driver.hpp"
#include "container/drivers/direct/driver.hpp"
#include "container/drivers/docker/driver.hpp"
#include "container/drivers/local/driver.hpp"
#include "container/drivers/pods/driver.hpp"
#include "container/drivers/serve/driver.hpp"
#include "container/sandbox/traced_driver.hpp"

namespace skiff::container {
namespace {

/// Advice for a user who has named no driver.
constexpr const char* kAdvice = " (to work on this machine: --driver box)";

/// Limits for the API server under `skiff serve`, whose clients can try again.
constexpr std::chrono::seconds kRetriesForOthers{15};
constexpr std::chrono::seconds kSilenceForOthers{30};

std::string variable(const char* name) {
  return net::process_environment(name);
}

std::string words(Phase phase, std::string_view detail) {
  std::string text{phase_word(phase)};
  if (!detail.empty()) text.append(": ").append(detail);
  return text;
}

/// Prints a request for --log-requests.
void tell_request(std::string_view method, std::string_view url, unsigned status, std::chrono::milliseconds took) {
  std::string line = std::string{method} + " " + std::string{url} + " ";
  line += status == 0 ? "no answer" : std::to_string(status);
  say(line + " in " + std::to_string(took.count()) + " ms");
}

/// A line of the terminal that is redrawn, and is erased with the object.
class ProgressLine {
 public:
  ProgressLine() = default;
  ~ProgressLine() { show(""); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const std::string& text) {
    if (text.empty() && !drawn_) return;
    drawn_ = !text.empty();
    const std::string line = "\r\033[K" + printable(text);
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  }

 private:
  bool drawn_ = false;
};

}  // namespace

Context::Context(Executor executor, Options options, Signals& signals, TraceParent trace)
    : executor_{executor}, options_{std::move(options)}, signals_{signals}, trace_{std::move(trace)} {}

OfflineContext Context::offline() const {
  OfflineContext known{.name_prefix = options_.name_prefix,
                       .default_image = ClusterOptions{}.default_image,
                       .agent_image = agent_image_};
  if (!options_.access.namespace_name.empty()) known.namespace_name = options_.access.namespace_name;
  return known;
}

Result<Cluster*> Context::cluster() {
  if (!cluster_) {
    ClusterOptions wanted{.access = options_.access, .name_prefix = options_.name_prefix, .agent_image = agent_image_};
    if (options_.driver == "auto") {
      wanted.transport.advice = kAdvice;
    }
    if (serves_others_) {
      wanted.transport.retry.all = kRetriesForOthers;
      wanted.transport.answer_time = kSilenceForOthers;
    }
    wanted.transport.served_at = api_served_at_;
    if (options_.log_requests) {
      wanted.transport.tell = [](const kube::Exchanged& one) {
        tell_request(one.method, one.url, one.status, one.took);
      };
    }
    if (!options_.quiet)
      wanted.transport.warn = [](std::string_view text) { say("the API server warns: " + std::string{text}); };
    SKIFF_TRY(auto opened, Cluster::open(executor_, std::move(wanted)));
    cluster_ = std::move(opened);
  }
  return cluster_.get();
}

Result<std::unique_ptr<Driver>> Context::create_driver(std::string_view name) {
  if (name == "local") {
    SKIFF_TRY(auto state, StateDirectory::open({}));
    return std::make_unique<LocalDriver>(std::move(state));
  }
  if (name == "box") {
    SKIFF_TRY(auto state, StateDirectory::open({}));
    return std::make_unique<BoxDriver>(executor_, std::move(state));
  }
  if (name == "docker") {
    SKIFF_TRY(auto state, StateDirectory::open({}));
    return std::make_unique<DockerDriver>(executor_, std::move(state));
  }
  if (name == "direct") {
    return DirectDriver::open(executor_, {.url = options_.url,
                                          .token = options_.token,
                                          .token_file = options_.token_file,
                                          .key_file = options_.key_file,
                                          .sandbox_id = options_.sandbox_id,
                                          .agent_certificate_authority = options_.agent_certificate_authority,
                                          .agent_server_name = options_.agent_server_name});
  }
  if (name == "serve") return create_served_driver();
  SKIFF_TRY(auto where, cluster());
  ReachOptions reach{.url = options_.has_url_flag ? options_.url : "",
                     .gateway_url = options_.gateway_url,
                     .gateway = options_.gateway,
                     .gateway_token = options_.gateway_token,
                     .certificate_authority = options_.agent_certificate_authority,
                     .server_name = options_.agent_server_name,
                     .only = find_way(options_.reach)};
  // In a Pod with the kubeconfig of another cluster, that cluster's Pod addresses belong to other machines here.
  reach.in_cluster = where->client().transport().access().from_pod || reach.only == Way::in_cluster;
  if (name == "claim") return std::make_unique<ClaimDriver>(where, std::move(reach));
  return std::make_unique<PodDriver>(where, std::move(reach));
}

Result<std::unique_ptr<Driver>> Context::create_served_driver() const {
  ServedOptions wanted{.url = options_.url,
                       .api_key = options_.api_key,
                       .api_key_file = options_.api_key_file,
                       .certificate_authority = options_.agent_certificate_authority,
                       .server_name = options_.agent_server_name};
  // The variables of E2B's users. Use them only together: a key belongs to its server.
  if (wanted.url.empty() && wanted.api_key.empty() && wanted.api_key_file.empty()) {
    wanted.url = variable("E2B_API_URL");
    wanted.api_key = variable("E2B_API_KEY");
  }
  if (options_.log_requests) wanted.tell = &tell_request;
  return ServedDriver::open(executor_, std::move(wanted));
}

/// Chooses the driver for `auto`. If anything names a cluster, its driver is chosen, whether the cluster answers or
/// not: a command for a cluster must not run on the user's machine because a network is down. It sends no request, and
/// never chooses a driver that does not isolate (docs/adr/0041).
Result<std::string> Context::choose_driver() {
  if (names_an_agent(options_) && !names_a_cluster(options_)) return "direct";
  if (names_a_server(options_) && !names_a_cluster(options_)) return "serve";
  auto where = cluster();
  if (where) return "pod";
  const bool is_named = names_a_cluster(options_) || !variable("SKIFF_KUBECONFIG_DATA").empty();
  if (where.error().code == Errc::not_found && !is_named) return choose_driver_here();
  Error error = std::move(where.error());
  if (error.code == Errc::not_found) error.message += kAdvice;
  return std::unexpected{std::move(error)};
}

/// A sandbox that there is belongs to its driver. A new one is a container if it has an image, and else a box.
Result<std::string> Context::choose_driver_here() const {
  if (check_name(options_.sandbox)) {
    SKIFF_TRY(const auto state, StateDirectory::open({}));
    for (const char* driver : {"box", "docker"}) {
      std::error_code ignored;
      if (std::filesystem::exists(state.path() / driver / options_.sandbox, ignored)) return driver;
    }
  }
  return image_.empty() ? "box" : "docker";
}

/// A command for a server must not run on the user's machine because of a forgotten variable.
Result<> Context::check_one_answer() const {
  if (!is_of_this_machine(options_.driver) || examines_url_) return {};
  if (options_.has_driver_flag && !options_.has_url_flag) return {};
  const std::string_view other = options_.has_url_flag            ? "--url"
                                 : !options_.url.empty()          ? "SKIFF_URL"
                                 : !options_.api_key.empty()      ? "SKIFF_API_KEY"
                                 : !options_.api_key_file.empty() ? "SKIFF_API_KEY_FILE"
                                                                  : "";
  if (other.empty()) return {};
  const bool has_key = !options_.api_key.empty() || !options_.api_key_file.empty();
  const std::string there = has_key ? "serve" : "direct";
  const std::string& named = options_.driver;
  const bool is_variable = variable("SKIFF_DRIVER") == named;
  const std::string which = (is_variable ? "SKIFF_DRIVER=" : "the driver ") + named;
  return fail(Errc::invalid_field,
              which + " means this machine, and " + std::string{other} + " another one. To use that one, " +
                  (is_variable ? "`unset SKIFF_DRIVER` or " : "") + "add --driver " + there +
                  "; to work on this machine, " +
                  (other == "--url" ? "omit --url" : "`unset " + std::string{other} + "` or add --driver " + named),
              "--driver");
}

Task<Result<Driver*>> Context::driver() {
  if (driver_) co_return driver_.get();
  SKIFF_CO_TRY_VOID(check_one_answer());
  std::string name = options_.driver;
  if (name == "auto") {
    SKIFF_CO_TRY(auto chosen, choose_driver());
    name = std::move(chosen);
  }
  if (options_.log_requests) say("driver " + name + (options_.driver == "auto" ? " (chosen by skiff)" : ""));
  SKIFF_CO_TRY(auto made, create_driver(name));
  driver_ = std::move(made);
  if (trace_) driver_ = trace_driver(std::move(driver_), trace_);
  co_return driver_.get();
}

Context Context::in_namespace(std::string name) const {
  Options options = options_;
  options.access.namespace_name = std::move(name);
  if (options.driver == "auto") options.driver = "pod";
  Context there{executor_, std::move(options), signals_, trace_};
  there.serves_others_ = serves_others_;
  there.api_served_at_ = api_served_at_;
  return there;
}

Task<> Context::close() {
  if (driver_) co_await driver_->close();
  // Kept connections have time limits, which would keep the reactor waiting.
  driver_.reset();
  cluster_.reset();
}

Task<Result<int>> run_to_end(Context* context, Invocation* invocation, SettingsTable::Arguments arguments) {
  co_return co_await finally([&] { return invocation->run(*context, std::move(arguments)); },
                             [&] { return context->close(); });
}

void Context::tell_notice(const Driver& driver) const {
  if (!options_.quiet && !driver.notice().empty()) say(driver.notice());
}

void Context::tell_of_containers(const Driver& driver) {
  if (options_.quiet || options_.driver != "auto" || driver.name() != "box") return;
  const auto state = StateDirectory::open({});
  std::error_code ignored;
  if (!state || std::filesystem::is_empty(state->path() / "docker", ignored) || ignored) return;
  if (!std::exchange(has_told_of_containers_, true)) say("for sandboxes in containers: --driver docker");
}

Task<Result<Endpoint>> Context::endpoint(std::string name, TokenGrant grant) {
  SKIFF_CO_TRY(auto host, co_await driver());
  co_return co_await host->endpoint(std::move(name), std::move(grant));
}

Task<Result<std::unique_ptr<AgentClient>>> Context::agent(std::string name, TokenGrant grant) {
  SKIFF_CO_TRY(auto found, co_await endpoint(std::move(name), std::move(grant)));
  co_return std::make_unique<AgentClient>(executor_, std::move(found));
}

Progress Context::progress(std::string name) const {
  if (options_.quiet) return [](Phase, std::string_view) {};
  if (!shows_progress()) {
    return [name = std::move(name)](Phase phase, std::string_view detail) { say(name + ": " + words(phase, detail)); };
  }
  return [name = std::move(name), line = std::make_shared<ProgressLine>()](Phase phase, std::string_view detail) {
    line->show(phase == Phase::ready ? "" : "skiff: " + name + ": " + words(phase, detail));
  };
}

Result<> Context::show(const nlohmann::json& value, std::string_view table, std::string_view name) const {
  if (options_.output == "json") return print(format_json(value));
  if (options_.output == "yaml") return print(format_yaml(value));
  if (options_.output.starts_with(kJsonPath)) {
    SKIFF_TRY(auto text, format_json_path(std::string_view{options_.output}.substr(kJsonPath.size()), value));
    if (text.find_first_not_of(" \t\n") == std::string::npos && !options_.quiet) {
      if (const std::string paths = known_paths(value); !paths.empty()) {
        say("-o " + options_.output + " finds nothing; the fields are " + paths);
      }
    }
    return print(printable_lines(text));
  }
  return print(printable_lines(options_.output == "name" ? name : table));
}

nlohmann::json to_json_value(const Sandbox& sandbox) {
  return nlohmann::json::parse(protocol::to_json(sandbox));
}

}  // namespace skiff::container
