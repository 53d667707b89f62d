#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// Numbers about a running process, for Prometheus. Counters are plain members of the code that counts (an increment,
/// no lookup, no lock). A table names them and converts them to text on request. Reactor thread only.
namespace skiff {

/// A histogram of durations, with buckets from a system call to a long command.
class Histogram {
 public:
  /// Upper bounds of the buckets, in seconds; a further bucket takes the rest.
  static constexpr std::array kBounds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                      0.25,   0.5,   1.0,    2.5,   5.0,  10.0,  30.0, 60.0};

  void observe(double seconds) noexcept {
    std::size_t bucket = 0;
    while (bucket < kBounds.size() && seconds > kBounds[bucket]) ++bucket;
    ++counts_[bucket];
    sum_ += seconds;
  }
  /// The count of each bucket alone (not cumulative); the last bucket is above all bounds.
  [[nodiscard]] std::span<const std::uint64_t> counts() const noexcept { return counts_; }
  [[nodiscard]] double sum() const noexcept { return sum_; }

 private:
  std::array<std::uint64_t, kBounds.size() + 1> counts_{};
  double sum_ = 0;
};

/// The values of a metric, one for each of its label sets (a single one for a metric without labels).
namespace metric {

struct Counters {
  std::span<const std::uint64_t> values;
};
struct Histograms {
  std::span<const Histogram> values;
};
struct Gauges {
  std::span<const std::uint64_t> values;
};
/// A function that is called for each output. NaN means there is no value: the series is left out.
struct Gauge {
  std::function<double()> read;
};
/// A counter that another component keeps, in any unit.
struct CounterFrom {
  std::function<double()> read;
};

using Source = std::variant<Counters, Histograms, Gauges, Gauge, CounterFrom>;

}  // namespace metric

/// The label sets of a metric, formatted once: `{route="/v1/run",method="POST"}` without the braces.
class LabelSets {
 public:
  LabelSets() = default;
  explicit LabelSets(std::vector<std::string_view> names) : names_{std::move(names)} {}

  /// Takes one value for each name.
  void add(std::initializer_list<std::string_view> values) { add(std::span{values.begin(), values.size()}); }
  void add(std::span<const std::string_view> values);

  [[nodiscard]] const std::vector<std::string_view>& names() const noexcept { return names_; }
  [[nodiscard]] const std::vector<std::string>& sets() const noexcept { return sets_; }

 private:
  std::vector<std::string_view> names_;
  std::vector<std::string> sets_;
};

/// One row of a metrics table.
struct Metric {
  std::string_view name;  ///< counters end in _total, times in _seconds, sizes in _bytes
  std::string_view help;  ///< one sentence, no line breaks
  metric::Source source;
  LabelSets labels = {};
  bool only_used = false;  ///< leave out label sets that counted nothing
};

/// Names metrics and formats them. The targets of the rows must outlive the table.
class MetricsTable {
 public:
  /// Each row needs as many values as label sets; names must be unique.
  explicit MetricsTable(std::vector<Metric> rows);

  /// Formats the Prometheus text format, version 0.0.4.
  [[nodiscard]] std::string text() const;
  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

  /// Formats a table for a documentation page: name, type, labels, help.
  [[nodiscard]] std::string markdown() const;

  [[nodiscard]] const std::vector<Metric>& rows() const noexcept { return rows_; }

 private:
  std::vector<Metric> rows_;
};

}  // namespace skiff
