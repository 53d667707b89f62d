#include "container/kube/objects/resource.hpp"

#include <gtest/gtest.h>

namespace skiff::kube {
namespace {

TEST(Resource, HasItsPlaceInTheApi) {
  EXPECT_EQ(collection_path(kPods, "n"), "/api/v1/namespaces/n/pods");
  EXPECT_EQ(collection_path(kPods, ""), "/api/v1/pods");
  EXPECT_EQ(collection_path(kNamespaces, "ignored"), "/api/v1/namespaces");
  EXPECT_EQ(object_path(kNetworkPolicies, "n", "a"), "/apis/networking.k8s.io/v1/namespaces/n/networkpolicies/a");
  EXPECT_EQ(object_path(kSandboxWarmPools.at("v1alpha1"), "n", "a", "scale"),
            "/apis/extensions.agents.x-k8s.io/v1alpha1/namespaces/n/sandboxwarmpools/a/scale");
  EXPECT_EQ(object_path(kPods, "a/b", "../c"), "/api/v1/namespaces/a%2Fb/pods/..%2Fc");
}

TEST(Resource, HasNamesForPeopleAndManifests) {
  EXPECT_EQ(kPods.name(), "pods");
  EXPECT_EQ(kPods.api_version(), "v1");
  EXPECT_EQ(kSandboxClaims.name(), "sandboxclaims.extensions.agents.x-k8s.io");
  EXPECT_EQ(kSandboxClaims.api_version(), "extensions.agents.x-k8s.io/v1beta1");
}

TEST(Query, LeavesOutWhatIsEmptyAndEncodesTheRest) {
  EXPECT_EQ(Query{}.text(), "");
  EXPECT_EQ(Query{}.add("a", "").text(), "");
  EXPECT_EQ(Query{}.add("a", "").add("b", "x=y,z!=1 &").add("c", "1").text(), "?b=x%3Dy%2Cz%21%3D1%20%26&c=1");
}

}  // namespace
}  // namespace skiff::kube
