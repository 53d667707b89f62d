#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "container/egress/audit.hpp"
#include "container/egress/cluster/proxy_stats.hpp"

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
  /// `stats` counts all entries, and outlives this.
  PodAudit(AuditSubject who, LineSink sink, ProxyStats* stats)
      : who_{std::move(who)}, sink_{std::move(sink)}, stats_{stats} {}

  [[nodiscard]] bool allow(const AuditEntry& entry) override;
  void deny(const AuditEntry& entry) override;
  void end(const AuditEntry& entry) override;

 private:
  AuditSubject who_;
  LineSink sink_;
  ProxyStats* stats_;
  LineLimit denials_;
};

}  // namespace skiff::container::egress
