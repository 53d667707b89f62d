#include "protocol/service/metrics.hpp"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/service/route.hpp"

namespace skiff::protocol::service {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::array kRoutes{Route<int>{.method = "GET", .path = "/a"}, Route<int>{.method = "PUT", .path = "/a"}};

std::string text_of(const RequestCounts& counts) {
  return MetricsTable{{counts.requests("t_total", "Requests."), counts.seconds("t_seconds", "Times.")}}.text();
}

TEST(ServiceMetrics, CountRequestsByRouteAndClass) {
  RequestCounts counts{kRoutes, {"other"}};
  EXPECT_THAT(text_of(counts), Not(HasSubstr("t_total{")));
  counts.count(1, 200);
  counts.count(1, 204);
  counts.count(1, 503);
  counts.count(0, 0);
  counts.observe(1, 0.002);
  const std::string text = text_of(counts);
  EXPECT_THAT(text, HasSubstr("t_total{route=\"/a\",method=\"PUT\",status=\"2xx\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("t_total{route=\"/a\",method=\"PUT\",status=\"5xx\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("t_total{route=\"/a\",method=\"GET\",status=\"none\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("t_seconds_count{route=\"/a\",method=\"PUT\"} 1\n"));
}

TEST(ServiceMetrics, HaveRowsForWhatNoTableLists) {
  RequestCounts counts{kRoutes, {"one", "two"}};
  EXPECT_EQ(counts.row_of("three"), counts.no_route());
  counts.count(counts.no_route(), 404);
  counts.count(counts.row_of("two"), 200);
  EXPECT_THAT(text_of(counts), HasSubstr("t_total{route=\"-\",method=\"-\",status=\"4xx\"} 1\n"));
  EXPECT_THAT(text_of(counts), HasSubstr("t_total{route=\"two\",method=\"-\",status=\"2xx\"} 1\n"));
}

}  // namespace
}  // namespace skiff::protocol::service
