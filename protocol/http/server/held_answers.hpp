#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <utility>

#include "base/shares.hpp"

namespace skiff::protocol {

/// The whole responses in memory that wait for their clients, because the socket did not take them at once. Each may be
/// as large as a response can be, and clients that read nothing can ask for any number of them. So their sum has a
/// limit. When it is reached, the holder with the most loses the response that has waited longest. Reactor thread only.
class HeldAnswers {
 public:
  /// Responses up to this size are neither counted nor cut off.
  static constexpr std::size_t kFree = std::size_t{64} << 10U;

  explicit HeldAnswers(std::size_t most) : by_holder_{most} {}
  HeldAnswers(const HeldAnswers&) = delete;
  HeldAnswers& operator=(const HeldAnswers&) = delete;

  /// One response, while it waits. The HeldAnswers must outlive it.
  class Held {
   public:
    /// `cut_off` is called once if others need its room; it must not destroy a `Held`.
    Held(HeldAnswers& of, const std::string& who, std::size_t bytes, std::function<void()> cut_off)
        : of_{of}, who_{who}, cut_off_{std::move(cut_off)}, part_{of.by_holder_, who, bytes} {
      std::list<Held*>& mine = of_.held_[who_];
      place_ = mine.insert(mine.end(), this);
      while (of_.by_holder_.used() > of_.by_holder_.most()) {
        Held& next = *of_.held_[*of_.by_holder_.who_has_most()].front();
        if (&next == this) break;
        next.make_room();
      }
    }
    ~Held() { leave(); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    void leave() noexcept {
      if (!std::exchange(waits_, false)) return;
      part_.set(0);
      const auto mine = of_.held_.find(who_);
      mine->second.erase(place_);
      if (mine->second.empty()) of_.held_.erase(mine);
    }
    void make_room() {
      leave();
      cut_off_();
    }

    HeldAnswers& of_;
    const std::string who_;
    std::function<void()> cut_off_;
    Shares::Part part_;
    std::list<Held*>::iterator place_;
    bool waits_ = true;
  };

 private:
  Shares by_holder_;
  std::map<std::string, std::list<Held*>> held_;  ///< by holder, the longest wait first
};

}  // namespace skiff::protocol
