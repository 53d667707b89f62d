#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace skiff {

/// Bytes with shared ownership: a view and a reference to the memory's owner. Copying it copies no byte.
class Slice {
 public:
  Slice() = default;
  Slice(std::shared_ptr<const void> owner, const char* data, std::size_t size)
      : owner_{std::move(owner)}, view_{data, size} {}

  /// Takes `text` over.
  explicit Slice(std::string text) {
    auto owner = std::make_shared<const std::string>(std::move(text));
    view_ = *owner;
    owner_ = std::move(owner);
  }

  [[nodiscard]] std::string_view view() const noexcept { return view_; }
  [[nodiscard]] const char* data() const noexcept { return view_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return view_.size(); }
  [[nodiscard]] bool empty() const noexcept { return view_.empty(); }

  /// Returns at most `count` of the bytes from `offset` on. `offset` must not be above `size()`.
  [[nodiscard]] Slice sub(std::size_t offset, std::size_t count = std::string_view::npos) const {
    const std::string_view part = view_.substr(offset, count);
    return {owner_, part.data(), part.size()};
  }

 private:
  std::shared_ptr<const void> owner_;
  std::string_view view_;
};

}  // namespace skiff
