#include "container/egress/cluster/pod_audit.hpp"

namespace skiff::container::egress {

bool LineLimit::take() {
  const SteadyTime now = std::chrono::steady_clock::now();
  if (now - since_ > std::chrono::seconds{1}) {
    since_ = now;
    taken_ = 0;
  }
  return ++taken_ <= kMost;
}

bool PodAudit::allow(const AuditEntry& entry) {
  if (!sink_(audit_line(who_, entry))) return false;
  stats_->count(entry);
  return true;
}

void PodAudit::end(const AuditEntry& entry) {
  stats_->count(entry);
  (void)sink_(audit_line(who_, entry));
}

void PodAudit::deny(const AuditEntry& entry) {
  stats_->count(entry);
  if (denials_.take()) (void)sink_(audit_line(who_, entry));
}

}  // namespace skiff::container::egress
