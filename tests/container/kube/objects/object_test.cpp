#include "container/kube/objects/object.hpp"

#include <gtest/gtest.h>

#include "tests/container/kube/parse_object.hpp"

namespace skiff::kube {
namespace {

using Json = nlohmann::json;
using test::parse_object;

TEST(Object, ShowsItsMetadata) {
  const Object object = parse_object(R"({"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7",
      "creationTimestamp":"2026-01-01T00:00:00Z","labels":{"x":"y","skiff.dev/id":"z"},"annotations":{"k":"v"}}})");
  EXPECT_EQ(object.name(), "a");
  EXPECT_EQ(object.namespace_name(), "n");
  EXPECT_EQ(object.uid(), "u");
  EXPECT_EQ(object.resource_version(), "7");
  EXPECT_EQ(object.label("skiff.dev/id"), "z");
  EXPECT_EQ(object.annotation("k"), "v");
  EXPECT_TRUE(object.created().has_value());
  EXPECT_FALSE(object.is_being_deleted());
  EXPECT_EQ(object.texts({"metadata", "labels"}).size(), 2u);
}

TEST(Object, ReadsWhatIsAbsentOrOddAsEmpty) {
  for (const char* text :
       {"{}", "[]", "null", "5", R"({"metadata":5,"status":[]})", R"({"metadata":{"name":5,"labels":[]},
       "status":{"conditions":{}}})",
        R"({"status":{"conditions":[5,null,{"type":5}]}})"}) {
    const Object object = parse_object(text);
    EXPECT_EQ(object.name(), "") << text;
    EXPECT_EQ(object.label("x"), "");
    EXPECT_FALSE(object.created());
    EXPECT_FALSE(object.integer({"spec", "replicas"}));
    EXPECT_FALSE(object.is_true({"spec", "x"}));
    EXPECT_TRUE(object.texts({"metadata", "labels"}).empty());
    EXPECT_FALSE(object.condition("Ready"));
  }
}

TEST(Object, FindsAConditionByItsType) {
  const Object object = parse_object(R"({"status":{"conditions":[{"type":"A","status":"True"},
      {"type":"Ready","status":"False","reason":"R","message":"M"}]}})");
  const auto ready = object.condition("Ready");
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->status, "False");
  EXPECT_EQ(ready->reason, "R");
  EXPECT_EQ(ready->message, "M");
  EXPECT_FALSE(object.condition("Other"));
}

TEST(Object, IsMadeAndOwnsOthers) {
  Object object = Object::make(kNetworkPolicies, "n", "a");
  EXPECT_EQ(object.json, Json::parse(R"({"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy",
                                         "metadata":{"name":"a","namespace":"n"}})"));
  EXPECT_FALSE(Object::make(kNamespaces, "n", "a").json["metadata"].contains("namespace"));
  object.json["metadata"]["uid"] = "u";
  EXPECT_EQ(object.owner_reference(), Json::parse(R"({"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy",
      "name":"a","uid":"u","blockOwnerDeletion":false})"));
}

}  // namespace
}  // namespace skiff::kube
