#include "protocol/net/connection_slots.hpp"

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

SlotLimits slots_within(std::uint64_t descriptors, std::size_t most, LeadTo lead_to) noexcept {
  constexpr std::uint64_t kLeast = 16;
  constexpr std::uint64_t kOwn = 200;
  constexpr std::uint64_t kForCommandsAndFiles = 4'096;
  const std::uint64_t left = descriptors - std::min(descriptors, kOwn);
  std::uint64_t room = std::max(kLeast, left / 2);
  if (lead_to == LeadTo::little) room = std::max(room, left - std::min(left, kForCommandsAndFiles));
  const std::uint64_t strangers = std::max(kLeast, descriptors / 8);
  return {.authenticated = static_cast<std::size_t>(std::min<std::uint64_t>(most, room)),
          .strangers = static_cast<std::size_t>(std::min<std::uint64_t>(SlotLimits{}.strangers, strangers))};
}

ConnectionSlots::Slot::Slot(ConnectionSlots& slots, const Address& peer, std::function<void()> go)
    : slots_{slots}, go_{std::move(go)}, source_{source_of(peer)}, holder_{.who = source_}, number_{slots.came_++} {
  if (slots.authenticated() + slots.strangers_ >= slots.by_holder_.most() + slots.most_strangers_) slots.make_room();
  std::list<Slot*> self{this};
  self_ = self.begin();
  std::list<Slot*>& others = slots.by_source_[source_];
  others.splice(others.end(), self);
  ++slots.strangers_;
}

ConnectionSlots::Slot::~Slot() {
  if (state_ == State::stranger) slots_.leave(*this);
  if (state_ == State::authenticated) slots_.leave_holder(*this);
}

bool ConnectionSlots::Slot::mark_authenticated(Holder holder) {
  if (state_ == State::gone) return false;
  if (holder.who.empty()) holder.who = source_;
  if (state_ == State::authenticated) {
    if (holder == holder_) return true;
    slots_.leave_holder(*this);
  } else {
    Slot* const other = slots_.authenticated() < slots_.by_holder_.most() ? nullptr : slots_.who_makes_room(holder);
    if (other == nullptr && slots_.authenticated() >= slots_.by_holder_.most()) return false;
    if (other != nullptr) slots_.end(*other);
    slots_.leave(*this);
  }
  state_ = State::gone;  // valid if the next line runs out of memory
  slots_.enter(*this, holder);
  state_ = State::authenticated;
  return true;
}

void ConnectionSlots::Slot::now(Use use) noexcept {
  if (use == use_) return;
  if (state_ == State::authenticated) {
    Part& part = slots_.holders_.find(holder_.who)->second.find(holder_.part)->second;
    auto& to = part.by_use.at(static_cast<std::size_t>(use));
    to.splice(to.end(), part.by_use.at(static_cast<std::size_t>(use_)), self_);
  }
  use_ = use;
}

void ConnectionSlots::enter(Slot& slot, const Holder& holder) {
  slot.holder_ = holder;
  slot.share_ = Shares::Part{by_holder_, holder.who};
  Part& part = holders_[holder.who][holder.part];
  part.rank = std::max(part.rank, holder.rank);
  auto& slots = part.by_use.at(static_cast<std::size_t>(slot.use_));
  slot.self_ = slots.insert(slots.end(), &slot);
}

void ConnectionSlots::leave_holder(Slot& slot) noexcept {
  const auto holder = holders_.find(slot.holder_.who);
  const auto part = holder->second.find(slot.holder_.part);
  part->second.by_use.at(static_cast<std::size_t>(slot.use_)).erase(slot.self_);
  if (part->second.size() == 0) holder->second.erase(part);
  if (holder->second.empty()) holders_.erase(holder);
  slot.share_.set(0);
}

void ConnectionSlots::end(Slot& slot) {
  leave_holder(slot);
  slot.state_ = Slot::State::gone;
  slot.go_();
}

/// Returns the connection that has waited longest; if none waits, the newest one of the uses up to `most`.
ConnectionSlots::Slot* ConnectionSlots::last_of(Part& part, Slot::Use most) {
  if (!part.by_use.front().empty()) return part.by_use.front().front();
  for (std::size_t use = 1; use <= static_cast<std::size_t>(most); ++use) {
    if (!part.by_use.at(use).empty()) return part.by_use.at(use).back();
  }
  return nullptr;
}

ConnectionSlots::Slot* ConnectionSlots::who_makes_room(const Holder& asking) {
  const auto largest_of = [](Parts& parts) {
    return std::ranges::max_element(parts, {}, [](const auto& one) { return one.second.size(); });
  };
  // With a difference of one, the two holders would take the slot from each other again and again.
  const auto use = [](std::size_t most, std::size_t own) {
    return most > own + 1 ? Slot::Use::works : Slot::Use::waits;
  };
  const std::string& most = *by_holder_.who_has_most();
  const std::size_t own = by_holder_.of(asking.who);
  if (by_holder_.of(most) > own) {
    Part& part = largest_of(holders_[most])->second;
    if (Slot* const found = last_of(part, use(by_holder_.of(most), own))) return found;
  }
  if (const auto mine = holders_.find(asking.who); mine != holders_.end()) {
    const auto part = mine->second.find(asking.part);
    const std::size_t of_part = part == mine->second.end() ? 0 : part->second.size();
    const auto largest = largest_of(mine->second);
    if (largest->second.size() > of_part) {
      if (Slot* const found = last_of(largest->second, use(largest->second.size(), of_part))) return found;
    }
    if (of_part > 0) {
      if (Slot* const found = last_of(part->second, Slot::Use::waits)) return found;
    }
  }
  for (auto& [who, parts] : holders_) {
    for (auto& [name, part] : parts) {
      if (part.rank >= asking.rank) continue;
      if (Slot* const found = last_of(part, Slot::Use::upgraded)) return found;
    }
  }
  return nullptr;
}

bool ConnectionSlots::make_room() {
  if (by_source_.empty()) return false;
  const auto largest = std::ranges::max_element(by_source_, [](const auto& one, const auto& other) {
    if (one.second.size() != other.second.size()) return one.second.size() < other.second.size();
    return one.second.front()->number_ > other.second.front()->number_;
  });
  Slot& first = *largest->second.front();
  leave(first);
  first.state_ = Slot::State::gone;
  first.go_();
  return true;
}

void ConnectionSlots::leave(Slot& stranger) noexcept {
  const auto source = by_source_.find(stranger.source_);
  source->second.erase(stranger.self_);
  if (source->second.empty()) by_source_.erase(source);
  --strangers_;
}

}  // namespace skiff::protocol
