#pragma once

#include <cstddef>

#include "base/async/blocking_pool.hpp"
#include "sessions/condition.hpp"

namespace skiff::runtime {

/// The threads for what may block.
struct Pools {
  /// Calls that may wait until a name is free that another call is about to change.
  static constexpr std::size_t kWaitsForNames = 32;
  /// This many searches and archives may have begun and wait for their clients, each on a thread.
  static constexpr std::size_t kTransfers = 60;

  Pools(Executor executor, std::size_t disk_threads)
      : disk{"skiff-disk", disk_threads, kWaitsForNames}, patterns{executor} {}

  BlockingPool disk;                                        ///< for what is over in a moment
  BlockingPool long_work{"skiff-long", 4, kWaitsForNames};  ///< for whole trees and large files: see `api::on_disk`
  /// For searches and archives: what they send or take goes as fast as the client does. Further ones wait their turn.
  BlockingPool search{"skiff-search", 4, kTransfers};
  BlockingPool watching{"skiff-watch", 2};  ///< for the watches of directories
  sessions::PatternThread patterns;
};

}  // namespace skiff::runtime
