#include "container/egress/policy.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace skiff::container::egress {
namespace {

Policy policy_of(const std::vector<std::string>& rules) {
  return Policy::parse(rules).value();
}

TEST(Policy, NamesHostsExactly) {
  const Policy policy = policy_of({"PyPI.org.", "db.example.com:5432"});
  EXPECT_TRUE(policy.allows("pypi.org", 443));
  EXPECT_FALSE(policy.allows("pypi.org", 80));
  EXPECT_TRUE(policy.names("pypi.org"));
  EXPECT_FALSE(policy.allows("www.pypi.org", 443));
  EXPECT_FALSE(policy.names("xpypi.org"));
  EXPECT_TRUE(policy.allows("db.example.com", 5432));
  EXPECT_FALSE(policy.allows("db.example.com", 443));
}

TEST(Policy, NamesAllBelowAName) {
  const Policy policy = policy_of({"*.example.com", "*.example.com:8443"});
  EXPECT_TRUE(policy.allows("a.example.com", 443));
  EXPECT_TRUE(policy.allows("a.b.c.example.com", 8443));
  for (const char* name : {"example.com", "xexample.com", "a.example.com.evil.org", ".example.com"}) {
    EXPECT_FALSE(policy.allows(name, 443)) << name;
  }
}

TEST(Policy, TellsTheWildcardOfANameThatNoRuleNames) {
  const Policy policy = policy_of({"*.example.com", "*.b.example.com", "a.example.com", "http://*.example.com"});
  EXPECT_EQ(policy.wildcard_of("x.example.com", 443), "*.example.com");
  EXPECT_EQ(policy.wildcard_of("x.example.com", 80, true), "*.example.com");
  EXPECT_EQ(policy.wildcard_of("x.b.example.com", 443), policy.wildcard_of("y.b.example.com", 443));
  EXPECT_EQ(policy.wildcard_of("a.example.com", 443), "") << "a rule names it";
  EXPECT_EQ(policy.wildcard_of("x.example.com", 80), "") << "no rule allows it";
}

TEST(Policy, TakesPlainHttpWhereItSaysSo) {
  const Policy policy = policy_of({"http://Deb.debian.org", "http://*.a.org:8080", "b.org", "http://b.org:80"});
  EXPECT_TRUE(policy.allows("deb.debian.org", 80, true));
  EXPECT_FALSE(policy.allows("deb.debian.org", 80, false));
  EXPECT_FALSE(policy.allows("deb.debian.org", 443, false));
  EXPECT_FALSE(policy.allows("deb.debian.org", 443, true));
  EXPECT_TRUE(policy.allows("x.a.org", 8080, true));
  EXPECT_TRUE(policy.allows("b.org", 443, false));
  EXPECT_FALSE(policy.allows("b.org", 443, true));
  EXPECT_EQ(policy.rules(),
            (std::vector<std::string>{"http://*.a.org:8080", "http://b.org", "b.org", "http://deb.debian.org"}));
  EXPECT_EQ(policy_of(policy.rules()).rules(), policy.rules());
}

TEST(Policy, TellsWhereItAllowsAHost) {
  const std::vector<std::string> rules{"a.org", "a.org:8443", "http://a.org", "*.a.org:5432", "b.org"};
  const Policy policy = Policy::parse(rules).value();
  std::vector<std::string> found;
  for (const Target& target : policy.targets_of("a.org")) {
    found.push_back((target.is_plain ? "plain " : "") + target.text());
  }
  std::ranges::sort(found);
  EXPECT_EQ(found, (std::vector<std::string>{"a.org:443", "a.org:8443", "plain a.org:80"}));
  EXPECT_EQ(policy.targets_of("x.a.org").at(0).text(), "x.a.org:5432");
  EXPECT_TRUE(policy.targets_of("c.org").empty());
}

TEST(Policy, HasOneForm) {
  EXPECT_EQ(policy_of({"b.org", "*.A.org:8443", "b.org:443", "*.a.org:8443"}).rules(),
            (std::vector<std::string>{"*.a.org:8443", "b.org"}));
}

using Rules = std::vector<std::string>;

TEST(Policy, ChangesSingleRules) {
  const Rules now{"b.org", "*.a.org:8443"};
  EXPECT_EQ(Policy::after(now, {}, Rules{"C.org", "b.org:443"}, Rules{"*.A.org:8443"})->rules(),
            (Rules{"b.org", "c.org"}));
  EXPECT_EQ(Policy::after(now, Rules{"d.org"}, {}, {})->rules(), (Rules{"d.org"}));
  EXPECT_EQ(Policy::after(now, {}, Rules{"c.org"}, now)->rules(), (Rules{"c.org"}));
  const auto absent = Policy::after(now, {}, {}, Rules{"b.org:8443"});
  ASSERT_FALSE(absent.has_value());
  EXPECT_TRUE(absent.error().message.contains("-b.org:8443")) << absent.error().message;
  EXPECT_TRUE(absent.error().message.contains("*.a.org:8443")) << absent.error().message;
  EXPECT_EQ(Policy::after(now, {}, {}, now)->rules(), Rules{});
  EXPECT_EQ(Policy::after(now, Rules{}, {}, {})->rules(), Rules{});
  EXPECT_FALSE(Policy::after(now, {}, Rules{"+c.org"}, {}).has_value());
  EXPECT_FALSE(Policy::after(now, {}, {}, Rules{"b.org", "b.org"}).has_value());
}

TEST(Policy, AllowsEveryNameByAStar) {
  const Policy all = policy_of({"*", "*.a.org"});
  EXPECT_TRUE(all.allows("b.org", 443));
  EXPECT_FALSE(all.allows("b.org", 80, true));
  EXPECT_FALSE(all.allows("b.org", 8443));
  EXPECT_EQ(all.rule_of("b.org", 443), "*");
  EXPECT_EQ(all.wildcard_of("b.org", 443), "");
  EXPECT_EQ(all.wildcard_of("x.a.org", 443), "*.a.org");
  EXPECT_EQ(policy_of({"http://*:8080", "*"}).rules(), (Rules{"*", "http://*:8080"}));
  EXPECT_FALSE(Policy::parse(Rules{"**"}).has_value());
  EXPECT_FALSE(Policy::parse(Rules{"*org"}).has_value());
}

TEST(Policy, HasADigestOfItsRules) {
  const Policy one = policy_of({"b.org", "a.org"});
  EXPECT_EQ(one.generation().size(), 12U);
  EXPECT_EQ(one.generation(), policy_of({"A.org:443", "b.org"}).generation());
  EXPECT_NE(one.generation(), policy_of({"b.org"}).generation());
  EXPECT_EQ(one.rule_of("a.org", 443), "a.org");
  EXPECT_EQ(one.rule_of("a.org", 80), "");
}

TEST(Policy, RefusesWhatIsNoRule) {
  for (const char* text : {"", "*.com", "localhost", "a.*.org", "**.a.org", "*a.org", "https://pypi.org", "http://",
                           "http://pypi.org/", "http://http://pypi.org", "http://1.2.3.4", "1.2.3.4", "10.0.0.0/8",
                           "[::1]:443", "pypi.org:0", "pypi.org:x", "pypi.org:443-445", "pypi.org/simple", "a,b.org"}) {
    const auto policy = Policy::parse(std::vector<std::string>{"good.org", text});
    ASSERT_FALSE(policy) << text;
    EXPECT_EQ(policy.error().code, Errc::invalid_field);
    EXPECT_TRUE(policy.error().message.starts_with("--egress ")) << policy.error().message;
  }
  EXPECT_FALSE(Policy::parse(std::vector<std::string>(Policy::kMostRules + 1, "a.org")));
}

TEST(Policy, IsSavedAndLoaded) {
  const auto file = std::filesystem::temp_directory_path() / ("skiff-policy-" + std::to_string(::getpid()));
  const Policy policy = policy_of({"*.a.org", "b.org:8443"});
  ASSERT_TRUE(policy.save(file));
  EXPECT_EQ(Policy::load(file).value().rules(), policy.rules());
  for (const char* text : {"", "{}", "[1]", "[\"*.\"]", "[\"a.org\"", "null"}) {
    std::ofstream{file} << text;
    EXPECT_FALSE(Policy::load(file)) << text;
  }
  std::filesystem::remove(file);
  EXPECT_FALSE(Policy::load(file));
}

}  // namespace
}  // namespace skiff::container::egress
