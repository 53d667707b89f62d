#include "container/serve/stats.hpp"

#include <string_view>

#include "container/serve/route.hpp"

namespace skiff::container::serve {
namespace {

constexpr std::string_view kGateway = "gateway";
constexpr unsigned kSwitchingProtocols = 101;

}  // namespace

Stats::Stats() : requests_{routes(), {std::string{kGateway}}}, gateway_row_{requests_.row_of(kGateway)} {}

void Stats::count(std::size_t row, unsigned status, std::chrono::microseconds took) {
  // A connection that has become a WebSocket has succeeded.
  requests_.count(row, status == kSwitchingProtocols ? 200 : status);
  if (row != gateway_row_) seconds_[0].observe(std::chrono::duration<double>{took}.count());
}

std::string Stats::text(std::size_t connections) const {
  const MetricsTable table{
      {requests_.requests(
           "skiff_serve_requests_total",
           "Requests by route and class of the answer's status; none: the client left before the answer."),
       {.name = "skiff_serve_request_seconds",
        .help = "Duration of requests that the server answered itself.",
        .source = metric::Histograms{seconds_}},
       {.name = "skiff_serve_cluster_faults_total",
        .help = "Requests that failed because the cluster did not answer, failed, or refused the server a right.",
        .source = metric::CounterFrom{[this] { return static_cast<double>(cluster_faults_); }}},
       {.name = "skiff_serve_pool_members_missing",
        .help = "Members that all pools lacked at the last check.",
        .source = metric::Gauge{[this] { return static_cast<double>(pool_missing_); }}},
       {.name = "skiff_serve_pool_fills_failed_total",
        .help = "Failed attempts to create missing members of pools.",
        .source = metric::CounterFrom{[this] { return static_cast<double>(pool_failures_); }}},
       {.name = "skiff_serve_connections", .help = "Open connections.", .source = metric::Gauge{[connections] {
                                                                          return static_cast<double>(connections);
                                                                        }}}}};
  return table.text();
}

}  // namespace skiff::container::serve
