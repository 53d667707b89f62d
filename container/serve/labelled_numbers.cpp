#include "container/serve/labelled_numbers.hpp"

#include <stdexcept>
#include <utility>

namespace skiff::container::serve {

LabelledNumbers::LabelledNumbers(std::vector<std::string_view> labels, std::vector<std::string_view> words)
    : labels_{std::move(labels)}, key_length_{labels_.names().size() - 1}, words_{std::move(words)} {}

std::span<std::uint64_t> LabelledNumbers::of(const Key& key) {
  if (key.size() != key_length_) throw std::logic_error{"a key has one value for each label except the last"};
  auto found = rows_.find(key);
  if (found == rows_.end()) {
    const Key& shown = rows_.size() < kMostKeys ? key : Key(key_length_, "-");
    const auto [row, is_new] = rows_.try_emplace(shown, values_.size());
    found = row;
    if (is_new) {
      std::vector<std::string_view> set{shown.begin(), shown.end()};
      set.emplace_back();
      for (const std::string_view word : words_) {
        set.back() = word;
        labels_.add(set);
      }
      values_.resize(values_.size() + words_.size());
    }
  }
  return std::span{values_}.subspan(found->second, words_.size());
}

}  // namespace skiff::container::serve
