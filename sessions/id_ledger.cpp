#include "sessions/id_ledger.hpp"

namespace skiff::sessions {

std::optional<std::string> IdLedger::find(const std::string& session, const std::string& id) {
  forget_old();
  const auto found = fingerprints_.find(key(session, id));
  if (found == fingerprints_.end()) return std::nullopt;
  return found->second;
}

void IdLedger::record(const std::string& session, const std::string& id, std::string fingerprint) {
  std::string name = key(session, id);
  fingerprints_.emplace(name, std::move(fingerprint));
  order_.emplace_back(std::chrono::steady_clock::now(), std::move(name));
  forget_old();
}

void IdLedger::forget_old() {
  const auto oldest = std::chrono::steady_clock::now() - keep_for_;
  while (!order_.empty() && (order_.size() > most_ || order_.front().first < oldest)) {
    fingerprints_.erase(order_.front().second);
    order_.pop_front();
  }
}

}  // namespace skiff::sessions
