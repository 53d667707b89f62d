#include "runtime/dialects/kubebox/waiting_streams.hpp"

#include <algorithm>
#include <utility>

namespace skiff::runtime::dialects::kubebox {

WaitingStreams::WaitingStreams(Executor executor) : found_dead{executor}, expiry_{executor, [this] { drop_old(); }} {}

void WaitingStreams::add(std::shared_ptr<OutputStream> stream, std::optional<Connection> of) {
  if (entries_.size() >= kMost) entries_.pop_front();
  entries_.push_back({std::move(stream), std::move(of), std::chrono::steady_clock::now() + kPatience});
  if (entries_.size() == 1) expiry_.expires_after(kPatience);
}

std::shared_ptr<OutputStream> WaitingStreams::take(const sessions::Command& command) {
  const auto found =
      std::ranges::find_if(entries_, [&](const Entry& one) { return one.stream->command.get() == &command; });
  if (found == entries_.end()) return nullptr;
  auto stream = std::move(found->stream);
  entries_.erase(found);
  return stream;
}

std::vector<std::shared_ptr<OutputStream>> WaitingStreams::take_for(const Connection& connection) {
  std::vector<std::shared_ptr<OutputStream>> streams;
  std::erase_if(entries_, [&](Entry& one) {
    const bool is_theirs = one.of && one.of->host == connection.host && one.of->number < connection.number;
    if (is_theirs) streams.push_back(std::move(one.stream));
    return is_theirs;
  });
  return streams;
}

void WaitingStreams::drop_old() {
  const SteadyTime now = std::chrono::steady_clock::now();
  std::erase_if(entries_, [now](const Entry& one) { return one.until <= now; });
  if (entries_.empty()) return;
  expiry_.expires_after(std::chrono::ceil<std::chrono::milliseconds>(entries_.front().until - now));
}

}  // namespace skiff::runtime::dialects::kubebox
