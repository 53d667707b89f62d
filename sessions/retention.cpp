#include "sessions/retention.hpp"

namespace skiff::sessions {

Retention::Retention(Executor executor, std::size_t most, std::chrono::milliseconds keep_for)
    : most_{most}, keep_for_{keep_for}, next_{executor, [this] { prune(); }} {}

void Retention::add(Forget forget) {
  ended_.emplace_back(std::chrono::steady_clock::now() + keep_for_, std::move(forget));
  prune();
}

void Retention::prune() {
  const auto now = std::chrono::steady_clock::now();
  while (!ended_.empty() && (ended_.size() > most_ || ended_.front().first <= now)) {
    Forget forget = std::move(ended_.front().second);
    ended_.pop_front();
    forget();
  }
  if (!ended_.empty()) {
    next_.expires_after(std::chrono::ceil<std::chrono::milliseconds>(ended_.front().first - now));
  }
}

}  // namespace skiff::sessions
