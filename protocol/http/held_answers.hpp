#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <utility>

namespace skiff::protocol {

/// The answers that are in memory as a whole and wait for their clients to take them: those that the socket did not
/// take at once. Each may be as large as answers can be, and clients that read nothing can ask for any number of them.
/// So together they have a bound, and when it is reached the one that waits longest is cut off. Reactor thread only.
class HeldAnswers {
 public:
  /// Up to here an answer is not worth to be counted, nor its client's trouble.
  static constexpr std::size_t kFree = std::size_t{64} << 10U;

  explicit HeldAnswers(std::size_t most) : most_{most} {}
  HeldAnswers(const HeldAnswers&) = delete;
  HeldAnswers& operator=(const HeldAnswers&) = delete;

  /// One of them, as long as it waits. The answers must outlive it.
  class Held {
   public:
    /// `cut_off` is called once if others need its room; it must not destroy a `Held`.
    Held(HeldAnswers& of, std::size_t bytes, std::function<void()> cut_off)
        : of_{of}, bytes_{bytes}, cut_off_{std::move(cut_off)}, place_{of.held_.insert(of.held_.end(), this)} {
      of_.bytes_ += bytes_;
      while (of_.bytes_ > of_.most_ && of_.held_.front() != this) of_.held_.front()->make_room();
    }
    ~Held() { leave(); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    void leave() noexcept {
      if (!std::exchange(waits_, false)) return;
      of_.bytes_ -= bytes_;
      of_.held_.erase(place_);
    }
    void make_room() {
      leave();
      cut_off_();
    }

    HeldAnswers& of_;
    std::size_t bytes_;
    std::function<void()> cut_off_;
    std::list<Held*>::iterator place_;
    bool waits_ = true;
  };

 private:
  const std::size_t most_;
  std::size_t bytes_ = 0;
  std::list<Held*> held_;  ///< the longest first
};

}  // namespace skiff::protocol
