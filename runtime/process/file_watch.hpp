#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/async/deadline.hpp"
#include "base/async/task.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace skiff::runtime {

/// Watches files for changes by watching their directories (inotify(7)). So it also notices when a file is replaced,
/// and when Kubernetes swaps the `..data` link of a mounted secret. Reactor thread only.
class FileWatch {
 public:
  /// Starts to watch the directories of `files`. Errors: those of inotify.
  [[nodiscard]] static Result<FileWatch> open(const std::vector<std::string>& files);

  /// Calls `changed` on the reactor when the directories have been quiet for 100 ms after a change, until cancelled.
  [[nodiscard]] Task<> watch(std::function<void()> changed);

 private:
  FileWatch(UniqueFd source, std::vector<std::string> directories)
      : source_{std::move(source)}, directories_{std::move(directories)} {}
  void add_watches() const;

  UniqueFd source_;
  std::vector<std::string> directories_;
};

}  // namespace skiff::runtime
