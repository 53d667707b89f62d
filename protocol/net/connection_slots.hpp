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

/// The holder whose limits a connection counts against.
struct Holder {
  std::string who = {};   ///< a tenant or credential; empty: the source address
  std::string part = {};  ///< a part of the holder's connections: a key, the previews
  unsigned rank = 0;      ///< a higher rank may take slots that lower ones leave idle
  friend bool operator==(const Holder&, const Holder&) = default;
};

/// Limits of simultaneous connections.
struct SlotLimits {
  std::size_t authenticated = 10'000;  ///< authenticated connections
  std::size_t strangers = 64;          ///< additional slots for unauthenticated connections only
};
/// The descriptors that the connections of a server need beside their own.
enum class LeadTo : std::uint8_t {
  /// Each connection leads to another descriptor, as in a gateway. Connections may use half of the descriptors.
  another,
  /// Most connections need no further descriptor: those of an agent wait, or share a source with others. They may use
  /// all descriptors but 4,096. The agent's usual limits need that many: its 512 commands four each (three streams and
  /// the process), and its 1,024 connections another one if each leads to a port or a file. If half is more, they may
  /// use half: with few descriptors the rest matters more than the connections do.
  little,
};
/// Returns the limits for a process that may open `descriptors`; 200 of them are the process's own.
[[nodiscard]] SlotLimits slots_within(std::uint64_t descriptors, std::size_t most, LeadTo lead_to) noexcept;

/// The message for a client that finds no slot.
inline constexpr std::string_view kNoSlot =
    "all connections of this server are in use, and no other client has more than you: close some, or try again later";

/// Decides which connections a server keeps. A connection is a stranger until its client has shown a credential.
/// Authenticated connections take at most `authenticated` slots. Strangers take the free ones of these, and `strangers`
/// more that are theirs alone, so a health probe, or a client before its first request, always finds a slot. When all
/// slots are taken, the oldest stranger of the source with the most strangers is closed, regardless of its use.
///
/// One holder may have all slots that no other one needs. When none is left, the holder with the most gives a slot to
/// a holder with fewer: first a connection that waits for a request, then an upgraded one, then the newest one at work.
/// The same rule applies among the parts of one holder, and a connection that waits for a request gives its slot to
/// the holder's next one in any case. Reactor thread only.
class ConnectionSlots {
 public:
  explicit ConnectionSlots(SlotLimits limits) : most_strangers_{limits.strangers}, by_holder_{limits.authenticated} {}
  ConnectionSlots(const ConnectionSlots&) = delete;
  ConnectionSlots& operator=(const ConnectionSlots&) = delete;

  /// The slot of one connection, from accept to end; initially a stranger's.
  class Slot {
   public:
    /// `go` closes the connection, when another one needs the slot. It must not destroy the slot.
    Slot(ConnectionSlots& slots, const Address& peer, std::function<void()> go);
    ~Slot();
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

    /// Marks the connection as authenticated: it stays unless a holder with fewer slots needs its slot. Returns false
    /// if all slots are taken: the connection stays a stranger. Each request may name another holder.
    [[nodiscard]] bool mark_authenticated(Holder holder = {});
    [[nodiscard]] bool is_authenticated() const noexcept { return state_ == State::authenticated; }
    /// The holder of the slot; the source address before `mark_authenticated`.
    [[nodiscard]] const std::string& who() const noexcept { return holder_.who; }

    /// The current use of the connection.
    enum class Use : std::uint8_t { waits, upgraded, works };
    void now(Use use) noexcept;

   private:
    friend class ConnectionSlots;
    enum class State : std::uint8_t { stranger, authenticated, gone };
    ConnectionSlots& slots_;
    std::function<void()> go_;
    const std::string source_;
    Holder holder_;
    std::uint64_t number_;  ///< order of arrival
    std::list<Slot*>::iterator self_;
    Shares::Part share_;
    State state_ = State::stranger;
    Use use_ = Use::works;
  };

  [[nodiscard]] std::size_t authenticated() const noexcept { return by_holder_.used(); }
  [[nodiscard]] std::size_t strangers() const noexcept { return strangers_; }

  /// Closes the stranger whose turn it is; returns false when there is none.
  bool make_room();

 private:
  /// The slots of one part of a holder, by use; in each list the one that came to that use first is first.
  struct Part {
    std::array<std::list<Slot*>, 3> by_use;
    unsigned rank = 0;
    [[nodiscard]] std::size_t size() const noexcept { return by_use[0].size() + by_use[1].size() + by_use[2].size(); }
  };
  using Parts = std::map<std::string, Part>;

  void leave(Slot& stranger) noexcept;
  void enter(Slot& slot, const Holder& holder);
  void leave_holder(Slot& slot) noexcept;
  void end(Slot& slot);
  /// Returns the slot that `asking` may take; null: none.
  [[nodiscard]] Slot* who_makes_room(const Holder& asking);
  [[nodiscard]] static Slot* last_of(Part& part, Slot::Use most);

  const std::size_t most_strangers_;
  Shares by_holder_;
  std::map<std::string, Parts> holders_;
  std::size_t strangers_ = 0;
  std::uint64_t came_ = 0;
  std::map<std::string, std::list<Slot*>> by_source_;  ///< the strangers, in order of arrival
};

}  // namespace skiff::protocol
