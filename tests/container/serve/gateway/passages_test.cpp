#include "container/serve/gateway/passages.hpp"

#include <string>

#include <gtest/gtest.h>

#include "tests/support/reactor_test.hpp"

namespace skiff::container::serve {
namespace {

CO_TEST(Passages, EndOnceWhenWhatTheyHangOnIsGone) {
  Passages all{co_await boost::asio::this_coro::executor};
  std::string closed;
  const Passages::Passage one{&all, {.key = "one"}, [&] { closed += "one "; }};
  const Passages::Passage other{&all, {.account = "token"}, [&] { closed += "account "; }};
  const Passages::Passage token{&all, {}, [&] { closed += "never "; }};
  EXPECT_EQ(all.size(), 3U);
  EXPECT_EQ(all.accounts(), (std::set<std::string>{"token"}));
  for (int round = 0; round < 2; ++round) {
    all.end_if([](const Giver& giver) { return giver.key == "one"; });
    EXPECT_EQ(closed, "one ");
  }
  EXPECT_TRUE(one.is_ended());
  EXPECT_FALSE(other.is_ended());
  all.end_if([](const Giver& giver) { return giver.account == "token"; });
  EXPECT_EQ(closed, "one account ");
  co_await all.wait_for_one();
}

CO_TEST(Passages, AreForgottenWhenTheyEndByThemselves) {
  Passages all{co_await boost::asio::this_coro::executor};
  {
    const Passages::Passage one{&all, {.key = "one"}, [] { ADD_FAILURE(); }};
  }
  EXPECT_EQ(all.size(), 0U);
  all.end_if([](const Giver&) { return true; });
}

}  // namespace
}  // namespace skiff::container::serve
