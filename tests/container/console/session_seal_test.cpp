#include "container/console/session_seal.hpp"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace skiff::container::console {
namespace {

using std::chrono::seconds;

const WallTime kNow{seconds{1'800'000'000}};
const std::string kKey = "e2b_" + std::string(40, 'a');

TEST(SessionSeal, IsOpenedByEverySealOfItsRing) {
  const std::string text = SessionSeal{"secret"}.seal({.key = kKey, .ends = kNow + seconds{5}});
  EXPECT_FALSE(text.contains(kKey));
  const auto session = SessionSeal{"secret"}.open(text, kNow);
  ASSERT_TRUE(session);
  EXPECT_EQ(session->key, kKey);
  EXPECT_EQ(session->ends, kNow + seconds{5});
  EXPECT_FALSE(SessionSeal{"another"}.open(text, kNow));
}

TEST(SessionSeal, EndsAtItsTime) {
  const SessionSeal seal{"secret"};
  const std::string text = seal.seal({.key = kKey, .ends = kNow + seconds{5}});
  EXPECT_TRUE(seal.open(text, kNow + std::chrono::milliseconds{4'999}));
  EXPECT_FALSE(seal.open(text, kNow + seconds{5}));
}

TEST(SessionSeal, MakesNoTextTwice) {
  const SessionSeal seal{"secret"};
  EXPECT_NE(seal.seal({.key = kKey, .ends = kNow}), seal.seal({.key = kKey, .ends = kNow}));
}

TEST(SessionSeal, IsBrokenByEachChange) {
  const SessionSeal seal{"secret"};
  const std::string text = seal.seal({.key = kKey, .ends = kNow + seconds{5}});
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const char other : {'A', 'B', '9', '.', '-'}) {
      std::string changed = text;
      changed[at] = other;
      EXPECT_EQ(seal.open(changed, kNow).has_value(), changed == text) << changed;
    }
    EXPECT_FALSE(seal.open(text.substr(0, at), kNow));
    EXPECT_FALSE(seal.open(text.substr(at + 1), kNow));
  }
  const std::string sealed = text.substr(text.find('.'));
  for (const std::string& other : {std::string{}, std::string{"."}, text + "A", text + "=", text + sealed, "0" + text,
                                   "-" + text, "+" + text, "999999999999" + sealed, "9999999999999" + sealed,
                                   text.substr(0, text.find('.') + 1) + std::string(5'000, 'A')}) {
    EXPECT_FALSE(seal.open(other, kNow)) << other;
  }
}

}  // namespace
}  // namespace skiff::container::console
