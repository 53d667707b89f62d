#include "container/serve/stats.hpp"

#include <string_view>

#include "container/serve/route.hpp"

namespace skiff::container::serve {
namespace {

constexpr std::string_view kGateway = "gateway";
constexpr unsigned kSwitchingProtocols = 101;

LabelSets review_ends() {
  LabelSets labels{{"result"}};
  for (const std::string_view end : AccountCache::kReviewEnds) labels.add({end});
  return labels;
}

metric::CounterFrom counter(const std::uint64_t& value) {
  return {[&value] { return static_cast<double>(value); }};
}

}  // namespace

Stats::Stats() : requests_{routes(), {std::string{kGateway}}}, gateway_row_{requests_.row_of(kGateway)} {}

void Stats::count(std::size_t row, unsigned status, std::chrono::microseconds took) {
  // A connection that has become a WebSocket has succeeded.
  requests_.count(row, status == kSwitchingProtocols ? 200 : status);
  if (row != gateway_row_) seconds_[0].observe(std::chrono::duration<double>{took}.count());
}

MetricsTable Stats::table(const Measured& m) const {
  using metric::Counters;
  using metric::Gauge;
  using metric::Gauges;
  using metric::Histograms;
  const FleetCounts& fleet = m.fleet;
  // clang-format off
  return MetricsTable{{
      requests_.requests("skiff_serve_requests_total", "Requests by route and class of the answer's status; gateway: passed on to a sandbox; none: the client left before the answer."),
      {"skiff_serve_request_seconds", "Duration of requests that the server answered itself.", Histograms{seconds_}},
      {"skiff_serve_creations_total", "Creations of sandboxes. refused: the request or a limit is to blame; failed: the server or the cluster is; cancelled: it was given up before its end; existing: the sandbox was there.",
       Counters{fleet.creations.values()}, fleet.creations.labels()},
      {"skiff_serve_bring_up_seconds", "Time from the request for a new sandbox until it was up; without failures.", Histograms{fleet.bring_up}},
      {"skiff_serve_wakes_total", "Starts of stopped sandboxes by requests through the gateway, with results as above.",
       Counters{fleet.wakes.values()}, fleet.wakes.labels()},
      {"skiff_serve_sandboxes", "Sandboxes at the last look, 15 seconds apart. Each replica counts all, so take the maximum of the replicas.",
       Gauges{fleet.sandboxes.values()}, fleet.sandboxes.labels()},
      {"skiff_serve_pool_members", "Members of warm pools at the last look, with the driver pod. available: ready to be taken; starting: not ready yet; missing: not created yet; taken: used as sandboxes. Each replica counts all.",
       Gauges{fleet.pools.values()}, fleet.pools.labels()},
      {"skiff_serve_pool_members_missing", "Members that all pools lacked at the last look.", Gauge{counter(pool_missing_).read}},
      {"skiff_serve_pool_fills_failed_total", "Failed attempts to create missing members of pools.", counter(pool_failures_)},
      {"skiff_serve_token_reviews_total", "Tokens of service accounts that the cluster was asked about (TokenReview). failed: the cluster did not answer, or refused the server the right.",
       Counters{m.reviews}, review_ends()},
      {"skiff_serve_cluster_faults_total", "Requests that failed because the cluster did not answer, failed, or refused the server a right.", counter(cluster_faults_)},
      {"skiff_serve_reactor_delay_seconds", "How late a timer ran that is due ten times a second. A high value holds up all requests.", Histograms{m.reactor.seconds()}},
      {"skiff_serve_audit_lost_total", "Lines that the audit log could not take; absent without --audit-log.", metric::CounterFrom{[lost = m.audit_lost] { return lost; }}},
      {"skiff_serve_connections", "Open connections.", Gauge{[connections = m.connections] { return static_cast<double>(connections); }}},
  }};
  // clang-format on
}

std::string Stats::markdown() {
  return "# Metrics of skiff serve\n\n"
         "`GET /metrics` of `skiff serve` (API key with the scope `admin`) answers in the Prometheus text format, "
         "version "
         "0.0.4. Counters start at 0 with each\nprocess. The series of a route appear when its first request has been "
         "answered, those of a tenant within 15 seconds after its first key was created.\nA metric has series for the "
         "first 1,000 tenants or pools; all others share the series whose labels are `-`.\n"
         "The answer names all tenants: give the scope `admin` to operators only.\n\n"
         "This page is generated from the table in `container/serve/stats.cpp`: run `container_tests` with "
         "`SKIFF_UPDATE_DOCS=1`\nafter a change.\n\n" +
         Stats{}.table({.fleet = FleetCounts{}, .reactor = ReactorDelay{}}).markdown();
}

}  // namespace skiff::container::serve
