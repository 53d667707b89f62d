#include "container/serve/stats.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/page.hpp"

namespace skiff::container::serve {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

TEST(ServeStats, ThePageListsAllMetrics) {
  test::expect_page("serve-metrics.md", Stats::markdown());
}

TEST(ServeStats, EachNumberIsShown) {
  Stats stats;
  FleetCounts fleet;
  const ReactorDelay reactor;
  fleet.know("a");
  fleet.bring_up[0].observe(0.2);
  fleet.sandboxes.of({"a"})[1] = 7;
  note_pool(&fleet.pools, "a", {.name = "warm", .available = 2, .active = 1, .total = 4, .target = 5});
  stats.count(stats.gateway_row(), 101, 1ms);
  stats.count_cluster_fault();
  stats.note_pools(3, 4);
  const std::string text =
      stats.text({.fleet = fleet, .reactor = reactor, .reviews = {5, 6, 7}, .connections = 8, .audit_lost = 9});
  for (const char* line : {
           "skiff_serve_requests_total{route=\"gateway\",method=\"-\",status=\"2xx\"} 1",
           "skiff_serve_creations_total{tenant=\"a\",result=\"failed\"} 0",
           "skiff_serve_bring_up_seconds_bucket{le=\"0.25\"} 1",
           "skiff_serve_wakes_total{tenant=\"a\",result=\"woken\"} 0",
           "skiff_serve_sandboxes{tenant=\"a\",state=\"running\"} 7",
           "skiff_serve_pool_members{tenant=\"a\",pool=\"warm\",state=\"available\"} 2",
           "skiff_serve_pool_members{tenant=\"a\",pool=\"warm\",state=\"starting\"} 1",
           "skiff_serve_pool_members{tenant=\"a\",pool=\"warm\",state=\"missing\"} 2",
           "skiff_serve_pool_members{tenant=\"a\",pool=\"warm\",state=\"taken\"} 1",
           "skiff_serve_pool_members_missing 3",
           "skiff_serve_pool_fills_failed_total 4",
           "skiff_serve_token_reviews_total{result=\"valid\"} 5",
           "skiff_serve_token_reviews_total{result=\"refused\"} 6",
           "skiff_serve_token_reviews_total{result=\"failed\"} 7",
           "skiff_serve_cluster_faults_total 1",
           "skiff_serve_reactor_delay_seconds_count 0",
           "skiff_serve_connections 8",
           "skiff_serve_audit_lost_total 9",
       }) {
    EXPECT_THAT(text, HasSubstr(line + std::string{"\n"}));
  }
}

}  // namespace
}  // namespace skiff::container::serve
