#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/shares.hpp"
#include "protocol/net/address.hpp"

namespace skiff::protocol {

/// Whose limits a connection uses up.
struct Holder {
  std::string who = {};   ///< a tenant, a credential; empty: the address that it comes from
  std::string part = {};  ///< what of his: a key, the previews
  unsigned rank = 0;      ///< a higher one may take what lower ones leave idle
  friend bool operator==(const Holder&, const Holder&) = default;
};

/// How many may be connected.
struct PlaceLimits {
  std::size_t vouched_for = 10'000;  ///< that have shown a credential
  std::size_t strangers = 64;        ///< beside them, whom nobody else's connections keep out
};
/// What the connections of a server need beside their own descriptors.
enum class LeadTo : std::uint8_t {
  /// Each leads to something that has one, too: those of a gateway. They may have half.
  another,
  /// Most lead to nothing that has one: those of an agent wait, or read what others read, too. They may have all but
  /// 4,096. The agent's usual limits need that many beside them: its 512 commands four each (three streams and the
  /// process), and its 1,024 connections another one if each of them leads to a port or a file. Where half is more,
  /// they have half: with few descriptors the rest matters more than the connections do.
  little,
};
/// As many as there is room for in a process that may have so many descriptors open. 200 are the process's own.
[[nodiscard]] PlaceLimits places_within(std::uint64_t descriptors, std::size_t most, LeadTo lead_to) noexcept;

/// What is told whoever finds no place.
inline constexpr std::string_view kNoPlace =
    "all connections that this server takes are in use, and nobody has more of them than you: close some, or try again "
    "later";

/// Who may be connected to a server. A connection is a stranger's until its client has shown a credential. Clients with
/// one take at most `vouched_for` places; strangers take what of these is free, and `strangers` more that nobody else
/// gets, so a health probe, or a client on its way to its first request, always finds a place: when all are taken, the
/// stranger goes who came first among those of the source that has the most. What a stranger does meanwhile makes no
/// difference.
///
/// One holder may have all places that nobody else wants. When there is none left, whoever has the most makes room for
/// whoever has fewer: first by what waits for a request, then by what was upgraded, then by what is at work, the last
/// that came. Within a holder's own the same goes for his parts, and what waits for a request makes room for the next
/// one in any case. Reactor thread only.
class Places {
 public:
  explicit Places(PlaceLimits limits) : most_strangers_{limits.strangers}, by_holder_{limits.vouched_for} {}
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  /// One connection's place, from its accept to its end. A stranger's at first.
  class Place {
   public:
    /// `go` closes the connection, when another one needs the place. It must not destroy the place.
    Place(Places& places, const Address& peer, std::function<void()> go);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    /// The client has shown a credential: the connection stays for as long as it likes, and nobody with fewer wants
    /// its place. False if all slots are taken: the connection stays a stranger's. Each request may be another
    /// holder's.
    [[nodiscard]] bool vouch(Holder holder = {});
    [[nodiscard]] bool vouched() const noexcept { return state_ == State::vouched; }
    /// Whose it is; its source's until it is vouched for.
    [[nodiscard]] const std::string& who() const noexcept { return holder_.who; }

    /// What goes on in it.
    enum class Use : std::uint8_t { waits, upgraded, works };
    void now(Use use) noexcept;

   private:
    friend class Places;
    enum class State : std::uint8_t { stranger, vouched, gone };
    Places& places_;
    std::function<void()> go_;
    const std::string source_;
    Holder holder_;
    std::uint64_t number_;  ///< in the order of their coming
    std::list<Place*>::iterator self_;
    Shares::Part share_;
    State state_ = State::stranger;
    Use use_ = Use::works;
  };

  [[nodiscard]] std::size_t vouched() const noexcept { return by_holder_.used(); }
  [[nodiscard]] std::size_t strangers() const noexcept { return strangers_; }

  /// Closes the connection of the stranger whose turn it is; false when there is none.
  bool make_room();

 private:
  /// What of a holder's, by what goes on in it; who came to that first is first.
  struct Part {
    std::array<std::list<Place*>, 3> by_use;
    unsigned rank = 0;
    [[nodiscard]] std::size_t size() const noexcept { return by_use[0].size() + by_use[1].size() + by_use[2].size(); }
  };
  using Parts = std::map<std::string, Part>;

  void leave(Place& stranger) noexcept;
  void enter(Place& place, const Holder& holder);
  void leave_holder(Place& place) noexcept;
  void end(Place& place);
  /// Whose place somebody else may have; null: nobody's.
  [[nodiscard]] Place* who_makes_room(const Holder& asking);
  [[nodiscard]] static Place* last_of(Part& part, Place::Use most);

  const std::size_t most_strangers_;
  Shares by_holder_;
  std::map<std::string, Parts> holders_;
  std::size_t strangers_ = 0;
  std::uint64_t came_ = 0;
  std::map<std::string, std::list<Place*>> by_source_;  ///< of the strangers, who came first is first
};

}  // namespace skiff::protocol
