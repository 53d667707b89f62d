#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <set>
#include <string>
#include <utility>

#include "base/event.hpp"
#include "base/task.hpp"

namespace skiff::container::serve {

/// What a permission hangs on. When it is gone, so is the permission, and what that has opened.
struct Giver {
  std::string key = {};      ///< digest of the API key; empty: none, as for an access token, which is the sandbox's
  std::string account = {};  ///< a service account's token; empty: none
};

/// All that is passed on now, so that it can be ended when what it hangs on is gone. Reactor thread only; it must
/// outlive its passages.
class Passages {
 public:
  explicit Passages(Executor executor) : begun_{executor} {}
  Passages(const Passages&) = delete;
  Passages& operator=(const Passages&) = delete;

  class Passage {
   public:
    /// `close` ends it, however far it has come; it is called once at most, and must not destroy this.
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

  /// Ends those whose giver is gone.
  void end_if(const std::function<bool(const Giver& giver)>& is_gone) {
    for (Passage* one : open_) {
      if (one->is_ended_ || !is_gone(one->giver_)) continue;
      one->is_ended_ = true;
      one->close_();
    }
  }
  /// The service accounts' tokens among them, each once.
  [[nodiscard]] std::set<std::string> accounts() const {
    std::set<std::string> all;
    for (const Passage* one : open_) {
      if (!one->giver_.account.empty()) all.insert(one->giver_.account);
    }
    return all;
  }
  /// Ends when there is one.
  [[nodiscard]] Task<> wait_for_one() {
    while (open_.empty()) co_await begun_.wait();
  }
  [[nodiscard]] std::size_t size() const noexcept { return open_.size(); }

 private:
  std::list<Passage*> open_;
  Event begun_;
};

}  // namespace skiff::container::serve
