#pragma once

#include <sys/stat.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/blocking_pool.hpp"
#include "container/drivers/local/record.hpp"
#include "container/drivers/local/state_directory.hpp"
#include "container/sandbox/driver.hpp"

namespace skiff::container {

/// Sandboxes without a cluster: each is a skiffd process on this machine, on a free port of 127.0.0.1, with a directory
/// of its own. The driver does not isolate: commands run as the calling user. Files, leases, ends and tokens work as in
/// a cluster.
class LocalDriver final : public Driver {
 public:
  explicit LocalDriver(StateDirectory state);

  [[nodiscard]] std::string_view name() const noexcept override { return "local"; }
  [[nodiscard]] std::string place() const override { return "driver local, " + state_.path().string(); }
  [[nodiscard]] std::string_view notice() const noexcept override;
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
  [[nodiscard]] Task<Result<protocol::Stream>> dial(std::string name, std::uint16_t port) override;
  [[nodiscard]] std::unique_ptr<Freshness> freshness(const std::string& name) override;
  [[nodiscard]] Task<std::vector<Check>> examine() override;
  /// `invalid_field`: this driver has neither objects nor networks.
  [[nodiscard]] Task<Result<PodOptions>> set_network(std::string name, std::string network,
                                                     std::vector<std::string> allow) override;
  [[nodiscard]] Task<Result<std::vector<kube::Object>>> manifest(SandboxSpec spec, bool to_be_applied) override;

 private:
  /// Starts skiffd for a record and waits until it answers. The record on disk is up to date at each step, so that
  /// after a crash another process finds what was started.
  [[nodiscard]] Task<Result<Sandbox>> bring_up(LocalRecord record, std::chrono::milliseconds wait, Progress progress);
  [[nodiscard]] Task<Result<LocalRecord>> start_agent(LocalRecord record, std::chrono::milliseconds wait);
  /// Ends the agent and the processes that its commands left.
  [[nodiscard]] Task<Result<>> end_all(LocalRecord record, std::chrono::milliseconds grace);
  [[nodiscard]] Task<Result<>> erase(std::string name);
  /// Removes the remains of a process that was killed before it wrote the record. The caller holds the lock of the
  /// name.
  [[nodiscard]] Task<Result<>> erase_unrecorded(std::string name);
  [[nodiscard]] Sandbox describe(const LocalRecord& record) const;
  [[nodiscard]] Result<LocalRecord> running(std::string_view name) const;
  [[nodiscard]] Result<Endpoint> endpoint_of(const LocalRecord& record, TokenGrant grant) const;

  /// True if the record is known to belong to another owner. Such a record is not read again for each list.
  [[nodiscard]] bool is_of_another(const std::string& name, const struct stat& now, const SandboxFilter& filter) const;

  struct Owned {
    struct stat seen;
    std::string owner;
  };
  StateDirectory state_;
  LocalRecords records_;
  std::map<std::string, Owned> owners_;  ///< owners of the records that were read, by name
  BlockingPool disk_{"skiff-disk", 1};
};

}  // namespace skiff::container
