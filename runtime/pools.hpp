#pragma once

#include <cstddef>

#include "base/async/blocking_pool.hpp"
#include "sessions/condition.hpp"

namespace skiff::runtime {

/// The threads for calls that may block.
struct Pools {
  /// Calls that may wait for a name that another call is changing.
  static constexpr std::size_t kWaitsForNames = 32;
  /// Searches and archives that may have begun and wait for their clients, each on a thread.
  static constexpr std::size_t kTransfers = 60;

  Pools(Executor executor, std::size_t disk_threads)
      : disk{"skiff-disk", disk_threads, kWaitsForNames}, patterns{executor} {}

  BlockingPool disk;                                        ///< for short work
  BlockingPool long_work{"skiff-long", 4, kWaitsForNames};  ///< for work on a tree or a large file: see `api::on_disk`
  /// For searches and archives, which run at the client's speed. Further ones wait their turn.
  BlockingPool search{"skiff-search", 4, kTransfers};
  BlockingPool watching{"skiff-watch", 2};  ///< for the watches of directories
  sessions::PatternThread patterns;
};

}  // namespace skiff::runtime
