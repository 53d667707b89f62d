#pragma once

#include <filesystem>
#include <functional>
#include <list>
#include <memory>

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "container/sandbox/driver.hpp"

namespace skiff::container {

/// Watches the directories of all sandboxes of a state directory (inotify(7)), for any number of listeners: a record
/// that is written or removed, and a log that nobody writes any more, because its agent has ended. Reactor thread only.
class HostWatch : public std::enable_shared_from_this<HostWatch> {
 public:
  /// Begins to watch. `directory` has a directory for each sandbox. Errors: those of inotify(7).
  [[nodiscard]] static Result<std::shared_ptr<HostWatch>> open(Executor executor, std::filesystem::path directory);

  /// Calls `changed` while the result exists. `logs_end`: a log ends with its agent.
  [[nodiscard]] static std::unique_ptr<ListWatch> join(std::shared_ptr<HostWatch> watch, std::function<void()> changed,
                                                       bool logs_end);

 private:
  class Listener;

  HostWatch(Executor executor, std::filesystem::path directory, UniqueFd source, int all);

  void watch_each();
  void watch_one(const std::filesystem::path& directory);
  void wait();
  void take();

  std::filesystem::path directory_;
  boost::asio::posix::basic_stream_descriptor<Executor> source_;
  int all_;                ///< watch descriptor of the directory
  bool is_blind_ = false;  ///< some directory is not watched
  std::list<std::function<void()>> listeners_;
};

}  // namespace skiff::container
