#include "protocol/service/audit_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/clock.hpp"
#include "base/log/log.hpp"

namespace skiff::protocol::service {
namespace {

UniqueFd open_file(const std::string& path) {
  if (path == AuditLog::kStandardOutput) return UniqueFd{::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)};
  return UniqueFd{::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600)};
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(file, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

/// Escapes control characters above U+001F, which JSON need not escape, because the log may be shown on a terminal.
/// They occur only in strings.
std::string without_controls(std::string_view line) {
  constexpr char kDelete = '\x7f';
  constexpr char kLead = '\xc2';  // first byte of U+0080 to U+00BF in UTF-8
  std::string clean;
  clean.reserve(line.size() + 1);
  for (std::size_t at = 0; at < line.size(); ++at) {
    unsigned code = 0;
    if (line[at] == kDelete) code = 0x7f;
    if (line[at] == kLead && at + 1 < line.size()) {
      const unsigned next = static_cast<unsigned char>(line[at + 1]);
      if (next < 0xa0) code = next;
    }
    if (code == 0) {
      clean += line[at];
      continue;
    }
    constexpr std::string_view kDigits = "0123456789abcdef";
    clean.append("\\u00").append(1, kDigits[code >> 4U]).append(1, kDigits[code & 15U]);
    if (code >= 0x80) ++at;
  }
  return clean;
}

}  // namespace

Result<std::unique_ptr<AuditLog>> AuditLog::open(std::string path, std::size_t most_waiting) {
  UniqueFd file = open_file(path);
  if (!file) return std::unexpected{system_error(errno, "open the audit log \"" + path + '"')};
  return std::unique_ptr<AuditLog>{new AuditLog{std::move(path), std::move(file), most_waiting}};
}

AuditLog::AuditLog(std::string path, UniqueFd file, std::size_t most_waiting)
    : path_{std::move(path)}, most_waiting_{most_waiting}, file_{std::move(file)}, writer_{"skiff-audit", 1} {}

// The pool runs the posted jobs, then ends.
AuditLog::~AuditLog() = default;

void AuditLog::write(std::string_view json) {
  const std::string line = without_controls(json);
  const std::lock_guard lock{mutex_};
  if (waiting_.size() + before_reopen_.size() + line.size() + 1 > most_waiting_) {
    ++lost_untold_;
    lost_.fetch_add(1, std::memory_order_relaxed);
  } else {
    waiting_ += line;
    waiting_ += '\n';
    ++waiting_lines_;
  }
  schedule();
}

void AuditLog::reopen() {
  const std::lock_guard lock{mutex_};
  before_reopen_ += std::exchange(waiting_, {});
  before_reopen_lines_ += std::exchange(waiting_lines_, 0);
  reopen_ = true;
  schedule();
}

void AuditLog::schedule() {
  if (std::exchange(scheduled_, true)) return;
  writer_.post([this] { flush(); });
}

void AuditLog::flush() {
  for (;;) {
    std::string for_old;
    std::string text;
    std::uint64_t old_lines = 0;
    std::uint64_t lines = 0;
    std::uint64_t untold = 0;
    bool change = false;
    {
      const std::lock_guard lock{mutex_};
      for_old = std::exchange(before_reopen_, {});
      old_lines = std::exchange(before_reopen_lines_, 0);
      text = std::exchange(waiting_, {});
      lines = std::exchange(waiting_lines_, 0);
      change = std::exchange(reopen_, false);
      untold = std::exchange(lost_untold_, 0);
      if (for_old.empty() && text.empty() && !change && untold == 0) {
        scheduled_ = false;
        return;
      }
    }
    put(for_old, old_lines);
    if (change) change_file();
    put(text, lines);
    if (untold > 0) {
      put(R"({"time":")" + rfc3339(wall_now()) + R"(","event":"lost","lines":)" + std::to_string(untold) + "}\n", 0);
    }
  }
}

void AuditLog::put(const std::string& text, std::uint64_t lines) {
  if (text.empty()) return;
  const bool good = write_all(file_.get(), text);
  const int error = errno;
  if (!good) lost_.fetch_add(lines, std::memory_order_relaxed);
  if (!good && !failing_) {
    log::error("cannot write the audit log: lines are lost", {{"file", path_}, {"error", errno_text(error)}});
  }
  failing_ = !good;
}

void AuditLog::change_file() {
  UniqueFd file = open_file(path_);
  if (file) {
    file_ = std::move(file);
  } else {
    log::error("cannot reopen the audit log: writing to the old file", {{"file", path_}, {"error", errno_text(errno)}});
  }
}

}  // namespace skiff::protocol::service
