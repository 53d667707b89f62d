#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "base/unique_fd.hpp"
#include "container/host/host_process.hpp"
#include "container/host/record.hpp"
#include "container/sandbox/freshness.hpp"

namespace skiff::container {

/// Records are replaced as a whole (`write_private_file`): a new record has another inode number, or if the number was
/// reused, another time.
[[nodiscard]] bool is_same_file(const struct stat& one, const struct stat& other) noexcept;

/// A running sandbox of this machine: stat(2) watches its record, and a pidfd its agent.
class HostFreshness final : public Freshness {
 public:
  /// Null when the sandbox does not run, or the kernel has no pidfds.
  [[nodiscard]] static std::unique_ptr<HostFreshness> take(const HostRecords& records, std::string_view name);

  [[nodiscard]] bool holds() noexcept override;

 private:
  HostFreshness(std::filesystem::path file, const struct stat& seen, UniqueFd agent)
      : file_{std::move(file)}, seen_{seen}, agent_{std::move(agent)} {}

  std::filesystem::path file_;
  struct stat seen_;
  UniqueFd agent_;  ///< empty: the freshness holds no longer
};

}  // namespace skiff::container
