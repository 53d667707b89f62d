#include "runtime/dialects/e2b/files/watchers.hpp"

#include <chrono>

#include <gtest/gtest.h>
#include <boost/asio/io_context.hpp>

namespace skiff::runtime::dialects::e2b {
namespace {

class E2bWatchers : public testing::Test {
 protected:
  Watching watching() { return {.reader = {all_, {}, nullptr}, .tree = nullptr, .path = "/x"}; }

  boost::asio::io_context io_;
  BlockingPool pool_{"test", 1};
  fs::DirectoryWatches all_{io_.get_executor(), pool_, {}};
  Watchers watchers_;
  SteadyTime now_ = SteadyTime::clock::now();
};

TEST_F(E2bWatchers, AreFoundByTheirIds) {
  const auto id = watchers_.add(watching(), now_);
  ASSERT_TRUE(id);
  EXPECT_EQ((*watchers_.find(*id, now_))->path, "/x");
  EXPECT_TRUE(watchers_.remove(*id));
  EXPECT_EQ(watchers_.find(*id, now_).error().code, Errc::not_found);
  EXPECT_EQ(watchers_.remove(*id).error().code, Errc::not_found);
}

TEST_F(E2bWatchers, AreBoundedAndForgotten) {
  const auto first = watchers_.add(watching(), now_);
  for (std::size_t i = 1; i < Watchers::kMost; ++i) ASSERT_TRUE(watchers_.add(watching(), now_));
  EXPECT_EQ(watchers_.add(watching(), now_).error().code, Errc::resource_exhausted);
  const SteadyTime later = now_ + Watchers::kForgotten / 2;
  ASSERT_TRUE(watchers_.find(*first, later));
  // All watchers are removed, except the one that was polled.
  EXPECT_TRUE(watchers_.add(watching(), now_ + Watchers::kForgotten));
  EXPECT_TRUE(watchers_.find(*first, later));
  EXPECT_TRUE(watchers_.add(watching(), now_ + Watchers::kForgotten));
}

}  // namespace
}  // namespace skiff::runtime::dialects::e2b
