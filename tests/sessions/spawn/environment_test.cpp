#include "sessions/spawn/environment.hpp"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sessions/spawn/users.hpp"

namespace skiff::sessions {
namespace {

using std::string_view_literals::operator""sv;

const Credentials kAnn{.uid = 1000, .gid = 1000, .groups = {}, .name = "ann", .home = "/home/ann", .shell = "/bin/ash"};

TEST(Environment, SetsAndRemovesInTheOrderOfNames) {
  const Variables given{{"B", "old"}, {"D", "stays"}, {"E", "goes"}};
  const EnvironmentChange change{{"A", "first"}, {"B", "new"}, {"E", std::nullopt}, {"F", std::nullopt}};
  const SecretEnvironment secrets{{"C", "secret"}};
  Environment environment{given};
  environment.apply(change);
  environment.apply(secrets);
  EXPECT_EQ(environment.block().bytes(), "A=first\0B=new\0C=secret\0D=stays\0"sv);
  EXPECT_EQ(environment.block().count(), 4U);
  EXPECT_TRUE(environment.contains("A"));
  EXPECT_FALSE(environment.contains("E"));
  EXPECT_EQ(environment.get("B"), "new");
  EXPECT_EQ(environment.get("E"), "");
}

TEST(Environment, KeepsOwnedValues) {
  Environment first;
  for (int i = 0; i < 100; ++i) first.keep("A", std::string(100, static_cast<char>('a' + (i % 26))));
  const Environment environment = std::move(first);
  EXPECT_EQ(environment.get("A"), std::string(100, 'v'));
}

TEST(Environment, ErasesWhatIsUnwanted) {
  const Variables given{{"A", "1"}, {"AB", "2"}, {"B", "3"}};
  Environment environment{given};
  environment.erase_if([](std::string_view name) { return name.starts_with('A'); });
  environment.erase("C");
  EXPECT_EQ(environment.variables(), (Variables{{"B", "3"}}));
}

TEST(Environment, IsCompleteForEveryUser) {
  Environment empty;
  empty.complete(kAnn, false, "/bin/sh", true);
  EXPECT_EQ(empty.variables(), (Variables{{"HOME", "/home/ann"},
                                          {"LANG", "C.UTF-8"},
                                          {"LOGNAME", "ann"},
                                          {"PATH", "/usr/local/bin:/usr/bin:/bin"},
                                          {"SHELL", "/bin/sh"},
                                          {"TERM", "xterm-256color"},
                                          {"USER", "ann"}}));
  const Variables given{{"HOME", "/root"}, {"LANG", ""}, {"PATH", "/mine"}, {"USER", "root"}};
  Environment own{given};
  own.complete(kAnn, false, "/bin/sh", false);
  EXPECT_EQ(own.get("HOME"), "/root");
  EXPECT_EQ(own.get("LOGNAME"), "root");
  EXPECT_EQ(own.get("PATH"), "/mine");
  EXPECT_EQ(own.get("LANG"), "C.UTF-8");
  EXPECT_FALSE(own.contains("TERM"));
  Environment switched{given};
  switched.complete(kAnn, true, "/bin/sh", false);
  EXPECT_EQ(switched.get("HOME"), "/home/ann");
  EXPECT_EQ(switched.get("USER"), "ann");
}

TEST(EnvironmentBlock, HasAPointerToEachString) {
  const EnvironmentBlock block{"A=1", "", "B=2"};
  const auto pointers = block.pointers();
  ASSERT_EQ(pointers.size(), 4U);
  EXPECT_STREQ(pointers[0], "A=1");
  EXPECT_STREQ(pointers[1], "");
  EXPECT_STREQ(pointers[2], "B=2");
  EXPECT_EQ(pointers[3], nullptr);
  EXPECT_THAT(EnvironmentBlock{}.pointers(), testing::ElementsAre(nullptr));
}

TEST(EnvironmentBlock, IsNotDividedByANul) {
  EnvironmentBlock block;
  block.add("A", "1\0LD_PRELOAD=x"sv);
  block.add("B=2\0C=3"sv);
  EXPECT_EQ(block.bytes(), "A=1\0B=2\0"sv);
  EXPECT_EQ(block.count(), 2U);
}

TEST(EnvironmentBlock, IsAskedStringByString) {
  const EnvironmentBlock block{"A=1", "", "B=2"};
  EXPECT_TRUE(block.any_of([](std::string_view one) { return one == "B=2"; }));
  EXPECT_TRUE(block.any_of([](std::string_view one) { return one.empty(); }));
  EXPECT_FALSE(block.any_of([](std::string_view one) { return one == "2"; }));
}

}  // namespace
}  // namespace skiff::sessions
