#include "container/egress/cluster/proxy_stats.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/page.hpp"

namespace skiff::container::egress {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ProxyStats, ThePageListsAllMetrics) {
  test::expect_page("egress-metrics.md", ProxyStats::markdown());
}

TEST(ProxyStats, CountsWhatTheLogSays) {
  ProxyStats stats;
  const Carried carried{.sent = 10, .received = 200};
  stats.count({.verdict = "allowed", .host = "pypi.org"});
  stats.count({.verdict = "ended", .host = "pypi.org", .carried = carried});
  stats.count({.verdict = "cut", .code = "policy_changed", .carried = carried});
  stats.count({.verdict = "denied", .code = "not_allowed", .host = "evil.org"});
  stats.count({.verdict = "denied", .code = "of a later version"});
  stats.count_canary_hit();
  const std::string text = stats.text({.connections = 3, .policies = 2, .open = {.sent = 1, .received = 2}});
  for (const char* line :
       {"skiff_egress_requests_total{verdict=\"allowed\",why=\"\"} 1\n",
        "skiff_egress_requests_total{verdict=\"cut\",why=\"policy_changed\"} 1\n",
        "skiff_egress_requests_total{verdict=\"denied\",why=\"not_allowed\"} 1\n",
        "skiff_egress_requests_total{verdict=\"denied\",why=\"other\"} 1\n", "skiff_egress_connections 3\n",
        "skiff_egress_bytes_total{direction=\"sent\"} 21\n", "skiff_egress_bytes_total{direction=\"received\"} 402\n",
        "skiff_egress_policies 2\n", "skiff_egress_canary_hits_total 1\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("pypi.org")));
}

TEST(ProxyStats, HasASeriesForEachCodeInTheSources) {
  const std::regex literal{R"(\{\s*\d{3}, "([a-z_]+)\")"};
  std::size_t count = 0;
  const auto sources = std::filesystem::path{test::kDocs}.parent_path() / "container/egress";
  for (const auto& file : std::filesystem::recursive_directory_iterator{sources}) {
    if (file.path().extension() != ".cpp") continue;
    std::ifstream stream{file.path()};
    const std::string text{std::istreambuf_iterator<char>{stream}, {}};
    for (std::sregex_iterator at{text.begin(), text.end(), literal}, end; at != end; ++at, ++count) {
      EXPECT_TRUE(ProxyStats::knows((*at)[1].str())) << (*at)[1].str();
    }
  }
  EXPECT_GT(count, 20U);
}

}  // namespace
}  // namespace skiff::container::egress
