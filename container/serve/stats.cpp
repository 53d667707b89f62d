#include "container/serve/stats.hpp"

#include <utility>

#include "container/serve/route.hpp"

namespace skiff::container::serve {
namespace {

/// Of a status; what was never answered comes last.
std::size_t class_of(unsigned status) {
  if (status < 200 || status > 599) return status == 101 ? 0 : 4;
  return status / 100 - 2;
}

}  // namespace

Stats::Stats() : rows_{routes().size()}, requests_((rows_ + 2) * kClasses.size()) {}

void Stats::count(std::size_t row, unsigned status, std::chrono::microseconds took) {
  ++requests_[row * kClasses.size() + class_of(status)];
  if (row != gateway_row()) seconds_[0].observe(std::chrono::duration<double>{took}.count());
}

std::string Stats::text(std::size_t connections) const {
  LabelSets labels{{"method", "route", "status"}};
  for (std::size_t row = 0; row < rows_ + 2; ++row) {
    const bool is_route = row < rows_;
    const std::string_view path = is_route ? routes()[row].path : row == gateway_row() ? "gateway" : "-";
    for (const std::string_view one : kClasses) labels.add({is_route ? routes()[row].method : "-", path, one});
  }
  const MetricsTable table{
      {{.name = "skiff_serve_requests_total",
        .help = "Requests by route and class of the answer's status; none: the client left before.",
        .source = metric::Counters{requests_},
        .labels = std::move(labels),
        .only_used = true},
       {.name = "skiff_serve_request_seconds",
        .help = "How long requests took that were not passed on to a sandbox.",
        .source = metric::Histograms{seconds_}},
       {.name = "skiff_serve_cluster_faults_total",
        .help = "Requests that failed because the cluster did not answer, failed, or refused the server a right.",
        .source = metric::CounterFrom{[this] { return static_cast<double>(cluster_faults_); }}},
       {.name = "skiff_serve_pool_members_missing",
        .help = "Members of all pools that were missing when they were last looked at.",
        .source = metric::Gauge{[this] { return static_cast<double>(pool_missing_); }}},
       {.name = "skiff_serve_pool_fills_failed_total",
        .help = "Attempts to make missing members that were refused.",
        .source = metric::CounterFrom{[this] { return static_cast<double>(pool_failures_); }}},
       {.name = "skiff_serve_connections",
        .help = "Connections that are open.",
        .source = metric::Gauge{[connections] { return static_cast<double>(connections); }}}}};
  return table.text();
}

}  // namespace skiff::container::serve
