#include "container/cluster/namespaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/container/cluster/fake_cluster.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::FakeCluster;
using testing::ElementsAre;

CO_TEST(Namespaces, AreThoseThatHaveSandboxes, FakeCluster& fake) {
  fakes::put_sandbox(fake.server, "box", "s1");
  fake.server.put(kube::kNamespaces, kube::Object::make(kube::kNamespaces, {}, "other"));
  kube::Object pod = fakes::sandbox_pod("run", "s2");
  pod.json["metadata"]["namespace"] = "other";
  fake.server.put(kube::kPods, pod);
  auto names = co_await namespaces_of_sandboxes(fake.cluster.get(), ClusterDriver::pod);
  CO_ASSERT_TRUE(names.has_value()) << names.error().message;
  EXPECT_THAT(*names, ElementsAre("default", "other"));
  names = co_await namespaces_of_sandboxes(fake.cluster.get(), ClusterDriver::claim);
  CO_ASSERT_TRUE(!names) << "it has no agent-sandbox";
  EXPECT_EQ(names.error().code, Errc::not_supported);
}

}  // namespace
}  // namespace skiff::container
