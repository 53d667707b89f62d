#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace skiff::fs {

/// Names of a directory in one piece of memory, because a list holds thousands of them at once.
class NameBatch {
 public:
  struct Name {
    std::string_view text;  ///< valid until the batch changes; a NUL follows
    bool maybe_directory = false;
    bool wanted = false;
  };

  /// The names may have at most 4 GiB in total.
  void add(const Name& name);
  /// Keeps the `most` names that come first by their bytes, in no order, and frees the memory of the others.
  void keep_first(std::size_t most);
  /// Sorts by bytes, as strcmp(3) compares.
  void sort();
  void clear() noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return places_.size(); }
  [[nodiscard]] Name operator[](std::size_t index) const noexcept;

 private:
  struct Index {
    std::uint64_t head = 0;  // the first eight bytes, as a number with the same order
    std::uint32_t begin = 0;
    std::uint16_t size = 0;  // NAME_MAX is 255
    bool maybe_directory = false;
    bool wanted = false;
  };
  [[nodiscard]] std::string_view text_of(const Index& place) const noexcept {
    return {text_.data() + place.begin, place.size};
  }
  [[nodiscard]] auto by_bytes() const noexcept {
    return
        [this](const Index& a, const Index& b) { return a.head != b.head ? a.head < b.head : text_of(a) < text_of(b); };
  }

  std::vector<Index> places_;
  std::vector<char> text_;  // not a std::string: views into it must stay valid when the batch is moved
};

}  // namespace skiff::fs
