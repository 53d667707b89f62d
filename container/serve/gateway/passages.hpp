#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <set>
#include <string>
#include <utility>

#include "base/async/event.hpp"
#include "base/async/task.hpp"

namespace skiff::container::serve {

/// The credential on which a permission depends. When it is gone, the permission and its connections end.
struct Giver {
  std::string key = {};  ///< digest of the API key; empty: none, as for an access token, which belongs to the sandbox
  std::string account = {};  ///< a service account's token; empty: none
};

/// All requests that are passed on now, so that they can be ended when their giver is gone. Reactor thread only; it
/// must outlive its passages.
class Passages {
 public:
  explicit Passages(Executor executor) : begun_{executor} {}
  Passages(const Passages&) = delete;
  Passages& operator=(const Passages&) = delete;

  class Passage {
   public:
    /// `close` ends the request at any stage; it is called at most once, and must not destroy this object.
    Passage(Passages* all, Giver giver, std::function<void()> close)
        : all_{all}, giver_{std::move(giver)}, close_{std::move(close)} {
      all_->open_.push_front(this);
      at_ = all_->open_.begin();
      all_->begun_.notify_all();
    }
    ~Passage() { all_->open_.erase(at_); }
    Passage(const Passage&) = delete;
    Passage& operator=(const Passage&) = delete;

    [[nodiscard]] bool is_ended() const noexcept { return is_ended_; }

   private:
    friend class Passages;
    Passages* all_;
    Giver giver_;
    std::function<void()> close_;
    std::list<Passage*>::iterator at_;
    bool is_ended_ = false;
  };

  /// Ends the passages whose giver is gone.
  void end_if(const std::function<bool(const Giver& giver)>& is_gone) {
    for (Passage* one : open_) {
      if (one->is_ended_ || !is_gone(one->giver_)) continue;
      one->is_ended_ = true;
      one->close_();
    }
  }
  /// The service accounts' tokens among the givers, each once.
  [[nodiscard]] std::set<std::string> accounts() const {
    std::set<std::string> all;
    for (const Passage* one : open_) {
      if (!one->giver_.account.empty()) all.insert(one->giver_.account);
    }
    return all;
  }
  /// Waits until there is a passage.
  [[nodiscard]] Task<> wait_for_one() {
    while (open_.empty()) co_await begun_.wait();
  }
  [[nodiscard]] std::size_t size() const noexcept { return open_.size(); }

 private:
  std::list<Passage*> open_;
  Event begun_;
};

}  // namespace skiff::container::serve
