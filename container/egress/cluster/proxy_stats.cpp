#include "container/egress/cluster/proxy_stats.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace skiff::container::egress {
namespace {

using verdict::kAllowed;
using verdict::kCut;
using verdict::kDenied;

/// The labels of a series of requests; the last row takes what has none.
struct Series {
  std::string_view verdict;
  std::string_view why;
};
constexpr std::array kRequests{Series{kAllowed, ""},
                               Series{kCut, "policy_changed"},
                               Series{kDenied, "audit_failed"},
                               Series{kDenied, "bad_answer"},
                               Series{kDenied, "bad_path"},
                               Series{kDenied, "bad_request"},
                               Series{kDenied, "bad_target"},
                               Series{kDenied, "connect"},
                               Series{kDenied, "dns"},
                               Series{kDenied, "encoded_answer"},
                               Series{kDenied, "host_mismatch"},
                               Series{kDenied, "method_not_allowed"},
                               Series{kDenied, "no_credential"},
                               Series{kDenied, "no_keys"},
                               Series{kDenied, "no_policy"},
                               Series{kDenied, "not_allowed"},
                               Series{kDenied, "not_fenced"},
                               Series{kDenied, "not_tls"},
                               Series{kDenied, "placeholder_elsewhere"},
                               Series{kDenied, "port_not_allowed"},
                               Series{kDenied, "private_address"},
                               Series{kDenied, "request_not_allowed"},
                               Series{kDenied, "secret_missing"},
                               Series{kDenied, "sni_mismatch"},
                               Series{kDenied, "timeout"},
                               Series{kDenied, "tls_failed"},
                               Series{kDenied, "too_many_connections"},
                               Series{kDenied, "too_many_names"},
                               Series{kDenied, "unknown_source"},
                               Series{kDenied, "upgrade_not_allowed"},
                               Series{kDenied, "upload_too_large"},
                               Series{kDenied, "upstream_tls"},
                               Series{kDenied, "wrong_credential"},
                               Series{kDenied, "other"}};

LabelSets labels_of_requests() {
  LabelSets labels{{"verdict", "why"}};
  for (const Series& series : kRequests) labels.add({series.verdict, series.why});
  return labels;
}

LabelSets directions() {
  LabelSets labels{{"direction"}};
  labels.add({"sent"});
  labels.add({"received"});
  return labels;
}

double seconds_since(SteadyTime begun) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

}  // namespace

ProxyStats::ProxyStats() {
  static_assert(kRequests.size() <= kSeries);
}

bool ProxyStats::knows(std::string_view code) {
  return std::ranges::find(kRequests, code, &Series::why) != kRequests.end();
}

void ProxyStats::note_generation(SteadyTime begun) noexcept {
  generation_[0].observe(seconds_since(begun));
}

void ProxyStats::note_look_up(SteadyTime begun) noexcept {
  look_up_[0].observe(seconds_since(begun));
}

void ProxyStats::count(const AuditEntry& entry) {
  if (entry.carried) {
    bytes_[0] += entry.carried->sent;
    bytes_[1] += entry.carried->received;
  }
  if (entry.verdict == verdict::kEnded) return;
  const auto found = std::ranges::find_if(kRequests, [&](const Series& series) {
    return series.verdict == entry.verdict && (series.verdict == kAllowed || series.why == entry.code);
  });
  const auto last = std::prev(kRequests.end());
  ++requests_[static_cast<std::size_t>((found == kRequests.end() ? last : found) - kRequests.begin())];
}

std::string ProxyStats::text(const Measured& measured) const {
  const Bytes bytes{bytes_[0] + measured.open.sent, bytes_[1] + measured.open.received};
  return table(measured, bytes).text();
}

std::string ProxyStats::markdown() {
  return "# Metrics of the egress proxy\n\n"
         "Each replica of the egress proxy in a cluster answers `GET /metrics` on its port 9128 in the Prometheus text "
         "format, version 0.0.4.\nCounters start at 0 with each process. No label names a sandbox, a Pod or a host: "
         "these are in the log.\n\n"
         "This page is generated from the table in `container/egress/cluster/proxy_stats.cpp`: run `container_tests` "
         "with\n`SKIFF_UPDATE_DOCS=1` after a change.\n\n" +
         ProxyStats{}.table({}, {}).markdown();
}

MetricsTable ProxyStats::table(const Measured& measured, const Bytes& bytes) const {
  using namespace metric;
  return MetricsTable{std::vector<Metric>{
      {.name = "skiff_egress_requests_total",
       .help = "Connections and plain requests by verdict and code of the refusal; cut: allowed before its rule went.",
       .source = Counters{std::span{requests_}.first(kRequests.size())},
       .labels = labels_of_requests(),
       .only_used = true},
      {.name = "skiff_egress_connections",
       .help = "Open connections of sandboxes.",
       .source = Gauge{[count = measured.connections] { return static_cast<double>(count); }}},
      {.name = "skiff_egress_bytes_total",
       .help = "Bytes to and from servers.",
       .source = Counters{bytes},
       .labels = directions()},
      {.name = "skiff_egress_policies",
       .help = "Sandboxes whose rules this replica has in force.",
       .source = Gauge{[count = measured.policies] { return static_cast<double>(count); }}},
      {.name = "skiff_egress_generation_seconds",
       .help = "Time from the event of a Pod with new rules until these are in force and what they forbid is cut.",
       .source = Histograms{generation_}},
      {.name = "skiff_egress_canary_hits_total",
       .help = "Connections to the canary from sandboxes that were fenced before: their network is open.",
       .source = Counters{canary_hits_}},
      {.name = "skiff_egress_look_up_seconds",
       .help = "Time of the look-ups of names in DNS.",
       .source = Histograms{look_up_}},
      {.name = "skiff_egress_dial_seconds",
       .help = "Time of the connects to addresses of servers, also of those that failed.",
       .source = Histograms{dial_}},
  }};
}

}  // namespace skiff::container::egress
