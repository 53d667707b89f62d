#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/agent/client.hpp"
#include "container/cli/parse/command.hpp"
#include "container/cli/parse/options.hpp"
#include "container/cli/signals.hpp"
#include "container/cluster/cluster.hpp"
#include "container/drivers/pods/offline_manifest.hpp"
#include "container/sandbox/driver.hpp"
#include "container/trace/tracing.hpp"

namespace skiff::container {

/// The objects that a command works with. It outlives the command.
class Context {
 public:
  /// The spans of its driver and agents become parts of `trace`.
  Context(Executor executor, Options options, Signals& signals, TraceParent trace = {});

  [[nodiscard]] Executor executor() const noexcept { return executor_; }
  [[nodiscard]] const Options& options() const noexcept { return options_; }
  [[nodiscard]] Signals& signals() noexcept { return signals_; }

  /// The selected driver; it is chosen and created at the first call.
  [[nodiscard]] Task<Result<Driver*>> driver();
  /// The cluster that the flags name, whether it answers or not.
  [[nodiscard]] Result<Cluster*> cluster();
  /// The values for manifests without a cluster.
  [[nodiscard]] OfflineContext offline() const;
  /// Sets the agent image for specs that name none. Call it before `driver` and `cluster`.
  void set_agent_image(std::string image) { agent_image_ = std::move(image); }
  /// The image of the sandbox that the command creates; it may be empty. Call it before `driver`.
  void set_image(std::string image) { image_ = std::move(image); }
  /// The URL names the server that the command examines, and does not select the driver. Call it before `driver`.
  void set_examines_url() noexcept { examines_url_ = true; }
  /// Clients wait for the requests to the cluster, so report soon when it does not answer. Call it before `driver` and
  /// `cluster`.
  void set_serves_others() noexcept { serves_others_ = true; }
  /// A context for another namespace of the cluster.
  [[nodiscard]] Context in_namespace(std::string name) const;
  /// Ends the driver's connections; call it before the object is destroyed.
  [[nodiscard]] Task<> close();
  /// Prints the driver's notice to stderr.
  void tell_notice(const Driver& driver) const;

  /// Tells on stderr if `auto` has chosen boxes and there are sandboxes of the driver docker, too.
  void tell_of_containers(const Driver& driver);

  /// The endpoint of a running sandbox's agent. Only leases need the scope admin, and the driver handles them.
  [[nodiscard]] Task<Result<Endpoint>> endpoint(std::string name, TokenGrant grant = {.scope = "read exec"});
  [[nodiscard]] Task<Result<std::unique_ptr<AgentClient>>> agent(std::string name,
                                                                 TokenGrant grant = {.scope = "read exec"});

  /// Shows the phases of a bring-up on stderr: one changing line on a terminal, else a line for each; none if quiet.
  [[nodiscard]] Progress progress(std::string name) const;

  /// Prints a result in the selected format. `table` and `name` are its texts in these two formats, which pass through
  /// `printable_lines`.
  [[nodiscard]] Result<> show(const nlohmann::json& value, std::string_view table, std::string_view name) const;

 private:
  /// Refuses options that select two drivers.
  [[nodiscard]] Result<> check_one_answer() const;
  /// The driver that `auto` selects.
  [[nodiscard]] Result<std::string> choose_driver();
  /// The driver that `auto` selects when nothing names another machine.
  [[nodiscard]] Result<std::string> choose_driver_here() const;
  [[nodiscard]] Result<std::unique_ptr<Driver>> create_driver(std::string_view name);
  [[nodiscard]] Result<std::unique_ptr<Driver>> create_served_driver() const;

  Executor executor_;
  Options options_;
  Signals& signals_;
  TraceParent trace_;
  std::string agent_image_;
  std::string image_;
  bool examines_url_ = false;
  bool serves_others_ = false;
  /// Shared with the contexts of the other namespaces.
  std::shared_ptr<SteadyTime> api_served_at_ = std::make_shared<SteadyTime>();
  bool has_told_of_containers_ = false;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<Driver> driver_;
};

/// Runs a command, and then always closes its context.
[[nodiscard]] Task<Result<int>> run_to_end(Context* context, Invocation* invocation,
                                           SettingsTable::Arguments arguments);

/// A sandbox as JSON.
[[nodiscard]] nlohmann::json to_json_value(const Sandbox& sandbox);

}  // namespace skiff::container
