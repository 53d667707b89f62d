#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <utility>

#include "protocol/net/address.hpp"

namespace skiff::protocol {

/// Who may be connected to a server. A connection is a stranger's until its client has shown a credential. Clients with
/// one take at most `most` places; strangers take what of these is free, and `kForStrangers` more that nobody else
/// gets, so a health probe, or a client on its way to its first request, always finds a place: when all are taken, the
/// stranger goes who came first among those of the source that has the most. What a stranger does meanwhile makes no
/// difference. Reactor thread only.
class Places {
 public:
  static constexpr std::size_t kForStrangers = 64;

  explicit Places(std::size_t most) noexcept : most_{most} {}
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

    /// The client has shown a credential: the connection stays for as long as it likes. False when clients with one
    /// have all of their places: it stays a stranger's.
    [[nodiscard]] bool vouch();
    [[nodiscard]] bool vouched() const noexcept { return state_ == State::vouched; }

   private:
    friend class Places;
    using Source = std::pair<int, std::uint64_t>;  ///< the family and what counts of the address
    enum class State : unsigned char { stranger, vouched, gone };
    Places& places_;
    std::function<void()> go_;
    Source source_;
    std::uint64_t number_;  ///< in the order of their coming
    std::list<Place*>::iterator self_;
    State state_ = State::stranger;
  };

  [[nodiscard]] std::size_t vouched() const noexcept { return vouched_; }
  [[nodiscard]] std::size_t strangers() const noexcept { return strangers_; }

  /// Closes the connection of the stranger whose turn it is; false when there is none.
  bool make_room();

 private:
  void leave(Place& stranger) noexcept;

  std::size_t most_;
  std::size_t vouched_ = 0;
  std::size_t strangers_ = 0;
  std::uint64_t came_ = 0;
  std::map<Place::Source, std::list<Place*>> by_source_;  ///< of the strangers, who came first is first
};

}  // namespace skiff::protocol
