#include "sessions/spawn/quick_starts.hpp"

namespace skiff::sessions {

bool QuickStarts::expects(const std::string& program) const {
  const auto found = quick_.find(program);
  return found != quick_.end() && std::chrono::steady_clock::now() - found->second < kLately;
}

void QuickStarts::note(const std::string& program, std::chrono::steady_clock::duration time) {
  if (time > kQuick) {
    quick_.erase(program);
    return;
  }
  if (quick_.size() >= kMost && !quick_.contains(program)) quick_.clear();
  quick_[program] = std::chrono::steady_clock::now();
}

}  // namespace skiff::sessions
