#include "container/egress/rules/profiles.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "container/egress/policy.hpp"

namespace skiff::container::egress {
namespace {

using Rules = std::vector<std::string>;

TEST(Profiles, StandForTheirRules) {
  EXPECT_EQ(with_profiles(Rules{"a.org", "@pypi", "*"}).value(),
            (Rules{"a.org", "pypi.org", "files.pythonhosted.org", "*"}));
  EXPECT_EQ(with_profiles(Rules{}).value(), Rules{});
}

TEST(Profiles, AreKnownByTheirWholeNames) {
  for (const char* wrong : {"@", "@pyp", "@PyPI", "@pypi:443", "@@pypi", "@pypi ", "@\xff"}) {
    const auto refused = with_profiles(Rules{wrong});
    ASSERT_FALSE(refused.has_value()) << wrong;
    EXPECT_EQ(refused.error().field, "--egress");
    EXPECT_TRUE(refused.error().message.contains("@anthropic, @cargo")) << refused.error().message;
  }
  // Nothing else of a rule names one.
  for (const char* wrong : {"http://@pypi", "*.@pypi"}) {
    EXPECT_FALSE(Policy::parse(with_profiles(Rules{wrong}).value()).has_value()) << wrong;
  }
}

TEST(Profiles, AreRulesInTheirOneFormAndNameNoHostBelowAStar) {
  EXPECT_TRUE(std::ranges::is_sorted(profiles(), {}, &Profile::name));
  for (const Profile& one : profiles()) {
    const Rules rules{one.rules.begin(), one.rules.end()};
    const auto policy = Policy::parse(rules);
    ASSERT_TRUE(policy.has_value()) << one.name;
    Rules sorted = policy->rules();
    EXPECT_TRUE(std::ranges::is_permutation(sorted, rules)) << one.name;
    for (const std::string& rule : rules) EXPECT_FALSE(rule.contains('*')) << rule;
  }
}

TEST(Profiles, AreRemovedAsAWhole) {
  const auto removed = with_profiles(Rules{"@pypi"}).value();
  const Rules current{"a.org", "files.pythonhosted.org", "pypi.org"};
  EXPECT_EQ(Policy::after(current, {}, {}, removed).value().rules(), Rules{"a.org"});
}

}  // namespace
}  // namespace skiff::container::egress
