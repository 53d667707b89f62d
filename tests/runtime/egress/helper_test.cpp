#include "runtime/egress/helper.hpp"

#include <gtest/gtest.h>

namespace skiff::runtime::egress {
namespace {

TEST(EgressHelper, SetsVariablesThatAreNotSet) {
  sessions::Variables variables{{"https_proxy", "http://other:1"}};
  set_variables(variables);
  EXPECT_EQ(variables["https_proxy"], "http://other:1");
  EXPECT_EQ(variables["HTTPS_PROXY"], "http://127.0.0.1:3128");
  EXPECT_EQ(variables["ALL_PROXY"], "http://127.0.0.1:3128");
  EXPECT_EQ(variables["no_proxy"], "localhost,127.0.0.1,::1");
  EXPECT_EQ(variables["NODE_USE_ENV_PROXY"], "1");
}

}  // namespace
}  // namespace skiff::runtime::egress
