#include "base/bytes/slice.hpp"

#include <gtest/gtest.h>

namespace skiff {
namespace {

TEST(Slice, KeepsItsBytesAliveWithoutCopyingThem) {
  auto owner = std::make_shared<std::string>("hello world");
  const std::weak_ptr<std::string> watch = owner;
  Slice part;
  {
    const Slice whole{owner, owner->data(), owner->size()};
    part = whole.sub(6);
    EXPECT_EQ(part.data(), owner->data() + 6);
  }
  owner.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(part.view(), "world");
  part = {};
  EXPECT_TRUE(watch.expired());
}

TEST(Slice, OwnsAMovedString) {
  std::string text(1000, 'x');
  const char* bytes = text.data();
  const Slice slice{std::move(text)};
  EXPECT_EQ(slice.data(), bytes);
  EXPECT_EQ(slice.size(), 1000U);
}

TEST(Slice, CutsAtItsEnd) {
  const Slice slice{std::string{"abc"}};
  EXPECT_EQ(slice.sub(1, 1).view(), "b");
  EXPECT_EQ(slice.sub(1, 100).view(), "bc");
  EXPECT_TRUE(slice.sub(3).empty());
  EXPECT_TRUE(Slice{}.empty());
}

}  // namespace
}  // namespace skiff
