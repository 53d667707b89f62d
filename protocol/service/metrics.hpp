#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/metrics.hpp"

namespace skiff::protocol::service {

/// How requests were answered, by the row of the route table that they matched and the class of the status. Reactor
/// thread only.
class RequestCounts {
 public:
  /// It has a row for each of `routes`, one for requests that match none, and one for each of `others`: requests that
  /// a table does not list, by the name that metrics have for them.
  template <class Routes>
  explicit RequestCounts(const Routes& routes, const std::vector<std::string>& others = {}) {
    for (const auto& route : routes) add(std::string{route.path}, route.method);
    no_route_ = rows_.size();
    add("-", "-");
    for (const std::string& other : others) add(other, "-");
  }

  void count(std::size_t row, unsigned status) noexcept { ++by_class_[row * kClasses.size() + class_of(status)]; }
  /// From the head of a request to the end of its answer.
  void observe(std::size_t row, double seconds) noexcept { seconds_[row].observe(seconds); }

  /// The row of requests that match no route.
  [[nodiscard]] std::size_t no_route() const noexcept { return no_route_; }
  /// The row of one of the others, or `no_route`.
  [[nodiscard]] std::size_t row_of(std::string_view other) const noexcept;

  /// Metrics over these numbers, which must outlive them. A client could make up any number of paths: those that match
  /// no route have the labels "-".
  [[nodiscard]] Metric requests(std::string_view name, std::string_view help) const;
  [[nodiscard]] Metric seconds(std::string_view name, std::string_view help) const;

 private:
  struct Row {
    std::string route;
    std::string_view method;
  };
  static constexpr std::array<std::string_view, 6> kClasses{"1xx", "2xx", "3xx", "4xx", "5xx", "none"};

  void add(std::string route, std::string_view method);
  /// The class "none" is for requests whose clients left before they were answered.
  [[nodiscard]] static std::size_t class_of(unsigned status) noexcept {
    return status >= 100 && status < 600 ? status / 100 - 1 : kClasses.size() - 1;
  }

  std::size_t no_route_ = 0;
  std::vector<Row> rows_;
  std::vector<std::uint64_t> by_class_;
  std::vector<Histogram> seconds_;
};

}  // namespace skiff::protocol::service
