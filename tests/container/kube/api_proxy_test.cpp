#include "container/kube/api_proxy.hpp"

#include <gtest/gtest.h>

namespace skiff::kube {
namespace {

TEST(ApiProxy, HasAPathForEachPod) {
  EXPECT_EQ(proxy_path("n", "p", 8888), "/api/v1/namespaces/n/pods/p:8888/proxy");
}

}  // namespace
}  // namespace skiff::kube
