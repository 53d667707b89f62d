#include "container/egress/cluster/pod_audit.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace skiff::container::egress {
namespace {

TEST(PodAudit, SaysWhoseLineItIs) {
  std::vector<std::string> lines;
  ProxyStats stats;
  PodAudit audit{{.sandbox = "demo", .id = "s-1", .pod = "skiff-demo"},
                 [&](std::string_view line) {
                   lines.emplace_back(line);
                   return true;
                 },
                 &stats};
  EXPECT_TRUE(audit.allow({.verdict = "allowed", .host = "pypi.org", .port = 443}));
  ASSERT_EQ(lines.size(), 1U);
  const auto line = nlohmann::json::parse(lines[0]);
  EXPECT_EQ(line["sandbox"], "demo");
  EXPECT_EQ(line["id"], "s-1");
  EXPECT_EQ(line["pod"], "skiff-demo");
}

TEST(PodAudit, BoundsRefusalsButNotWhatIsAllowed) {
  std::size_t count = 0;
  ProxyStats stats;
  PodAudit audit{{.sandbox = "demo"},
                 [&](std::string_view) {
                   ++count;
                   return true;
                 },
                 &stats};
  for (std::size_t i = 0; i < 10 * LineLimit::kMost; ++i) audit.deny({.verdict = "denied", .code = "not_allowed"});
  EXPECT_GE(count, LineLimit::kMost);
  EXPECT_LT(count, 10 * LineLimit::kMost);
  EXPECT_TRUE(stats.text({}).contains("{verdict=\"denied\",why=\"not_allowed\"} 200\n")) << "all are counted";
  count = 0;
  for (std::size_t i = 0; i < 10 * LineLimit::kMost; ++i) EXPECT_TRUE(audit.allow({.verdict = "allowed"}));
  EXPECT_EQ(count, 10 * LineLimit::kMost);
}

TEST(PodAudit, SaysThatALineCouldNotBeWritten) {
  ProxyStats stats;
  PodAudit audit{{.sandbox = "demo"}, [](std::string_view) { return false; }, &stats};
  EXPECT_FALSE(audit.allow({.verdict = "allowed"}));
}

}  // namespace
}  // namespace skiff::container::egress
