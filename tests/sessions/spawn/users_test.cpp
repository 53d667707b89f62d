#include "sessions/spawn/users.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.hpp"

namespace skiff::sessions {
namespace {

class Users : public ::testing::Test {
 protected:
  Users() {
    std::ofstream{etc_ / "passwd"} << "root:x:0:0:root:/root:/bin/bash\n"
                                   << "# a comment\n"
                                   << "broken:x:nonsense:1:::\n"
                                   << "ann:x:1000:1000:Ann,,,:/home/ann:/bin/zsh\n"
                                   << "1000:x:77:78::/home/number:\n"
                                   << "short:x:5:6::\n"
                                   << "last:x:2000:2000::/home/last:/bin/sh";  // no newline at the end
    std::ofstream{etc_ / "group"}
        << "root:x:0:\nwheel:x:10:root,ann\nann:x:1000:\nvideo:x:44:ann\nnear:x:45:anna,joann\n";
  }

  Result<Credentials> look_up(const std::string& user) { return look_up_user(user, etc_); }

  const test::TemporaryDirectory directory_;
  const std::filesystem::path& etc_ = directory_.path();
};

TEST_F(Users, FindsAUserByName) {
  const auto ann = look_up("ann");
  ASSERT_TRUE(ann);
  EXPECT_EQ(ann->uid, 1000U);
  EXPECT_EQ(ann->gid, 1000U);
  EXPECT_EQ(ann->name, "ann");
  EXPECT_EQ(ann->home, "/home/ann");
  EXPECT_EQ(ann->shell, "/bin/zsh");
}

TEST_F(Users, GivesAUserThePrimaryAndTheSupplementaryGroups) {
  const auto ann = look_up("ann");
  ASSERT_TRUE(ann);
  EXPECT_EQ(ann->groups, (std::vector<gid_t>{1000, 10, 44})) << "and not those of anna and joann";
}

TEST_F(Users, PrefersANameToANumber) {
  const auto user = look_up("1000");
  ASSERT_TRUE(user);
  EXPECT_EQ(user->uid, 77U);
}

TEST_F(Users, FindsTheEntryOfANumber) {
  const auto user = look_up("2000");
  ASSERT_TRUE(user);
  EXPECT_EQ(user->name, "last");
  EXPECT_EQ(user->home, "/home/last");
}

TEST_F(Users, AcceptsANumberWithoutAnEntry) {
  const auto user = look_up("4242");
  ASSERT_TRUE(user);
  EXPECT_EQ(user->uid, 4242U);
  EXPECT_EQ(user->gid, 0U);
  EXPECT_EQ(user->name, "4242");
  EXPECT_EQ(user->home, "/");
  EXPECT_EQ(user->shell, "/bin/sh");
}

TEST_F(Users, TakesAGroupByNameOrByNumberAsTheOnlyOne) {
  const auto by_name = look_up("ann:wheel");
  ASSERT_TRUE(by_name);
  EXPECT_EQ(by_name->gid, 10U);
  EXPECT_EQ(by_name->groups, std::vector<gid_t>{10});
  const auto by_number = look_up("1234:99");
  ASSERT_TRUE(by_number);
  EXPECT_EQ(by_number->uid, 1234U);
  EXPECT_EQ(by_number->gid, 99U);
}

TEST_F(Users, RefusesWhatItDoesNotFind) {
  for (const char* user :
       {"nobody-here", "ann:no-such-group", "", ":wheel", "ann:", "-1", "4294967295", "1000000000000", "broken"}) {
    const auto found = look_up(user);
    ASSERT_FALSE(found) << user;
    EXPECT_EQ(found.error().code, Errc::user_not_found) << user;
  }
}

TEST_F(Users, DoesWithoutTheFiles) {
  const auto user = look_up_user("7:8", etc_ / "missing");
  ASSERT_TRUE(user);
  EXPECT_EQ(user->uid, 7U);
  EXPECT_EQ(user->gid, 8U);
  EXPECT_FALSE(look_up_user("root", etc_ / "missing"));
}

TEST_F(Users, DefaultsAMissingShell) {
  const auto user = look_up("short");
  ASSERT_TRUE(user);
  EXPECT_EQ(user->shell, "/bin/sh");
  EXPECT_EQ(user->home, "/");
}

TEST_F(Users, KnowsTheAgentsOwn) {
  const Credentials own = current_user(etc_);
  EXPECT_EQ(own.uid, ::geteuid());
  EXPECT_EQ(own.gid, ::getegid());
  EXPECT_FALSE(own.name.empty());
  EXPECT_TRUE(own.home.starts_with('/'));
}

TEST_F(Users, SeesAChangedPasswdAtTheNextLook) {
  const std::string own = std::to_string(::geteuid());
  std::ofstream{etc_ / "passwd"} << "first:x:" + own + ":0::/first:/bin/sh\n";
  UserOfLastLook user{etc_};
  EXPECT_EQ(user.get()->name, "first");
  EXPECT_EQ(user.get()->home, "/first");
  std::ofstream{etc_ / "passwd"} << "the-second:x:" + own + ":0::/second:/bin/sh\n";
  EXPECT_EQ(user.get()->name, "first") << "as it was at the last look";
  user.look();
  EXPECT_EQ(user.get()->name, "the-second");
  std::filesystem::remove(etc_ / "passwd");
  user.look();
  EXPECT_EQ(user.get()->name, own);
}

}  // namespace
}  // namespace skiff::sessions
