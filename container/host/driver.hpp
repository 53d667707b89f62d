#pragma once

#include <sys/stat.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/blocking_pool.hpp"
#include "container/host/host_watch.hpp"
#include "container/host/record.hpp"
#include "container/host/state_directory.hpp"
#include "container/sandbox/driver.hpp"
#include "container/sandbox/progress.hpp"

namespace skiff::container {

/// What the drivers without a cluster have in common: each sandbox is a skiffd on this machine, with a record and a
/// directory of its own below NAME of the state directory. Files, leases, ends and tokens work as in a cluster. A
/// driver says how its agents are started, reached and ended.
class HostDriver : public Driver {
 public:
  HostDriver(std::string_view name, StateDirectory state);

  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  [[nodiscard]] std::string place() const override {
    return "driver " + std::string{name_} + ", " + state_.path().string();
  }
  [[nodiscard]] Task<Result<Sandbox>> create(SandboxSpec spec, Progress progress) override;
  [[nodiscard]] Task<Result<Sandbox>> get(std::string name) override;
  [[nodiscard]] Task<Result<SandboxPage>> list(SandboxFilter filter) override;
  [[nodiscard]] Task<Result<>> stop(std::string name, Removal how) override;
  [[nodiscard]] Task<Result<Sandbox>> start(std::string name, std::chrono::milliseconds wait,
                                            Progress progress) override;
  [[nodiscard]] Task<Result<>> set_label(std::string name, std::string label, std::string value) override;
  [[nodiscard]] Task<Result<bool>> remove(std::string name, Removal how) override;
  [[nodiscard]] Task<Result<Sandbox>> extend(std::string name, Lease lease, std::chrono::milliseconds wait) override;
  [[nodiscard]] Task<Result<Endpoint>> endpoint(std::string name, TokenGrant grant) override;
  [[nodiscard]] std::unique_ptr<Freshness> freshness(const std::string& name) override;
  /// The records and the logs of the agents, by inotify(7). Null if the kernel refuses that.
  [[nodiscard]] std::unique_ptr<ListWatch> watch_list(Executor executor, std::function<void()> changed) override;
  /// `invalid_field`: these drivers have no objects.
  [[nodiscard]] Task<Result<std::vector<kube::Object>>> manifest(SandboxSpec spec, bool to_be_applied) override;

 protected:
  /// Longest time for a connection to an agent of this machine.
  static constexpr std::chrono::milliseconds kConnectPatience{5'000};

  /// Adds the driver's own data to a new record. Refuses what the driver does not offer.
  [[nodiscard]] virtual Result<> prepare(const SandboxSpec& spec, HostRecord& record) = 0;
  /// Starts the agent of a record and waits until it listens. The record on disk has its process as soon as there is
  /// one; the record that is returned has its address, too. `lock` is the descriptor of the lock of the name.
  [[nodiscard]] virtual Task<Result<HostRecord>> launch(HostRecord record, std::string public_key, int lock,
                                                        std::chrono::milliseconds wait) = 0;
  /// Connects to the agent, which lives.
  [[nodiscard]] virtual Task<Result<protocol::Stream>> connect_agent(HostRecord record,
                                                                     std::chrono::milliseconds limit) = 0;
  /// Ends the agent and all processes that its commands have left. The record may have nothing but the name.
  /// `sandbox_failed` (no_engine) if nobody can be asked to: the sandbox may run on, and only `--force` passes over it.
  [[nodiscard]] virtual Task<Result<>> end_all(HostRecord record, std::chrono::milliseconds grace) = 0;
  /// True if the driver runs images, and not the programs of this machine.
  [[nodiscard]] virtual bool takes_images() const noexcept { return false; }
  /// True if an agent's end closes its log, so that `watch_list` notices it.
  [[nodiscard]] virtual bool logs_end_with_agents() const noexcept { return true; }
  /// Whether the agent of a record still runs.
  [[nodiscard]] virtual Task<bool> lives(HostRecord record);
  /// Removes what a sandbox has outside its directory, before the directory. Its record may be unreadable. Errors as
  /// those of `end_all`.
  [[nodiscard]] virtual Task<Result<>> discard(std::string /*name*/) { co_return Result<>{}; }
  /// Names of the sandboxes of which processes run, even if their directories are gone. It looks at all processes.
  [[nodiscard]] virtual Task<std::vector<std::string>> find_running() { co_return std::vector<std::string>{}; }
  /// True if the directory, which has no record, has the files of one of the driver's sandboxes and no others.
  [[nodiscard]] virtual bool has_own_files(const std::filesystem::path& /*directory*/) const { return false; }
  /// Adds the driver's own details to the description of a sandbox.
  virtual void describe_more(const HostRecord& /*record*/, Sandbox& /*sandbox*/) const {}

  [[nodiscard]] const StateDirectory& state() const noexcept { return state_; }
  [[nodiscard]] const HostRecords& records() const noexcept { return records_; }
  /// A thread for work that takes the disk's time.
  [[nodiscard]] BlockingPool& disk() noexcept { return disk_; }
  /// The record of a sandbox that runs now; else `sandbox_not_running`.
  [[nodiscard]] Task<Result<HostRecord>> running(std::string name);
  [[nodiscard]] Result<Endpoint> endpoint_of(const HostRecord& record, TokenGrant grant);
  /// Checks the state directory and the programs.
  [[nodiscard]] std::vector<Check> examine_parts() const;
  /// The error for an agent that does not come up, with the last lines of its log.
  [[nodiscard]] std::unexpected<Error> not_up(const HostRecord& record, FailureReason reason,
                                              const std::string& why) const;

 private:
  /// Starts skiffd for a record and waits until it answers. The record on disk is up to date at each step, so that
  /// after a crash another process finds what was started.
  [[nodiscard]] Task<Result<Sandbox>> bring_up(HostRecord record, int lock, std::chrono::milliseconds wait,
                                               Progress progress);
  [[nodiscard]] Task<Result<HostRecord>> start_agent(HostRecord record, int lock, std::chrono::milliseconds wait);
  [[nodiscard]] Task<Result<>> erase(std::string name, Removal how = {});
  /// Removes the remains of a process that was killed before it wrote the record. The caller holds the lock of the
  /// name.
  [[nodiscard]] Task<Result<>> erase_unrecorded(std::string name);
  /// True if something is left of a sandbox that has no record and that nobody creates or removes at present. `runs`:
  /// processes of it run.
  [[nodiscard]] Task<bool> is_left(std::string name, bool runs);
  /// True if there is a directory of the sandbox, or if processes of it run.
  [[nodiscard]] Task<bool> is_there(std::string name);
  /// Creates the directory of all sandboxes.
  [[nodiscard]] Result<> make_directory() const;
  [[nodiscard]] Sandbox describe(const HostRecord& record, bool runs) const;
  [[nodiscard]] Task<Sandbox> look_at(HostRecord record);

  /// True if the record is known to belong to another owner. Such a record is not read again for each list.
  [[nodiscard]] bool is_of_another(const std::string& name, const struct stat& now, const SandboxFilter& filter) const;

  struct Owned {
    struct stat seen;
    std::string owner;
  };
  std::string_view name_;
  StateDirectory state_;
  HostRecords records_;
  std::map<std::string, Owned> owners_;  ///< owners of the records that were read, by name
  std::weak_ptr<HostWatch> watch_;       ///< what all list watches share
  BlockingPool disk_{"skiff-disk", 1};
};

}  // namespace skiff::container
