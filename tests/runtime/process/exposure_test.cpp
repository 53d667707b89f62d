#include "runtime/process/exposure.hpp"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_directory.hpp"

namespace skiff::runtime {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Exposures : public ::testing::Test {
 protected:
  Exposures() {
    std::filesystem::create_directory(directory_ / "root");
    settings_.root = directory_ / "root";
  }
  /// Creates a file that only its owner can read.
  std::string secret(const std::string& name) {
    const std::string path = directory_.write(name, "secret\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    return path;
  }
  [[nodiscard]] std::vector<std::string> found(const std::vector<std::string>& listen = {}) const {
    std::vector<protocol::Address> addresses;
    for (const std::string& text : listen) addresses.push_back(protocol::Address::parse(text).value());
    return exposures(settings_, addresses);
  }

  test::TemporaryDirectory directory_;
  Settings settings_;
};

TEST_F(Exposures, AreEmptyForPrivateFilesOutsideTheRoot) {
  settings_.token_file = secret("token");
  settings_.tls_cert = directory_.write("certificate", "for all");
  settings_.tls_key = secret("key");
  EXPECT_THAT(found({"0.0.0.0:7070"}), IsEmpty());
}

TEST_F(Exposures, IncludeFilesThatEveryUserCanRead) {
  settings_.token_file = secret("token");
  std::filesystem::permissions(settings_.token_file, std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  EXPECT_THAT(found(), ElementsAre(AllOf(HasSubstr("--token-file"), HasSubstr("every user"))));
}

TEST_F(Exposures, IncludeFilesBelowTheRootByAnyPath) {
  settings_.tls_key = secret("root/key");
  EXPECT_THAT(found(), ElementsAre(AllOf(HasSubstr("--tls-key"), HasSubstr("below the root"))));
  std::filesystem::create_symlink("root", directory_ / "link");
  settings_.tls_key = directory_ / "link/key";
  EXPECT_THAT(found(), ElementsAre(HasSubstr("below the root")));
  settings_.root = "/";
  settings_.tls_key = secret("beside");
  EXPECT_THAT(found(), ElementsAre(HasSubstr("below the root \"/\"")));
}

TEST_F(Exposures, ExcludeDirectoriesThatShareThePrefixOfTheRoot) {
  std::filesystem::create_directory(directory_ / "root2");
  settings_.token_file = secret("root2/token");
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(Exposures, IncludeNetworkAddressesWithoutTls) {
  EXPECT_THAT(found({"127.0.0.1:7070", "[::1]:7070", "unix:/run/skiff.sock"}), IsEmpty());
  EXPECT_THAT(found({"127.0.0.1:7070", "0.0.0.0:7070", "[::]:7071"}),
              ElementsAre(HasSubstr("0.0.0.0:7070"), HasSubstr("[::]:7071")));
}

}  // namespace
}  // namespace skiff::runtime
