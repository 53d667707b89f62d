#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "container/egress/audit.hpp"

namespace skiff::container::egress {

/// Writes a line whole; false if it could not.
using LineSink = std::function<bool(std::string_view line)>;

/// At most so many lines of a kind in a second.
class LineLimit {
 public:
  static constexpr std::size_t kMost = 20;
  [[nodiscard]] bool take();

 private:
  SteadyTime since_{};
  std::size_t taken_ = 0;
};

/// The log of a Pod, as lines of the proxy's own output. The cluster keeps little of that, so a sandbox cannot push out
/// what it was allowed by what it is refused: beyond `LineLimit` a refusal has no line.
class PodAudit final : public Audit {
 public:
  PodAudit(AuditSubject who, LineSink sink) : who_{std::move(who)}, sink_{std::move(sink)} {}

  [[nodiscard]] bool allow(const AuditEntry& entry) override { return sink_(audit_line(who_, entry)); }
  void deny(const AuditEntry& entry) override;
  void end(const AuditEntry& entry) override { (void)sink_(audit_line(who_, entry)); }

 private:
  AuditSubject who_;
  LineSink sink_;
  LineLimit denials_;
};

}  // namespace skiff::container::egress
