#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace skiff {

/// A limit that holders share (tenants, credentials, source addresses), and the amount that each of them has. It
/// refuses nothing by itself; its callers apply one of two rules. `leaves_room`: a holder has at most as much as the
/// others leave free, half of all when it is alone, so others find room until all is used. `who_has_most`: a holder may
/// have all that no other one wants, and the holder with the most makes room. The class knows only holders that have
/// something; each call takes the logarithm of their number. Reactor thread only.
class Shares {
 private:
  using Holder = std::pair<const std::string, std::size_t>;

 public:
  explicit Shares(std::size_t most) : most_{most} {}
  Shares(const Shares&) = delete;
  Shares& operator=(const Shares&) = delete;

  [[nodiscard]] std::size_t most() const noexcept { return most_; }
  [[nodiscard]] std::size_t used() const noexcept { return used_; }
  [[nodiscard]] std::size_t of(std::string_view holder) const;
  [[nodiscard]] std::size_t holders() const noexcept { return ordered_.size(); }
  /// Whether the holder may have `more` in addition.
  [[nodiscard]] bool leaves_room(std::string_view holder, std::size_t more = 1) const;
  /// Returns the holder with the most; null if there is no holder. The pointer is valid until a share changes.
  [[nodiscard]] const std::string* who_has_most() const noexcept {
    return ordered_.empty() ? nullptr : &(*ordered_.rbegin())->first;
  }

  /// Adds to the amount of one holder for as long as it lives; a holder may have several. Shares must outlive it.
  class Part {
   public:
    Part() noexcept = default;
    Part(Shares& of, std::string_view holder, std::size_t amount = 1);
    Part(Part&& other) noexcept;
    Part& operator=(Part&& other) noexcept;
    ~Part() { set(0); }

    /// Changes the amount.
    void set(std::size_t amount);
    [[nodiscard]] std::size_t amount() const noexcept { return amount_; }
    [[nodiscard]] const std::string& holder() const noexcept { return name_; }

   private:
    Shares* of_ = nullptr;
    Holder* holder_ = nullptr;  ///< null while the amount is 0
    std::string name_;
    std::size_t amount_ = 0;
  };

 private:
  struct Less {
    bool operator()(const Holder* one, const Holder* other) const noexcept {
      return one->second != other->second ? one->second < other->second : one->first < other->first;
    }
  };
  Holder* change(Holder* holder, std::string_view name, std::size_t before, std::size_t after);

  const std::size_t most_;
  std::size_t used_ = 0;
  std::map<std::string, std::size_t, std::less<>> holders_;
  std::set<Holder*, Less> ordered_;
};

}  // namespace skiff
