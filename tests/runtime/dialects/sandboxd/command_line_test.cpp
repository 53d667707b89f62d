#include "runtime/dialects/sandboxd/command_line.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/dialects/sandboxd/options.hpp"
#include "tests/support/temporary_directory.hpp"

namespace skiff::runtime::dialects::sandboxd {
namespace {

class SandboxdCommandLine : public testing::Test {
 protected:
  Result<std::vector<std::string>> read(std::vector<std::string> words, std::vector<const char*> environment = {}) {
    words.insert(words.begin(), "--root-dir=" + root);
    std::vector<const char*> pointers;
    for (const std::string& word : words) pointers.push_back(word.c_str());
    environment.push_back(nullptr);
    return own_arguments(pointers, environment.data());
  }
  void TearDown() override { options() = {}; }

  test::TemporaryDirectory directory;
  std::string root = directory.path() / "made" / "here";
};

TEST_F(SandboxdCommandLine, DefaultsAreTheOriginals) {
  const auto words = read({}, {"SKIFF_TOKEN=x", "SKIFF_LISTEN=y"});
  ASSERT_TRUE(words) << words.error().message;
  EXPECT_EQ(*words, (std::vector<std::string>{"--dialect", "sandboxd=[::]:8080,[::]:9090", "--root", root,
                                              "--idle-timeout", "60000", "--drain-timeout", "10000"}));
  EXPECT_TRUE(std::filesystem::is_directory(root));
  EXPECT_EQ(options().metadata_prefix, "SANDBOX_");
}

TEST_F(SandboxdCommandLine, WithoutACredentialNobodyGetsInBesideTheDialect) {
  const auto words = read({});
  ASSERT_TRUE(words);
  EXPECT_EQ((*words)[8], "--listen");
  EXPECT_EQ((*words)[9], "127.0.0.1:0");
  EXPECT_EQ((*words)[10], "--token-sha256");
  EXPECT_EQ((*words)[11].size(), 64U);
  EXPECT_NE((*words)[11], (*read({}))[11]);
}

TEST_F(SandboxdCommandLine, TakesItsNineFlagsAsGoDoes) {
  const auto words =
      read({"-listen-host", "::1", "--grpc-port=1", "-rest-port=2", "--metadata-env-prefix", "X_",
            "--shutdown-timeout=1m30s", "-http-idle-timeout", "1.5h", "--stream-chunk-size=8192", "--version=false"},
           {"SKIFF_TOKEN=x", "SKIFF_LISTEN=y"});
  ASSERT_TRUE(words) << words.error().message;
  EXPECT_EQ(*words, (std::vector<std::string>{"--dialect", "sandboxd=[::1]:2,[::1]:1", "--root", root, "--idle-timeout",
                                              "5400000", "--drain-timeout", "90000"}));
  EXPECT_EQ(options().metadata_prefix, "X_");
  EXPECT_EQ(options().chunk_bytes, 8192U);
  EXPECT_EQ(*read({"-version"}), std::vector<std::string>{"version"});
  EXPECT_EQ(*read({"-version=T"}), std::vector<std::string>{"version"});
  EXPECT_EQ(*read({"--help"}), std::vector<std::string>{"--help"});
}

TEST_F(SandboxdCommandLine, TakesTheFlagsOfItsLibrariesAndDoesNothing) {
  const std::vector<const char*> environment{"SKIFF_TOKEN=x", "SKIFF_LISTEN=y"};
  // A switch takes no word of its own: what follows it here ends the flags.
  const auto words = read({"--zap-log-level", "debug", "-zap-encoder=console", "--zap-stacktrace-level=panic",
                           "--zap-time-encoding=iso8601", "--kubeconfig=/nowhere", "--zap-devel", "true", "--nope"},
                          environment);
  ASSERT_TRUE(words) << words.error().message;
  EXPECT_EQ(*words, *read({}, environment));
}

TEST_F(SandboxdCommandLine, BoundsThePiecesOfOutput) {
  for (const auto& [given, taken] : {std::pair{"1", 16U}, {"100", 100U}, {"99999999", 1U << 20U}}) {
    ASSERT_TRUE(read({"--stream-chunk-size", given}));
    EXPECT_EQ(options().chunk_bytes, taken) << given;
  }
}

TEST_F(SandboxdCommandLine, RefusesWhatGoRefuses) {
  for (const char* wrong :
       {"--nope", "--grpc-port", "--grpc-port=0", "--grpc-port=65536", "--grpc-port=x", "--rest-port=9090",
        "--shutdown-timeout=10", "--shutdown-timeout=-1s", "--shutdown-timeout=", "--http-idle-timeout=1d",
        "--stream-chunk-size=x", "--version=yes", "--zap-devel=2", "--zap-nope"}) {
    const auto words = read({wrong});
    ASSERT_FALSE(words) << wrong;
    EXPECT_EQ(words.error().code, Errc::invalid_field) << wrong;
  }
}

}  // namespace
}  // namespace skiff::runtime::dialects::sandboxd
