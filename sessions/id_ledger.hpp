#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/clock.hpp"

namespace skiff::sessions {

/// Remembers the command ids that clients have used, with the fingerprints of their requests, so that a repeated
/// request starts nothing twice. It keeps ids for `keep_for`, at most `most` of them, and forgets the oldest first. It
/// lasts for one agent instance. Reactor thread only.
class IdLedger {
 public:
  IdLedger(std::size_t most, std::chrono::milliseconds keep_for) : most_{most}, keep_for_{keep_for} {}

  /// The fingerprint recorded for `id` of `session`, if it is remembered.
  [[nodiscard]] std::optional<std::string> find(const std::string& session, const std::string& id);
  void record(const std::string& session, const std::string& id, std::string fingerprint);

 private:
  [[nodiscard]] static std::string key(const std::string& session, const std::string& id) { return session + '/' + id; }
  void forget_old();

  std::size_t most_;
  std::chrono::milliseconds keep_for_;
  std::unordered_map<std::string, std::string> fingerprints_;
  std::deque<std::pair<SteadyTime, std::string>> order_;
};

}  // namespace skiff::sessions
