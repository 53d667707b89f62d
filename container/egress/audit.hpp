#pragma once

#include <cstdint>
#include <filesystem>
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

/// One line of the audit log.
struct AuditEntry {
  std::string_view verdict;    ///< allowed, denied, cut
  std::string_view code = {};  ///< of a refusal
  std::string host = {};
  std::uint16_t port = 0;
  std::string address = {};  ///< the address that is connected to
  std::string detail = {};
};

/// The log of what a sandbox's proxy has allowed and refused: a JSON object a line. Refusals have a file of their own,
/// so they push nothing out that was allowed. It holds no bytes of the connections.
class Audit {
 public:
  /// Most bytes of each file; there are at most two of each kind.
  static constexpr std::uint64_t kMost = std::uint64_t{4} << 20U;
  static constexpr std::string_view kAllowedFile = "egress.log";
  static constexpr std::string_view kDeniedFile = "egress-denied.log";

  Audit(const std::filesystem::path& directory, std::string sandbox, std::uint64_t most = kMost);

  /// False if it could not be written: then it must not pass.
  [[nodiscard]] bool allow(const AuditEntry& entry);
  void deny(const AuditEntry& entry);

 private:
  [[nodiscard]] std::string line(const AuditEntry& entry) const;

  std::string sandbox_;
  BoundedLog allowed_;
  BoundedLog denied_;
};

}  // namespace skiff::container::egress
