#include "runtime/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/api/route.hpp"
#include "tests/support/page.hpp"

namespace skiff::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(SkiffdMetrics, RequestsAreCountedByRouteAndClass) {
  RequestCounts requests{api::routes(), {"dialect:one", "dialect:two"}};
  const sessions::Counts commands;
  const sessions::OutputCounts output;
  const auto zero = [] { return 0.0; };
  const MetricsTable table = metrics_table({.requests = requests,
                                            .commands = commands,
                                            .output = output,
                                            .live_commands = zero,
                                            .sessions = zero,
                                            .connections = zero,
                                            .websockets = zero,
                                            .output_memory = zero,
                                            .output_spool = zero,
                                            .audit_lost = zero,
                                            .log_lost = zero,
                                            .draining = zero});
  EXPECT_THAT(table.text(), Not(HasSubstr("skiff_requests_total{")));
  requests.count(0, 200);
  requests.observe(0, 0.002);
  requests.count(requests.no_route(), 404);
  requests.observe(requests.no_route(), 0.001);
  requests.count(requests.no_route(), 431);
  const std::string first = "route=\"" + std::string{api::routes()[0].path} + "\",method=\"GET\"";
  EXPECT_THAT(table.text(), HasSubstr("skiff_requests_total{" + first + ",status=\"2xx\"} 1\n"));
  EXPECT_THAT(table.text(), HasSubstr("skiff_request_duration_seconds_count{" + first + "} 1\n"));
  EXPECT_THAT(table.text(), HasSubstr("skiff_requests_total{route=\"-\",method=\"-\",status=\"4xx\"} 2\n"));
  EXPECT_THAT(table.text(), HasSubstr("skiff_request_duration_seconds_count{route=\"-\",method=\"-\"} 1\n"));
  requests.count(requests.row_of("dialect:two"), 200);
  EXPECT_THAT(table.text(), HasSubstr("skiff_requests_total{route=\"dialect:two\",method=\"-\",status=\"2xx\"} 1\n"));
  EXPECT_EQ(requests.row_of("dialect:three"), requests.no_route());
  EXPECT_THAT(table.text(), HasSubstr("skiff_commands_ended_total{cause=\"spawn_failed\"} 0\n"));
}

TEST(SkiffdMetrics, AreDocumentedAsTheyAre) {
  test::expect_page("metrics.md", metrics_markdown());
}

}  // namespace
}  // namespace skiff::runtime
