#include "protocol/net/places.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace skiff::protocol {
namespace {

/// What a client can't choose of its address: all loopback addresses and Unix sockets are one source, and so is a
/// network of IPv6 that a host usually has to itself (/64).
std::pair<int, std::uint64_t> source_of(const Address& peer) noexcept {
  if (peer.is_loopback()) return {AF_UNIX, 0};
  if (peer.family() == AF_INET) {
    sockaddr_in address{};
    std::memcpy(&address, peer.data(), sizeof address);
    return {AF_INET, address.sin_addr.s_addr};
  }
  sockaddr_in6 address{};
  std::memcpy(&address, peer.data(), sizeof address);
  std::uint64_t network = 0;
  std::memcpy(&network, address.sin6_addr.s6_addr, sizeof network);
  return {AF_INET6, network};
}

}  // namespace

Places::Place::Place(Places& places, const Address& peer, std::function<void()> go)
    : places_{places}, go_{std::move(go)}, source_{source_of(peer)}, number_{places.came_++} {
  if (places.vouched_ + places.strangers_ >= places.most_ + kForStrangers) places.make_room();
  std::list<Place*> self{this};
  self_ = self.begin();
  std::list<Place*>& others = places.by_source_[source_];
  others.splice(others.end(), self);
  ++places.strangers_;
}

Places::Place::~Place() {
  if (state_ == State::stranger) places_.leave(*this);
  if (state_ == State::vouched) --places_.vouched_;
}

bool Places::Place::vouch() {
  if (state_ == State::vouched) return true;
  if (state_ == State::gone || places_.vouched_ >= places_.most_) return false;
  places_.leave(*this);
  ++places_.vouched_;
  state_ = State::vouched;
  return true;
}

bool Places::make_room() {
  if (by_source_.empty()) return false;
  const auto largest = std::ranges::max_element(by_source_, [](const auto& one, const auto& other) {
    if (one.second.size() != other.second.size()) return one.second.size() < other.second.size();
    return one.second.front()->number_ > other.second.front()->number_;
  });
  Place& first = *largest->second.front();
  leave(first);
  first.state_ = Place::State::gone;
  first.go_();
  return true;
}

void Places::leave(Place& stranger) noexcept {
  const auto source = by_source_.find(stranger.source_);
  source->second.erase(stranger.self_);
  if (source->second.empty()) by_source_.erase(source);
  --strangers_;
}

}  // namespace skiff::protocol
