#include "container/serve/fleet/record_labels.hpp"

#include <gtest/gtest.h>

#include "container/cluster/labels.hpp"

namespace skiff::container::serve {
namespace {

TEST(RecordLabels, TakeAnyNameAndGiveItBack) {
  const Labels labels{{"plain.one", "v"}, {"with space/and ünïcode", "any\nvalue"}, {"-", ""}, {"serve.key", "mine"}};
  const auto kept = kept_labels(labels);
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_TRUE(kept->contains("key.plain.one"));
  EXPECT_TRUE(kept->contains("hex.2d"));
  EXPECT_FALSE(kept->contains("serve.key"));
  EXPECT_EQ(client_labels(*kept), labels);
}

TEST(RecordLabels, AreWhatKubernetesTakes) {
  const auto kept = kept_labels({{std::string(59, 'a'), "x"}, {"ends.", "x"}, {"/ / / /", "x"}});
  ASSERT_TRUE(kept);
  EXPECT_TRUE(labels::check_user_labels(*kept));
  EXPECT_TRUE(labels::check_user_labels({{std::string{kKeyLabel}, "a"},
                                         {std::string{kTemplateLabel}, "a"},
                                         {std::string{kOnEndLabel}, "a"},
                                         {std::string{kRequestLabel}, "a"}}));
}

TEST(RecordLabels, RefuseNamesThatDoNotFit) {
  EXPECT_FALSE(kept_labels({{"", "x"}}));
  EXPECT_FALSE(kept_labels({{std::string(60, 'a'), "x"}}));
  EXPECT_FALSE(kept_labels({{std::string(30, '/'), "x"}}));
}

TEST(RecordLabels, LeaveOutTheServersOwnAndWhatIsNone) {
  EXPECT_TRUE(client_labels({{"serve.key", "k"}, {"hex.zz", "x"}, {"hex.a", "x"}, {"other", "x"}}).empty());
}

TEST(RecordLabels, SayWhetherItIsOverOrAsleep) {
  Sandbox sandbox;
  sandbox.state = SandboxState::ended;
  EXPECT_TRUE(is_over(sandbox));
  EXPECT_FALSE(is_asleep(sandbox));
  sandbox.labels[std::string{kOnEndLabel}] = "stop";
  EXPECT_FALSE(is_over(sandbox));
  EXPECT_TRUE(is_asleep(sandbox));
  sandbox.state = SandboxState::stopped;
  EXPECT_TRUE(is_asleep(sandbox));
  sandbox.state = SandboxState::running;
  EXPECT_FALSE(is_over(sandbox) || is_asleep(sandbox));
}

}  // namespace
}  // namespace skiff::container::serve
