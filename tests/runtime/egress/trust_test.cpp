#include "runtime/egress/trust.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "base/small_file.hpp"
#include "protocol/net/trust/program_trust.hpp"
#include "tests/support/temporary_directory.hpp"

namespace skiff::runtime::egress {
namespace {

constexpr std::size_t kMost = std::size_t{4} << 20U;

TEST(EgressTrust, IsOursAlsoBehindTheSystems) {
  const test::TemporaryDirectory directory;
  const std::string where = directory.path().string();
  ASSERT_TRUE(write_trust(where, "OURS\n"));
  EXPECT_EQ(read_small_file(where + "/ca.pem", kMost).value(), "OURS\n");
  EXPECT_EQ(read_small_file(where + "/ca-bundle.pem", kMost).value(), protocol::system_certificates() + "OURS\n");
  struct stat found{};
  ASSERT_EQ(::stat((where + "/ca-bundle.pem").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0644U);
  EXPECT_EQ(read_small_file(where + "/wgetrc", kMost).value(), "ca_certificate = " + where + "/ca-bundle.pem\n");
  EXPECT_TRUE(std::filesystem::exists(where + "/trust.p12"));
}

TEST(EgressTrust, ReplacesWhatIsThereAndFollowsNoLink) {
  const test::TemporaryDirectory directory;
  const std::string where = directory.path().string();
  ASSERT_TRUE(write_trust(where, "OLD OLD\n"));
  ASSERT_TRUE(std::filesystem::remove(where + "/ca-bundle.pem"));
  ASSERT_EQ(::symlink("ca.pem", (where + "/ca-bundle.pem").c_str()), 0);
  ASSERT_TRUE(write_trust(where, "NEW\n"));
  EXPECT_EQ(read_small_file(where + "/ca.pem", kMost).value(), "NEW\n");
  EXPECT_FALSE(std::filesystem::is_symlink(where + "/ca-bundle.pem"));
  EXPECT_FALSE(write_trust(where + "/none", "NEW\n"));
}

}  // namespace
}  // namespace skiff::runtime::egress
