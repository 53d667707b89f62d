#include "base/metrics.hpp"

#include <charconv>
#include <cmath>
#include <set>
#include <stdexcept>

#include "base/bytes/decimal.hpp"

namespace skiff {
namespace {

void append_escaped(std::string& out, std::string_view text, bool in_label) {
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && in_label) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
}

void append_number(std::string& out, std::uint64_t value) {
  std::array<char, 24> digits{};
  out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

void append_number(std::string& out, double value) {
  // Durations need millionths, the resolution of the clocks; above the first bound are sizes in bytes, without
  // decimals.
  constexpr double kMostWithDecimals = 9e12;
  constexpr double kMost = 9e18;
  if (std::fabs(value) < kMostWithDecimals) {
    append_decimal(out, std::llround(value * 1e6), 6);
  } else if (std::fabs(value) < kMost) {
    append_decimal(out, std::llround(value), 0);
  } else {
    out += value > 0 ? "+Inf" : "-Inf";
  }
}

/// Appends `name_suffix{labels,le="bound"} value`.
template <class Value>
void append_sample(std::string& out, std::string_view name, std::string_view suffix, std::string_view labels,
                   std::string_view bound, Value value) {
  out += name;
  out += suffix;
  if (!labels.empty() || !bound.empty()) {
    out += '{';
    out += labels;
    if (!labels.empty() && !bound.empty()) out += ',';
    if (!bound.empty()) {
      out += "le=\"";
      out += bound;
      out += '"';
    }
    out += '}';
  }
  out += ' ';
  append_number(out, value);
  out += '\n';
}

const std::vector<std::string>& bound_texts() {
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> made;
    for (const double bound : Histogram::kBounds) append_number(made.emplace_back(), bound);
    return made;
  }();
  return texts;
}

void append_histogram(std::string& out, std::string_view name, std::string_view labels, const Histogram& histogram,
                      bool only_used) {
  std::uint64_t below = 0;
  for (const std::uint64_t count : histogram.counts()) below += count;
  if (only_used && below == 0) return;
  const std::uint64_t all = below;
  below = 0;
  for (std::size_t i = 0; i < Histogram::kBounds.size(); ++i) {
    below += histogram.counts()[i];
    append_sample(out, name, "_bucket", labels, bound_texts()[i], below);
  }
  append_sample(out, name, "_bucket", labels, "+Inf", all);
  append_sample(out, name, "_sum", labels, {}, histogram.sum());
  append_sample(out, name, "_count", labels, {}, all);
}

std::string_view type_of(const metric::Source& source) {
  if (std::holds_alternative<metric::Histograms>(source)) return "histogram";
  const bool is_gauge = std::holds_alternative<metric::Gauge>(source) || std::holds_alternative<metric::Gauges>(source);
  return is_gauge ? "gauge" : "counter";
}

/// The values of counters or gauges; null for other sources.
const std::span<const std::uint64_t>* whole_numbers(const metric::Source& source) {
  if (const auto* counters = std::get_if<metric::Counters>(&source)) return &counters->values;
  const auto* gauges = std::get_if<metric::Gauges>(&source);
  return gauges == nullptr ? nullptr : &gauges->values;
}

std::size_t values_of(const metric::Source& source) {
  if (const auto* numbers = whole_numbers(source)) return numbers->size();
  if (const auto* histograms = std::get_if<metric::Histograms>(&source)) return histograms->values.size();
  return 1;
}

void append_samples(std::string& out, const Metric& row) {
  const auto& sets = row.labels.sets();
  const auto labels_of = [&](std::size_t i) { return sets.empty() ? std::string_view{} : std::string_view{sets[i]}; };
  if (const auto* numbers = whole_numbers(row.source)) {
    for (std::size_t i = 0; i < numbers->size(); ++i) {
      if (row.only_used && (*numbers)[i] == 0) continue;
      append_sample(out, row.name, {}, labels_of(i), {}, (*numbers)[i]);
    }
  } else if (const auto* histograms = std::get_if<metric::Histograms>(&row.source)) {
    for (std::size_t i = 0; i < histograms->values.size(); ++i) {
      append_histogram(out, row.name, labels_of(i), histograms->values[i], row.only_used);
    }
  } else {
    const auto* gauge = std::get_if<metric::Gauge>(&row.source);
    const double value = gauge != nullptr ? gauge->read() : std::get<metric::CounterFrom>(row.source).read();
    if (!std::isnan(value)) append_sample(out, row.name, {}, labels_of(0), {}, value);
  }
}

}  // namespace

void LabelSets::add(std::span<const std::string_view> values) {
  if (values.size() != names_.size()) throw std::logic_error{"a label set has one value for each name"};
  std::string& text = sets_.emplace_back();
  std::size_t i = 0;
  for (const std::string_view value : values) {
    if (!text.empty()) text += ',';
    text += names_[i++];
    text += "=\"";
    append_escaped(text, value, true);
    text += '"';
  }
}

MetricsTable::MetricsTable(std::vector<Metric> rows) : rows_{std::move(rows)} {
  std::set<std::string_view> names;
  for (const Metric& row : rows_) {
    const std::string name{row.name};
    if (!names.insert(row.name).second) throw std::logic_error{"two metrics are called " + name};
    const std::size_t sets = row.labels.names().empty() ? 1 : row.labels.sets().size();
    if (values_of(row.source) != sets) throw std::logic_error{name + ": not one value for each label set"};
  }
}

std::string MetricsTable::text() const {
  std::string out;
  out.reserve(std::size_t{16} << 10U);
  for (const Metric& row : rows_) {
    out += "# HELP ";
    out += row.name;
    out += ' ';
    append_escaped(out, row.help, false);
    out += "\n# TYPE ";
    out += row.name;
    out += ' ';
    out += type_of(row.source);
    out += '\n';
    append_samples(out, row);
  }
  return out;
}

std::string MetricsTable::markdown() const {
  std::string out{"| Metric | Type | Labels | What it says |\n|---|---|---|---|\n"};
  for (const Metric& row : rows_) {
    out += "| `" + std::string{row.name} + "` | " + std::string{type_of(row.source)} + " | ";
    bool first = true;
    for (const std::string_view name : row.labels.names()) {
      if (!std::exchange(first, false)) out += ", ";
      out += "`" + std::string{name} + "`";
    }
    out += " | " + std::string{row.help} + " |\n";
  }
  return out;
}

}  // namespace skiff
