#include "runtime/dialects/sandboxd/metadata.hpp"

#include <gtest/gtest.h>

#include <array>

namespace skiff::runtime::dialects::sandboxd {
namespace {

TEST(SandboxdMetadata, ShowsVariablesWithThePrefixButNoSecrets) {
  const std::array<const char*, 9> environment{"SANDBOX_B=2",
                                               "SANDBOX_A=x=\"y\"",
                                               "HOME=/",
                                               "SANDBOX_API_TOKEN=t",
                                               "SANDBOX_my_secret_x=s",
                                               "SANDBOX_AUTH_URL=u",
                                               "SANDBOX_",
                                               "NOTSANDBOX_C=3",
                                               nullptr};
  EXPECT_EQ(metadata(environment.data(), "SANDBOX_"), R"({"env":{"SANDBOX_A":"x=\"y\"","SANDBOX_B":"2"}})");
  EXPECT_EQ(metadata(environment.data(), "NOPE_"), R"({"env":{}})");
}

}  // namespace
}  // namespace skiff::runtime::dialects::sandboxd
