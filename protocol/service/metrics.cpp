#include "protocol/service/metrics.hpp"

#include <algorithm>
#include <utility>

namespace skiff::protocol::service {

void RequestCounts::add(std::string route, std::string_view method) {
  rows_.push_back({.route = std::move(route), .method = method});
  by_class_.resize(rows_.size() * kClasses.size());
  seconds_.emplace_back();
}

std::size_t RequestCounts::row_of(std::string_view other) const noexcept {
  const auto begin = rows_.begin() + static_cast<std::ptrdiff_t>(no_route_);
  const auto found = std::find_if(begin, rows_.end(), [&](const Row& row) { return row.route == other; });
  return found == rows_.end() ? no_route_ : static_cast<std::size_t>(found - rows_.begin());
}

Metric RequestCounts::requests(std::string_view name, std::string_view help) const {
  LabelSets labels{{"route", "method", "status"}};
  for (const Row& row : rows_) {
    for (const std::string_view status : kClasses) labels.add({row.route, row.method, status});
  }
  return {.name = name,
          .help = help,
          .source = metric::Counters{by_class_},
          .labels = std::move(labels),
          .only_used = true};
}

Metric RequestCounts::seconds(std::string_view name, std::string_view help) const {
  LabelSets labels{{"route", "method"}};
  for (const Row& row : rows_) labels.add({row.route, row.method});
  return {.name = name,
          .help = help,
          .source = metric::Histograms{seconds_},
          .labels = std::move(labels),
          .only_used = true};
}

}  // namespace skiff::protocol::service
