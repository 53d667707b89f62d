#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "base/unique_fd.hpp"
#include "container/local/host_process.hpp"
#include "container/local/record.hpp"
#include "container/sandbox/sighting.hpp"

namespace skiff::container {

/// Records are replaced as a whole (`write_private_file`): another one is another inode, and should its number come
/// again, has been written at another time.
[[nodiscard]] bool is_same_file(const struct stat& one, const struct stat& other) noexcept;

/// A sandbox of this machine that runs: its record by stat(2), its agent by a pidfd.
class LocalSighting final : public Sighting {
 public:
  /// Null when it does not run, or the kernel has no pidfds.
  [[nodiscard]] static std::unique_ptr<LocalSighting> take(const LocalRecords& records, std::string_view name);

  [[nodiscard]] bool holds() noexcept override;

 private:
  LocalSighting(std::filesystem::path file, const struct stat& seen, UniqueFd agent)
      : file_{std::move(file)}, seen_{seen}, agent_{std::move(agent)} {}

  std::filesystem::path file_;
  struct stat seen_;
  UniqueFd agent_;  ///< empty: it holds no more
};

}  // namespace skiff::container
