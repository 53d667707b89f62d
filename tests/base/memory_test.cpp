#include "base/memory.hpp"

#include <cstddef>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace skiff {
namespace {

std::size_t resident_pages() {
  std::ifstream file{"/proc/self/statm"};
  std::size_t size = 0;
  std::size_t resident = 0;
  file >> size >> resident;
  return resident;
}

TEST(Memory, IsReturnedAlsoBelowYoungerBlocks) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) || \
    __has_feature(thread_sanitizer)
  GTEST_SKIP() << "a sanitizer has a heap of its own";
#endif
  constexpr std::size_t kBlock = std::size_t{16} << 10U;
  constexpr std::size_t kPage = 4096;
  std::vector<std::string> burst;
  for (std::size_t i = 0; i < 4096; ++i) burst.emplace_back(kBlock, 'x');
  const auto younger = std::make_unique<std::string>(kBlock, 'y');
  const std::size_t before = resident_pages();
  burst.clear();
  give_memory_back();
  EXPECT_LT(resident_pages() + (std::size_t{32} << 20U) / kPage, before);
  EXPECT_EQ(younger->back(), 'y');
}

}  // namespace
}  // namespace skiff
