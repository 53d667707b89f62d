#include "container/serve/gateway/kept_connections.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace skiff::container::serve {

KeptConnections::KeptConnections(Executor executor, KeptLimits limits)
    : limits_{limits}, next_look_{executor, [this] { close_old(); }} {}

bool KeptConnections::is_old(const Idle& one, SteadyTime now) const noexcept {
  return now - one.since >= limits_.idle || now - one.connection.made >= limits_.age;
}

std::optional<KeptConnections::Connection> KeptConnections::take(const Key& key) {
  const SteadyTime now = std::chrono::steady_clock::now();
  for (auto at = idle_.end(); at != idle_.begin();) {
    --at;
    if (at->key != key) continue;
    Idle found = std::move(*at);
    at = idle_.erase(at);
    if (is_old(found, now)) continue;
    // This read notices a closed connection, and unexpected bytes, which would be taken for the next answer.
    std::array<char, 1> probe{};
    if (!found.connection.stream.try_read(probe)) return std::move(found.connection);
  }
  return std::nullopt;
}

void KeptConnections::keep(Key key, Connection connection) {
  const SteadyTime now = std::chrono::steady_clock::now();
  Idle one{.key = std::move(key), .connection = std::move(connection), .since = now};
  if (!one.connection.stream.is_open() || one.connection.stream.is_tls() || is_old(one, now)) return;
  const auto is_there = [&one](const Idle& other) { return other.key == one.key; };
  if (static_cast<std::size_t>(std::ranges::count_if(idle_, is_there)) >= limits_.each) return;
  if (idle_.size() >= limits_.all && !idle_.empty()) idle_.pop_front();
  if (limits_.all == 0) return;
  if (idle_.empty()) next_look_.expires_after(limits_.idle);
  idle_.push_back(std::move(one));
}

void KeptConnections::close_old() {
  const SteadyTime now = std::chrono::steady_clock::now();
  std::erase_if(idle_, [&](const Idle& one) { return is_old(one, now); });
  if (!idle_.empty()) next_look_.expires_after(limits_.idle);
}

}  // namespace skiff::container::serve
