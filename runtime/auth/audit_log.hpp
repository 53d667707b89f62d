#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/async/blocking_pool.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace skiff::runtime {

/// A file that lines are appended to by a thread of its own, so that a slow disk holds nobody up. What waits for the
/// disk is bounded: beyond that lines are lost, counted, and the file says so in a line of its own when it can be
/// written again. The destructor writes what is waiting.
class AuditLog {
 public:
  static constexpr std::size_t kMostWaiting = std::size_t{8} << 20U;  ///< bytes

  /// Makes the file, mode 0600, or appends to it. Errors: those of open(2).
  [[nodiscard]] static Result<std::unique_ptr<AuditLog>> open(std::string path,
                                                              std::size_t most_waiting = kMostWaiting);
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  /// Appends `line`, which ends without a newline and is one JSON object. Never blocks.
  void write(std::string_view line);
  /// Goes on in a new file of the same name, after what was written before this call: the old one was moved away.
  void reopen();

  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

 private:
  AuditLog(std::string path, UniqueFd file, std::size_t most_waiting);
  void schedule();
  void flush();
  void put(const std::string& text, std::uint64_t lines);
  void change_file();

  const std::string path_;
  const std::size_t most_waiting_;
  std::atomic<std::uint64_t> lost_{0};
  std::mutex mutex_;
  std::string waiting_;  ///< guarded by mutex_, as are the next three
  std::uint64_t waiting_lines_ = 0;
  std::uint64_t lost_untold_ = 0;  ///< lost lines that the file does not report yet
  bool reopen_ = false;            ///< after what waits now
  bool scheduled_ = false;         ///< a job that writes is on its way
  std::string before_reopen_;      ///< what is still for the old file
  std::uint64_t before_reopen_lines_ = 0;
  UniqueFd file_;         ///< the writing thread's
  bool failing_ = false;  ///< the writing thread's: the last write failed
  BlockingPool writer_;   ///< last, so that it ends first
};

}  // namespace skiff::runtime
