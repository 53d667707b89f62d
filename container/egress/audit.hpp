#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace skiff::container::egress {

/// A file of lines that keeps the newest: when it has `most` bytes it becomes FILE.1, in place of an older one.
class BoundedLog {
 public:
  BoundedLog(std::filesystem::path file, std::uint64_t most) : path_{std::move(file)}, most_{most} {}

  /// Appends a line whole, or not at all. Errors: those of open(2) and write(2).
  [[nodiscard]] Result<> append(std::string_view line);

 private:
  [[nodiscard]] Result<> open();

  std::filesystem::path path_;
  std::uint64_t most_;
  UniqueFd file_;
  std::uint64_t size_ = 0;
};

/// The bytes and the time of a connection that has ended.
struct Carried {
  std::uint64_t sent = 0;  ///< to the server
  std::uint64_t received = 0;
  std::chrono::milliseconds took{0};
};

/// A request of which the proxy sees more than the host, because it ends the TLS.
struct AuditRequest {
  std::string method;
  std::string path;    ///< without the query
  std::string secret;  ///< the name of the secret that it gets
  unsigned status = 0;
};

/// The verdicts of lines.
namespace verdict {
inline constexpr std::string_view kAllowed = "allowed";
inline constexpr std::string_view kDenied = "denied";
inline constexpr std::string_view kCut = "cut";
inline constexpr std::string_view kEnded = "ended";
}  // namespace verdict

/// One line of the audit log. A connection that passes has two lines: `allowed`, and at its end `ended`, `cut` or
/// `denied`.
struct AuditEntry {
  std::string_view verdict;
  std::string_view code = {};   ///< of a refusal
  std::string connection = {};  ///< the id that its lines have in common
  std::string generation = {};  ///< of the rules in force
  std::string host = {};
  std::uint16_t port = 0;
  std::string address = {};  ///< the address that is connected to
  std::string detail = {};
  std::string rule = {};  ///< of a refusal: it would allow it
  std::optional<Carried> carried = {};
  std::optional<AuditRequest> request = {};
};

/// The sandbox that a line is about.
struct AuditSubject {
  std::string sandbox;   ///< its name
  std::string id = {};   ///< of a Pod's: the sandbox id
  std::string pod = {};  ///< of a Pod's
};

/// A line of the log: a JSON object, with the end of the line. It holds no bytes of the connections.
[[nodiscard]] std::string audit_line(const AuditSubject& who, const AuditEntry& entry);

/// The log of what a sandbox's proxy has allowed and refused.
class Audit {
 public:
  virtual ~Audit() = default;

  /// False if it could not be written: then it must not pass.
  [[nodiscard]] virtual bool allow(const AuditEntry& entry) = 0;
  virtual void deny(const AuditEntry& entry) = 0;
  /// The end of a connection that was allowed.
  virtual void end(const AuditEntry& entry) = 0;
};

/// The log as files. Refusals have a file of their own, so they push nothing out that was allowed.
class FileAudit final : public Audit {
 public:
  /// Most bytes of each file; there are at most two of each kind.
  static constexpr std::uint64_t kMost = std::uint64_t{4} << 20U;
  static constexpr std::string_view kAllowedFile = "egress.log";
  static constexpr std::string_view kDeniedFile = "egress-denied.log";

  FileAudit(const std::filesystem::path& directory, std::string sandbox, std::uint64_t most = kMost);

  [[nodiscard]] bool allow(const AuditEntry& entry) override;
  void deny(const AuditEntry& entry) override;
  void end(const AuditEntry& entry) override;

 private:
  AuditSubject who_;
  BoundedLog allowed_;
  BoundedLog denied_;
};

/// The lines in those files, and in the older ones beside them.
[[nodiscard]] Result<std::string> read_audit(const std::filesystem::path& directory);

}  // namespace skiff::container::egress
