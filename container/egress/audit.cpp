#include "container/egress/audit.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/small_file.hpp"

namespace skiff::container::egress {

namespace {

constexpr std::size_t kLargestLog = std::size_t{16} << 20U;

/// For lines about which nothing can be done any more.
void append_or_say(BoundedLog& log, std::string_view line) {
  if (auto done = log.append(line); !done) std::fprintf(stderr, "skiff: %s\n", done.error().message.c_str());
}

}  // namespace

Result<> BoundedLog::open() {
  file_ = UniqueFd{::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600)};
  struct stat found{};
  if (!file_ || ::fstat(file_.get(), &found) != 0) {
    return std::unexpected{system_error(errno, "open \"" + path_.string() + "\"")};
  }
  if (!S_ISREG(found.st_mode)) {
    file_ = {};
    return fail(Errc::io_error, "open \"" + path_.string() + "\": it is not a file");
  }
  size_ = static_cast<std::uint64_t>(found.st_size);
  return {};
}

Result<> BoundedLog::append(std::string_view line) {
  struct stat found{};
  // A line in a file that was removed is read by nobody.
  if (file_ && (::fstat(file_.get(), &found) != 0 || found.st_nlink == 0)) file_ = {};
  if (!file_) SKIFF_TRY_VOID(open());
  if (size_ > 0 && size_ + line.size() > most_) {
    const std::string older = path_.string() + ".1";
    if (::rename(path_.c_str(), older.c_str()) != 0) {
      return std::unexpected{system_error(errno, "rename \"" + path_.string() + "\"")};
    }
    file_ = {};
    SKIFF_TRY_VOID(open());
  }
  const ssize_t written = ::write(file_.get(), line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) {
    size_ += line.size();
    return {};
  }
  const int error = written < 0 ? errno : ENOSPC;
  if (written > 0) (void)::ftruncate(file_.get(), static_cast<off_t>(size_));
  return std::unexpected{system_error(error, "write to \"" + path_.string() + "\"")};
}

std::string audit_line(const AuditSubject& who, const AuditEntry& entry) {
  nlohmann::ordered_json value{{"time", rfc3339(wall_now())}};
  if (!who.sandbox.empty()) value["sandbox"] = who.sandbox;
  if (!who.id.empty()) value["id"] = who.id;
  if (!who.pod.empty()) value["pod"] = who.pod;
  value["verdict"] = entry.verdict;
  if (!entry.code.empty()) value["code"] = entry.code;
  if (!entry.connection.empty()) value["connection"] = entry.connection;
  if (!entry.generation.empty()) value["generation"] = entry.generation;
  if (!entry.host.empty()) {
    value["host"] = entry.host;
    value["port"] = entry.port;
  }
  if (!entry.address.empty()) value["address"] = entry.address;
  if (entry.request) {
    value["method"] = entry.request->method;
    value["path"] = entry.request->path;
    value["secret"] = entry.request->secret;
    if (entry.request->status != 0) value["status"] = entry.request->status;
  }
  if (!entry.detail.empty()) value["detail"] = entry.detail;
  if (!entry.rule.empty()) value["rule"] = entry.rule;
  if (entry.carried) {
    value["sent"] = entry.carried->sent;
    value["received"] = entry.carried->received;
    value["ms"] = entry.carried->took.count();
  }
  return value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

FileAudit::FileAudit(const std::filesystem::path& directory, std::string sandbox, std::uint64_t most)
    : who_{.sandbox = std::move(sandbox)},
      allowed_{directory / kAllowedFile, most},
      denied_{directory / kDeniedFile, most} {}

bool FileAudit::allow(const AuditEntry& entry) {
  return allowed_.append(audit_line(who_, entry)).has_value();
}

void FileAudit::deny(const AuditEntry& entry) {
  append_or_say(denied_, audit_line(who_, entry));
}

void FileAudit::end(const AuditEntry& entry) {
  append_or_say(allowed_, audit_line(who_, entry));
}

Result<std::string> read_audit(const std::filesystem::path& directory) {
  std::string lines;
  for (const std::string_view name : {FileAudit::kAllowedFile, FileAudit::kDeniedFile}) {
    const std::string newer = directory / name;
    for (const std::string& file : {newer + ".1", newer}) {
      std::error_code ignored;
      if (!std::filesystem::exists(file, ignored)) continue;
      SKIFF_TRY(const auto text, read_small_file(file, kLargestLog));
      lines += text;
    }
  }
  return lines;
}

}  // namespace skiff::container::egress
