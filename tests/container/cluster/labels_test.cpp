#include "container/cluster/labels.hpp"

#include <gtest/gtest.h>

namespace skiff::container::labels {
namespace {

kube::Object any() {
  return kube::Object::make(kube::kPods, "a", "b");
}

TEST(Labels, AValueThatFitsStaysAsItIs) {
  for (const char* value : {"", "a", "team-7", "A_b.c"}) EXPECT_EQ(label_value(value), value);
  EXPECT_EQ(label_value(std::string(63, 'a')), std::string(63, 'a'));
}

TEST(Labels, AValueThatDoesNotIsHashedTheSameEachTime) {
  for (const std::string& value :
       {std::string{"ann@host"}, std::string(64, 'a'), std::string{"-a"}, std::string{"a/b"}}) {
    const std::string hashed = label_value(value);
    EXPECT_TRUE(hashed.starts_with("h-")) << value;
    EXPECT_LE(hashed.size(), 63U);
    EXPECT_EQ(hashed, label_value(value));
  }
  EXPECT_NE(label_value("ann@host"), label_value("bob@host"));
}

TEST(Labels, TheWholeValueIsKeptBesideAHash) {
  kube::Object object = any();
  put(object, kOwner, "ann@host");
  put(object, kName, "box");
  EXPECT_EQ(get(object, kOwner), "ann@host");
  EXPECT_EQ(get(object, kName), "box");
  EXPECT_EQ(object.annotation(kOwner), "ann@host");
  EXPECT_EQ(object.annotation(kName), "");
}

TEST(Labels, AUsersLabelsHaveAPrefixOfTheirOwn) {
  kube::Object object = any();
  put_common(object, "sandbox", "box", "ann@host");
  put_user_labels(object, {{"team", "a b"}, {"tier", "1"}});
  EXPECT_EQ(object.label("label.skiff.dev/tier"), "1");
  EXPECT_EQ(user_labels(object), (std::map<std::string, std::string>{{"team", "a b"}, {"tier", "1"}}));
}

TEST(Labels, ANameThatKubernetesRefusesIsRefused) {
  EXPECT_TRUE(check_user_labels({{"team", "anything at all"}}));
  for (const char* bad : {"", "a b", "-a", "/b", "a/", "A/b", "a/b/c", "a b/c", "skiff.dev/owner", "label.skiff.dev/a",
                          "app.kubernetes.io/name", "pod-security.kubernetes.io/enforce"}) {
    const auto checked = check_user_labels({{bad, "x"}});
    ASSERT_FALSE(checked) << bad;
    EXPECT_EQ(checked.error().field, "--label");
  }
}

TEST(Labels, ANameWithAPrefixOfItsOwnStaysAsItIs) {
  EXPECT_TRUE(check_user_labels({{"example.org/team", "a"}, {"notskiff.dev/x", ""}}));
  EXPECT_FALSE(check_user_labels({{"example.org/team", "anything at all"}})) << "whoever looks for it wants that value";
  kube::Object object = any();
  put_user_labels(object, {{"example.org/team", "a"}, {"tier", "1"}});
  EXPECT_EQ(object.label("example.org/team"), "a");
  EXPECT_EQ(user_labels(object), (std::map<std::string, std::string>{{"tier", "1"}}));
  EXPECT_TRUE(selector("record", {.labels = {{"example.org/team", "a"}}}).ends_with(",example.org/team=a"));
}

TEST(Labels, TheSelectorAsksForHashesToo) {
  const SandboxFilter filter{.owner = "ann@host", .labels = {{"team", "a"}}};
  EXPECT_EQ(selector("record", filter),
            "app.kubernetes.io/managed-by=skiff,app.kubernetes.io/component=record,skiff.dev/owner=" +
                label_value("ann@host") + ",label.skiff.dev/team=a");
}

}  // namespace
}  // namespace skiff::container::labels
