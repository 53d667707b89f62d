#include "runtime/auth/scopes.hpp"

#include <gtest/gtest.h>

namespace skiff::runtime {
namespace {

TEST(Scopes, AllowWhatTheirMembersImply) {
  constexpr Scopes none;
  EXPECT_TRUE(none.empty());
  EXPECT_FALSE(none.allows(Scope::read));
  constexpr Scopes read = none.with(Scope::read);
  EXPECT_TRUE(read.allows(Scope::read));
  EXPECT_FALSE(read.allows(Scope::exec));
  EXPECT_FALSE(read.allows(Scope::admin));
  constexpr Scopes exec = none.with(Scope::exec);
  EXPECT_TRUE(exec.allows(Scope::read));
  EXPECT_TRUE(exec.allows(Scope::exec));
  EXPECT_FALSE(exec.allows(Scope::admin));
  EXPECT_EQ(none.with(Scope::admin), Scopes::all());
  EXPECT_FALSE(exec.allows(Scope::ports)) << "what a session may not reach, its tokens may not either";
  EXPECT_TRUE(Scopes::all().allows(Scope::ports));
  constexpr Scopes ports = none.with(Scope::ports);
  EXPECT_FALSE(ports.allows(Scope::read) || ports.allows(Scope::exec) || ports.allows(Scope::admin));
  EXPECT_TRUE(Scopes::all().allows(Scope::exec));
  EXPECT_EQ(exec.with(Scope::read), exec);
}

TEST(Scopes, RefuseUnknownWordsInAList) {
  EXPECT_EQ(Scopes::parse_list("read"), Scopes{}.with(Scope::read));
  EXPECT_EQ(Scopes::parse_list("exec,read"), Scopes{}.with(Scope::exec));
  EXPECT_EQ(Scopes::parse_list("admin"), Scopes::all());
  for (const char* text : {"", ",", "read,", ",read", "read,,exec", "read exec", "Read", "write", "read, exec"}) {
    EXPECT_FALSE(Scopes::parse_list(text)) << text;
  }
}

TEST(Scopes, SkipUnknownWordsOfAClaim) {
  EXPECT_EQ(Scopes::parse_claim("openid read  profile"), Scopes{}.with(Scope::read));
  EXPECT_EQ(Scopes::parse_claim("exec read"), Scopes{}.with(Scope::exec));
  EXPECT_TRUE(Scopes::parse_claim("").empty());
  EXPECT_TRUE(Scopes::parse_claim("read,exec ADMIN administrator").empty());
}

TEST(Scopes, AreShownInFull) {
  EXPECT_EQ(Scopes{}.text(), "");
  EXPECT_EQ(Scopes{}.with(Scope::exec).text(), "read exec");
  EXPECT_EQ(Scopes::all().text(), "read exec ports admin");
}

}  // namespace
}  // namespace skiff::runtime
