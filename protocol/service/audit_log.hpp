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

namespace skiff::protocol::service {

/// Appends lines to a file on a separate thread, so that a slow disk blocks no request. The bytes that wait for the
/// disk are bounded. Further lines are dropped and counted, and a line in the file reports their number later. The
/// destructor writes the waiting lines.
class AuditLog {
 public:
  static constexpr std::size_t kMostWaiting = std::size_t{8} << 20U;  ///< bytes

  /// The path that means standard output, which has no rotation.
  static constexpr std::string_view kStandardOutput = "-";

  /// Creates the file with mode 0600, or opens it for appending. Errors: those of open(2).
  [[nodiscard]] static Result<std::unique_ptr<AuditLog>> open(std::string path,
                                                              std::size_t most_waiting = kMostWaiting);
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  /// Appends `line`, one JSON object without a newline. Never blocks.
  void write(std::string_view line);
  /// Opens the file by its name again, after rotation. Lines from before this call still go to the old file.
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
  std::string waiting_;  ///< guarded by mutex_, as are the members down to before_reopen_lines_
  std::uint64_t waiting_lines_ = 0;
  std::uint64_t lost_untold_ = 0;  ///< lost lines that the file does not report yet
  bool reopen_ = false;            ///< reopen before writing waiting_
  bool scheduled_ = false;         ///< a job that writes was posted
  std::string before_reopen_;      ///< lines for the old file
  std::uint64_t before_reopen_lines_ = 0;
  UniqueFd file_;         ///< used by the writing thread only
  bool failing_ = false;  ///< the last write failed; used by the writing thread only
  BlockingPool writer_;   ///< last member, so that it is destroyed first
};

}  // namespace skiff::protocol::service
