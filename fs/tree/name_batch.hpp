#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace skiff::fs {

/// Names of a directory that are wanted at once, all in one piece of memory: a list has thousands of them.
class NameBatch {
 public:
  struct Name {
    std::string_view text;  ///< until the batch changes; a NUL follows
    bool maybe_directory = false;
    bool wanted = false;
  };

  /// At most 4 GiB of names.
  void add(const Name& name);
  /// Keeps the first `most` by their bytes, in no order, and frees what the others took.
  void keep_first(std::size_t most);
  /// By bytes, as strcmp(3) has them.
  void sort();
  void clear() noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return places_.size(); }
  [[nodiscard]] Name operator[](std::size_t index) const noexcept;

 private:
  struct Place {
    std::uint64_t head = 0;  // its first eight bytes, as a number that sorts as they do
    std::uint32_t begin = 0;
    std::uint16_t size = 0;  // NAME_MAX is 255
    bool maybe_directory = false;
    bool wanted = false;
  };
  [[nodiscard]] std::string_view text_of(const Place& place) const noexcept {
    return {text_.data() + place.begin, place.size};
  }
  [[nodiscard]] auto by_bytes() const noexcept {
    return
        [this](const Place& a, const Place& b) { return a.head != b.head ? a.head < b.head : text_of(a) < text_of(b); };
  }

  std::vector<Place> places_;
  std::vector<char> text_;  // not a std::string: what views into it see stays where it is when the batch is moved
};

}  // namespace skiff::fs
