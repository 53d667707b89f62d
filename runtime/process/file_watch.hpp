#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/async/deadline.hpp"
#include "base/async/task.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace skiff::runtime {

/// Tells that files may have changed, by watching the directories that they are in (inotify(7)): so also when a file is
/// replaced by another one, and when Kubernetes swaps the `..data` link of a mounted secret. Reactor thread only.
class FileWatch {
 public:
  /// `changed` is called from the reactor when the directories have been quiet for a moment after a change. Errors:
  /// those of inotify, where it is not offered.
  [[nodiscard]] static Result<FileWatch> open(const std::vector<std::string>& files);

  /// Until cancelled.
  [[nodiscard]] Task<> watch(std::function<void()> changed);

 private:
  FileWatch(UniqueFd source, std::vector<std::string> directories)
      : source_{std::move(source)}, directories_{std::move(directories)} {}
  void add_watches() const;

  UniqueFd source_;
  std::vector<std::string> directories_;
};

}  // namespace skiff::runtime
