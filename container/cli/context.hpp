#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/agent/client.hpp"
#include "container/cli/command.hpp"
#include "container/cli/options.hpp"
#include "container/cli/signals.hpp"
#include "container/cluster/cluster.hpp"
#include "container/cluster/pods/offline_manifest.hpp"
#include "container/sandbox/driver.hpp"
#include "container/trace/tracing.hpp"

namespace skiff::container {

/// What a command works with. It outlives the command.
class Context {
 public:
  /// What its driver and its agents do becomes a part of `trace`.
  Context(Executor executor, Options options, Signals& signals, TraceParent trace = {});

  [[nodiscard]] Executor executor() const noexcept { return executor_; }
  [[nodiscard]] const Options& options() const noexcept { return options_; }
  [[nodiscard]] Signals& signals() noexcept { return signals_; }

  /// The driver that was asked for, chosen and made at the first call.
  [[nodiscard]] Task<Result<Driver*>> driver();
  /// The cluster that the flags name, whether it answers or not.
  [[nodiscard]] Result<Cluster*> cluster();
  /// What is known of a cluster without one.
  [[nodiscard]] OfflineContext offline() const;
  /// For specs that name none; to be said before the driver or the cluster is asked for.
  void set_agent_image(std::string image) { agent_image_ = std::move(image); }
  /// The URL names what the command examines, not where it works; to be said before the driver is asked for.
  void set_examines_url() noexcept { examines_url_ = true; }
  /// Others wait for what it asks the cluster: one that is away is told soon. To be said before the driver or the
  /// cluster is asked for.
  void set_serves_others() noexcept { serves_others_ = true; }
  /// The same for another namespace of the cluster.
  [[nodiscard]] Context in_namespace(std::string name) const;
  /// Ends what the driver holds open; call it before the object goes away.
  [[nodiscard]] Task<> close();
  /// Says on stderr what users of the driver must know.
  void tell_notice(const Driver& driver) const;

  /// How the agent of a running sandbox is reached. Leases are the driver's: nothing else needs the scope admin.
  [[nodiscard]] Task<Result<Endpoint>> endpoint(std::string name, TokenGrant grant = {.scope = "read exec"});
  [[nodiscard]] Task<Result<std::unique_ptr<AgentClient>>> agent(std::string name,
                                                                 TokenGrant grant = {.scope = "read exec"});

  /// Shows the phases of a bring-up on stderr: one line that changes on a terminal, else a line each; nothing if quiet.
  [[nodiscard]] Progress progress(std::string name) const;

  /// Prints a result in the form that was asked for: `table` and `name` are what it is in those two, shown as
  /// `printable_lines` has them.
  [[nodiscard]] Result<> show(const nlohmann::json& value, std::string_view table, std::string_view name) const;

 private:
  /// Refuses two answers to the question of where to work.
  [[nodiscard]] Result<> check_one_answer() const;
  /// What `auto` is.
  [[nodiscard]] Result<std::string> choose_driver();
  [[nodiscard]] Result<std::unique_ptr<Driver>> make_driver(std::string_view name);
  [[nodiscard]] Result<std::unique_ptr<Driver>> make_served_driver() const;

  Executor executor_;
  Options options_;
  Signals& signals_;
  TraceParent trace_;
  std::string agent_image_;
  bool examines_url_ = false;
  bool serves_others_ = false;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<Driver> driver_;
};

/// Runs a command and then ends what it worked with, whether it came to its end or not.
[[nodiscard]] Task<Result<int>> run_to_end(Context* context, Invocation* invocation,
                                           SettingsTable::Arguments arguments);

/// A sandbox as JSON.
[[nodiscard]] nlohmann::json to_json_value(const Sandbox& sandbox);

}  // namespace skiff::container
