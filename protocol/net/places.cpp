#include "protocol/net/places.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace skiff::protocol {
namespace {

/// Returns the part of a client's address that the client cannot choose: all loopback addresses and Unix sockets are
/// one source, and so is a /64 of IPv6, which usually belongs to one host.
std::string source_of(const Address& peer) {
  if (peer.is_loopback()) return "local";
  if (peer.family() == AF_INET) return peer.host();
  sockaddr_in6 address{};
  std::memcpy(&address, peer.data(), sizeof address);
  return "net " + std::string{reinterpret_cast<const char*>(address.sin6_addr.s6_addr), sizeof(std::uint64_t)};
}

}  // namespace

PlaceLimits places_within(std::uint64_t descriptors, std::size_t most, LeadTo lead_to) noexcept {
  constexpr std::uint64_t kLeast = 16;
  constexpr std::uint64_t kOwn = 200;
  constexpr std::uint64_t kForCommandsAndFiles = 4'096;
  const std::uint64_t left = descriptors - std::min(descriptors, kOwn);
  std::uint64_t room = std::max(kLeast, left / 2);
  if (lead_to == LeadTo::little) room = std::max(room, left - std::min(left, kForCommandsAndFiles));
  const std::uint64_t strangers = std::max(kLeast, descriptors / 8);
  return {.vouched_for = static_cast<std::size_t>(std::min<std::uint64_t>(most, room)),
          .strangers = static_cast<std::size_t>(std::min<std::uint64_t>(PlaceLimits{}.strangers, strangers))};
}

Places::Place::Place(Places& places, const Address& peer, std::function<void()> go)
    : places_{places}, go_{std::move(go)}, source_{source_of(peer)}, holder_{.who = source_}, number_{places.came_++} {
  if (places.vouched() + places.strangers_ >= places.by_holder_.most() + places.most_strangers_) places.make_room();
  std::list<Place*> self{this};
  self_ = self.begin();
  std::list<Place*>& others = places.by_source_[source_];
  others.splice(others.end(), self);
  ++places.strangers_;
}

Places::Place::~Place() {
  if (state_ == State::stranger) places_.leave(*this);
  if (state_ == State::vouched) places_.leave_holder(*this);
}

bool Places::Place::vouch(Holder holder) {
  if (state_ == State::gone) return false;
  if (holder.who.empty()) holder.who = source_;
  if (state_ == State::vouched) {
    if (holder == holder_) return true;
    places_.leave_holder(*this);
  } else {
    Place* const other = places_.vouched() < places_.by_holder_.most() ? nullptr : places_.who_makes_room(holder);
    if (other == nullptr && places_.vouched() >= places_.by_holder_.most()) return false;
    if (other != nullptr) places_.end(*other);
    places_.leave(*this);
  }
  state_ = State::gone;  // valid if the next line runs out of memory
  places_.enter(*this, holder);
  state_ = State::vouched;
  return true;
}

void Places::Place::now(Use use) noexcept {
  if (use == use_) return;
  if (state_ == State::vouched) {
    Part& part = places_.holders_.find(holder_.who)->second.find(holder_.part)->second;
    auto& to = part.by_use.at(static_cast<std::size_t>(use));
    to.splice(to.end(), part.by_use.at(static_cast<std::size_t>(use_)), self_);
  }
  use_ = use;
}

void Places::enter(Place& place, const Holder& holder) {
  place.holder_ = holder;
  place.share_ = Shares::Part{by_holder_, holder.who};
  Part& part = holders_[holder.who][holder.part];
  part.rank = std::max(part.rank, holder.rank);
  auto& places = part.by_use.at(static_cast<std::size_t>(place.use_));
  place.self_ = places.insert(places.end(), &place);
}

void Places::leave_holder(Place& place) noexcept {
  const auto holder = holders_.find(place.holder_.who);
  const auto part = holder->second.find(place.holder_.part);
  part->second.by_use.at(static_cast<std::size_t>(place.use_)).erase(place.self_);
  if (part->second.size() == 0) holder->second.erase(part);
  if (holder->second.empty()) holders_.erase(holder);
  place.share_.set(0);
}

void Places::end(Place& place) {
  leave_holder(place);
  place.state_ = Place::State::gone;
  place.go_();
}

/// Returns the connection that has waited longest; if none waits, the newest one of the uses up to `most`.
Places::Place* Places::last_of(Part& part, Place::Use most) {
  if (!part.by_use.front().empty()) return part.by_use.front().front();
  for (std::size_t use = 1; use <= static_cast<std::size_t>(most); ++use) {
    if (!part.by_use.at(use).empty()) return part.by_use.at(use).back();
  }
  return nullptr;
}

Places::Place* Places::who_makes_room(const Holder& asking) {
  const auto largest_of = [](Parts& parts) {
    return std::ranges::max_element(parts, {}, [](const auto& one) { return one.second.size(); });
  };
  // With a difference of one, the two holders would take the place from each other again and again.
  const auto use = [](std::size_t most, std::size_t own) {
    return most > own + 1 ? Place::Use::works : Place::Use::waits;
  };
  const std::string& most = *by_holder_.who_has_most();
  const std::size_t own = by_holder_.of(asking.who);
  if (by_holder_.of(most) > own) {
    Part& part = largest_of(holders_[most])->second;
    if (Place* const found = last_of(part, use(by_holder_.of(most), own))) return found;
  }
  if (const auto mine = holders_.find(asking.who); mine != holders_.end()) {
    const auto part = mine->second.find(asking.part);
    const std::size_t of_part = part == mine->second.end() ? 0 : part->second.size();
    const auto largest = largest_of(mine->second);
    if (largest->second.size() > of_part) {
      if (Place* const found = last_of(largest->second, use(largest->second.size(), of_part))) return found;
    }
    if (of_part > 0) {
      if (Place* const found = last_of(part->second, Place::Use::waits)) return found;
    }
  }
  for (auto& [who, parts] : holders_) {
    for (auto& [name, part] : parts) {
      if (part.rank >= asking.rank) continue;
      if (Place* const found = last_of(part, Place::Use::upgraded)) return found;
    }
  }
  return nullptr;
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
