#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/async/blocking_pool.hpp"
#include "base/async/task.hpp"
#include "base/async/task_group.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "sessions/output/segment.hpp"

namespace skiff::sessions {

class Spool;

/// The part of a log on disk: a file without a name, so nothing is left behind however the agent ends. The destructor
/// frees it. Reactor thread only, except `write` and `read`, which block.
class SpoolFile {
 public:
  explicit SpoolFile(std::shared_ptr<Spool> spool) noexcept;
  ~SpoolFile();
  SpoolFile(const SpoolFile&) = delete;
  SpoolFile& operator=(const SpoolFile&) = delete;

  /// Writes `first` and then `second` at `at`. Any thread. The first write creates the file.
  [[nodiscard]] Result<> write(std::uint64_t at, std::span<const char> first, std::span<const char> second);
  /// Fills both spans from `at` on, with bytes that were written before. Any thread.
  [[nodiscard]] Result<> read(std::uint64_t at, std::span<char> first, std::span<char> second) const;

  [[nodiscard]] const Spool& spool() const noexcept { return *spool_; }

 private:
  friend class Spool;
  [[nodiscard]] Result<> open();

  std::shared_ptr<Spool> spool_;
  std::mutex opening_;
  UniqueFd fd_;
  std::uint64_t end_ = 0;   // where the next write goes
  std::uint64_t used_ = 0;  // bytes of the quota
  bool warned_ = false;
};

/// The directory for output that leaves memory: a quota for all logs, and a bound on the bytes being written at a time.
/// Reactor thread only. `drain()` before the reactor goes.
class Spool : public std::enable_shared_from_this<Spool> {
 public:
  /// With this many bytes in flight the disk is slower than the commands, which then have to wait.
  static constexpr std::size_t kMostInFlight = 8 * 1024 * 1024;

  Spool(Executor executor, BlockingPool& disk, std::filesystem::path directory, std::uint64_t quota);

  struct Job {
    std::shared_ptr<SpoolFile> file;
    std::shared_ptr<Segment> segment;  ///< keeps `bytes` alive
    std::span<const char> bytes;
    std::vector<char> index;  ///< written after `bytes`
  };
  /// Starts a write and returns its offset in the file, or nothing when the quota does not allow it. `done(true)` is
  /// called on the reactor when everything is on disk; after `done(false)` nothing is, and the quota is as before.
  [[nodiscard]] std::optional<std::uint64_t> write(Job job, std::move_only_function<void(bool)> done);

  [[nodiscard]] bool backlogged() const noexcept { return in_flight_ >= kMostInFlight; }
  [[nodiscard]] std::uint64_t used() const noexcept { return used_; }
  [[nodiscard]] BlockingPool& disk() const noexcept { return disk_; }
  /// Ends when nothing is being written.
  [[nodiscard]] Task<> drain() { return writes_.join(); }

 private:
  friend class SpoolFile;
  static Task<> run(std::shared_ptr<Spool> self, Job job, std::uint64_t at, std::move_only_function<void(bool)> done);

  BlockingPool& disk_;
  const std::filesystem::path directory_;
  const std::uint64_t quota_;
  std::uint64_t used_ = 0;
  std::size_t in_flight_ = 0;
  TaskGroup writes_;
};

}  // namespace skiff::sessions
