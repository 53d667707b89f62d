#include "container/cli/context.hpp"

#include <unistd.h>

#include <exception>
#include <utility>

#include <boost/asio/this_coro.hpp>
#include <nlohmann/json.hpp>

#include "base/within.hpp"
#include "container/cli/output.hpp"
#include "container/cli/terminal.hpp"
#include "container/launcher/claim_driver.hpp"
#include "container/launcher/local_driver.hpp"
#include "container/launcher/pod_driver.hpp"
#include "container/launcher/traced_driver.hpp"

namespace skiff::container {
namespace {

/// How long a cluster may take to say that it is there.
constexpr std::chrono::seconds kClusterPatience{5};

std::string variable(const char* name) {
  return kube::process_environment(name);
}

std::string words(Phase phase, std::string_view detail) {
  std::string text{phase_word(phase)};
  if (!detail.empty()) text.append(": ").append(detail);
  return text;
}

/// A line of the terminal that is drawn over, and goes with the object.
class ProgressLine {
 public:
  ProgressLine() = default;
  ~ProgressLine() { show(""); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const std::string& text) {
    if (text.empty() && !drawn_) return;
    drawn_ = !text.empty();
    const std::string line = "\r\033[K" + text;
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  }

 private:
  bool drawn_ = false;
};

}  // namespace

Context::Context(Executor executor, Options options, Signals& signals, TraceParent trace)
    : executor_{executor}, options_{std::move(options)}, signals_{signals}, trace_{std::move(trace)} {}

Result<Cluster*> Context::cluster() {
  if (!cluster_) {
    ClusterOptions wanted{.access = options_.access, .name_prefix = options_.name_prefix, .agent_image = agent_image_};
    // As orbiter's users have it.
    if (wanted.access.namespace_name.empty()) wanted.access.namespace_name = variable("ORBITER_K8S_NAMESPACE");
    if (auto image = variable("ORBITER_K8S_IMAGE"); !image.empty()) wanted.default_image = std::move(image);
    if (!options_.quiet)
      wanted.transport.warn = [](std::string_view text) { say("the API server warns: " + std::string{text}); };
    auto opened = Cluster::open(executor_, std::move(wanted));
    if (!opened) return std::unexpected{std::move(opened.error())};
    cluster_ = std::move(*opened);
  }
  return cluster_.get();
}

Result<std::unique_ptr<Driver>> Context::make_driver(std::string_view name) {
  if (name == "local") {
    auto state = StateFolder::open({});
    if (!state) return std::unexpected{std::move(state.error())};
    return std::make_unique<LocalDriver>(std::move(*state));
  }
  auto where = cluster();
  if (!where) return std::unexpected{std::move(where.error())};
  ReachOptions reach{.url = options_.url,
                     .gateway_url = options_.gateway_url,
                     .gateway = options_.gateway,
                     .gateway_token = options_.gateway_token,
                     .only = find_way(options_.reach)};
  // From a Pod with the kubeconfig of another cluster, its Pods' addresses are those of strangers here.
  reach.in_cluster = (*where)->client().transport().access().from_pod || reach.only == Way::in_cluster;
  if (name == "claim") return std::make_unique<ClaimDriver>(*where, std::move(reach));
  return std::make_unique<PodDriver>(*where, std::move(reach));
}

/// Whether there is a cluster to work with. Where anything points to one, it is an error that it does not answer: what
/// was meant for a cluster must not run on somebody's own machine because a network is down.
Task<Result<bool>> Context::cluster_answers() {
  const kube::AccessOptions& access = options_.access;
  const bool is_named = !access.context.empty() || !access.kubeconfig.empty() || !access.server.empty();
  auto where = cluster();
  if (!where && where.error().code == Errc::not_found && !is_named) co_return false;
  if (!where) co_return std::unexpected{std::move(where.error())};
  if (is_named) co_return true;
  auto version = co_await within(std::chrono::steady_clock::now() + kClusterPatience, (*where)->client().version());
  if (version && *version) co_return true;
  // What refuses us is a cluster all the same.
  const bool is_away =
      !version || (version->error().status.code == 0 && version->error().error.code != Errc::unauthenticated);
  if (!is_away) co_return true;
  const std::string why = version ? version->error().error.message
                                  : "nothing came from " + (*where)->client().transport().access().server.text();
  co_return fail(Errc::io_error, "the cluster that is configured does not answer: " + why +
                                     " (to work on this machine, without isolation: --driver local)");
}

Task<Result<Driver*>> Context::driver() {
  if (driver_) co_return driver_.get();
  std::string name = options_.driver;
  if (name == "auto") {
    auto answers = co_await cluster_answers();
    if (!answers) co_return std::unexpected{std::move(answers.error())};
    name = *answers ? "pod" : "local";
  }
  auto made = make_driver(name);
  if (!made) co_return std::unexpected{std::move(made.error())};
  driver_ = std::move(*made);
  if (trace_) driver_ = trace_driver(std::move(driver_), trace_);
  co_return driver_.get();
}

Context Context::in_namespace(std::string name) const {
  Options options = options_;
  options.access.namespace_name = std::move(name);
  if (options.driver == "auto") options.driver = "pod";
  return Context{executor_, std::move(options), signals_, trace_};
}

Task<> Context::close() {
  if (driver_) co_await driver_->close();
  // Kept connections have time limits, which would keep the reactor waiting.
  driver_.reset();
  cluster_.reset();
}

Task<Result<int>> run_to_end(Context* context, Invocation* invocation, SettingsTable::Arguments arguments) {
  Result<int> status = std::unexpected{Error{}};
  std::exception_ptr failure;
  try {
    status = co_await invocation->run(*context, std::move(arguments));
  } catch (...) {
    failure = std::current_exception();
  }
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  co_await context->close();
  if (failure) std::rethrow_exception(failure);
  co_return status;
}

void Context::tell_notice(const Driver& driver) const {
  if (!options_.quiet && !driver.notice().empty()) say(driver.notice());
}

Task<Result<Endpoint>> Context::endpoint(std::string name, TokenGrant grant) {
  auto host = co_await driver();
  if (!host) co_return std::unexpected{std::move(host.error())};
  co_return co_await (*host)->endpoint(std::move(name), std::move(grant));
}

Task<Result<std::unique_ptr<AgentClient>>> Context::agent(std::string name, TokenGrant grant) {
  auto found = co_await endpoint(std::move(name), std::move(grant));
  if (!found) co_return std::unexpected{std::move(found.error())};
  co_return std::make_unique<AgentClient>(executor_, std::move(*found));
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
  return print(options_.output == "name" ? name : table);
}

nlohmann::json to_json_value(const Sandbox& sandbox) {
  return nlohmann::json::parse(protocol::to_json(sandbox));
}

}  // namespace skiff::container
