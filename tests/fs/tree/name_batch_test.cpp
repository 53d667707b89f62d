#include "fs/tree/name_batch.hpp"

#include <algorithm>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace skiff::fs {
namespace {

std::vector<std::string> texts_of(const NameBatch& batch) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < batch.size(); ++i) all.emplace_back(batch[i].text);
  return all;
}

/// Similar names of all lengths and bytes.
std::vector<std::string> odd_names(std::size_t count) {
  std::mt19937 random{11};
  std::vector<std::string> names;
  while (names.size() < count) {
    std::string name(1 + random() % 20, 'a');
    for (char& byte : name) {
      if (random() % 4 == 0) byte = static_cast<char>(1 + random() % 255);
    }
    if (random() % 50 == 0) name.assign(255, '\xff');
    names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

TEST(NameBatch, SortsByBytesAndKeepsTheNul) {
  const auto names = odd_names(500);
  auto shuffled = names;
  std::ranges::shuffle(shuffled, std::mt19937{3});
  NameBatch batch;
  for (const std::string& name : shuffled) batch.add({.text = name});
  batch.sort();
  EXPECT_EQ(texts_of(batch), names);
  for (std::size_t i = 0; i < batch.size(); ++i) EXPECT_EQ(*batch[i].text.end(), '\0') << i;
}

TEST(NameBatch, KeepsTheFirstWithWhatIsKnownOfThem) {
  const auto names = odd_names(300);
  auto shuffled = names;
  std::ranges::shuffle(shuffled, std::mt19937{5});
  NameBatch batch;
  for (const std::string& name : shuffled) {
    batch.add({.text = name, .maybe_directory = name.size() % 2 == 0, .wanted = name.size() % 3 == 0});
  }
  batch.keep_first(1000);
  EXPECT_EQ(batch.size(), names.size()) << "there are no more";
  batch.keep_first(100);
  batch.add({.text = "\x01", .wanted = true});
  batch.sort();
  auto kept = texts_of(batch);
  EXPECT_EQ(kept.front(), "\x01");
  kept.erase(kept.begin());
  EXPECT_EQ(kept, std::vector(names.begin(), names.begin() + 100));
  for (std::size_t i = 1; i < batch.size(); ++i) {
    EXPECT_EQ(batch[i].maybe_directory, batch[i].text.size() % 2 == 0);
    EXPECT_EQ(batch[i].wanted, batch[i].text.size() % 3 == 0);
  }
  batch.clear();
  EXPECT_EQ(batch.size(), 0U);
}

}  // namespace
}  // namespace skiff::fs
