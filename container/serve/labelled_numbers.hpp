#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/metrics.hpp"

namespace skiff::container::serve {

/// The values of a metric whose label values are known only while the program runs, for example tenants. Its last label
/// has a fixed set of words. All words of a key begin at 0 together. Keys above `kMostKeys` share one row, whose labels
/// are "-", so that the number of series is bounded. Reactor thread only.
class LabelledNumbers {
 public:
  static constexpr std::size_t kMostKeys = 1000;
  /// One value for each label except the last.
  using Key = std::vector<std::string>;

  /// `labels` names all labels, `words` are the values of the last one.
  LabelledNumbers(std::vector<std::string_view> labels, std::vector<std::string_view> words);

  /// The numbers of a key, one for each word. The result is valid until the next call.
  [[nodiscard]] std::span<std::uint64_t> of(const Key& key);

  [[nodiscard]] std::span<const std::uint64_t> values() const noexcept { return values_; }
  [[nodiscard]] const LabelSets& labels() const noexcept { return labels_; }

 private:
  LabelSets labels_;
  std::size_t key_length_;
  std::vector<std::string_view> words_;
  std::map<Key, std::size_t> rows_;  ///< index of the key's first number
  std::vector<std::uint64_t> values_;
};

}  // namespace skiff::container::serve
