#include "base/metrics.hpp"

#include <array>
#include <limits>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skiff {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

TEST(Metrics, ACounterIsShownWithItsHelpAndType) {
  const std::array<std::uint64_t, 1> count{42};
  const MetricsTable table{{{"things_total", "Things \\ seen.", metric::Counters{count}}}};
  EXPECT_EQ(table.text(),
            "# HELP things_total Things \\\\ seen.\n"
            "# TYPE things_total counter\n"
            "things_total 42\n");
}

TEST(Metrics, EachLabelSetIsASeriesAndItsValuesAreEscaped) {
  const std::array<std::uint64_t, 2> counts{1, 2};
  LabelSets labels{{"route", "method"}};
  labels.add({"/a", "GET"});
  labels.add({"a\"b\\c\nd", "PUT"});
  const MetricsTable table{{{"x_total", "X.", metric::Counters{counts}, labels}}};
  EXPECT_THAT(table.text(), HasSubstr("x_total{route=\"/a\",method=\"GET\"} 1\n"));
  EXPECT_THAT(table.text(), HasSubstr("x_total{route=\"a\\\"b\\\\c\\nd\",method=\"PUT\"} 2\n"));
}

TEST(Metrics, ValuesAreReadWhenTheTextIsMade) {
  std::array<std::uint64_t, 1> count{1};
  double level = 0.5;
  const MetricsTable table{{{"x_total", "X.", metric::Counters{count}},
                            {"level", "Level.", metric::Gauge{[&] { return level; }}},
                            {"cpu_seconds_total", "Cpu.", metric::CounterFrom{[] { return 1.25; }}}}};
  EXPECT_THAT(table.text(), HasSubstr("x_total 1\n"));
  EXPECT_THAT(table.text(), HasSubstr("# TYPE level gauge\nlevel 0.5\n"));
  EXPECT_THAT(table.text(), HasSubstr("# TYPE cpu_seconds_total counter\ncpu_seconds_total 1.25\n"));
  count[0] = 7;
  level = 3;
  EXPECT_THAT(table.text(), HasSubstr("x_total 7\n"));
  EXPECT_THAT(table.text(), HasSubstr("level 3\n"));
}

TEST(Metrics, ValuesHaveUpToSixDecimalsAndNoExponent) {
  double level = 0;
  const MetricsTable table{{{"level", "Level.", metric::Gauge{[&] { return level; }}}}};
  const auto shown = [&](double value) {
    level = value;
    const std::string text = table.text();
    return text.substr(text.find("\nlevel ") + 7);
  };
  EXPECT_EQ(shown(1763740800.1234567), "1763740800.123457\n");
  EXPECT_EQ(shown(-0.25), "-0.25\n");
  EXPECT_EQ(shown(1e-7), "0\n");
  EXPECT_EQ(shown(1125899906842624), "1125899906842624\n");
  EXPECT_EQ(shown(18446744073709551615.0), "+Inf\n") << "RLIM_INFINITY";
  EXPECT_EQ(shown(-std::numeric_limits<double>::infinity()), "-Inf\n");
}

TEST(Metrics, AbsentValuesAreLeftOut) {
  const std::array<std::uint64_t, 2> counts{0, 5};
  LabelSets labels{{"cause"}};
  labels.add({"never"});
  labels.add({"often"});
  const MetricsTable table{
      {{"x_total", "X.", metric::Counters{counts}, labels, true}, {"y", "Y.", metric::Gauge{[] { return kNone; }}}}};
  EXPECT_THAT(table.text(), Not(HasSubstr("never")));
  EXPECT_THAT(table.text(), HasSubstr("x_total{cause=\"often\"} 5\n"));
  EXPECT_THAT(table.text(), Not(HasSubstr("\ny ")));
}

TEST(Metrics, AHistogramCountsUpToEachBound) {
  std::array<Histogram, 1> times{};
  for (const double seconds : {0.0004, 0.001, 0.3, 1000.0}) times[0].observe(seconds);
  const MetricsTable table{{{"t_seconds", "T.", metric::Histograms{times}}}};
  const std::string text = table.text();
  EXPECT_THAT(text, HasSubstr("# TYPE t_seconds histogram\n"));
  EXPECT_THAT(text, HasSubstr("t_seconds_bucket{le=\"0.0005\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("t_seconds_bucket{le=\"0.001\"} 2\n")) << "a bound belongs to its bucket";
  EXPECT_THAT(text, HasSubstr("t_seconds_bucket{le=\"0.25\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("t_seconds_bucket{le=\"0.5\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("t_seconds_bucket{le=\"60\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("t_seconds_bucket{le=\"+Inf\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("t_seconds_count 4\n"));
  EXPECT_THAT(text, HasSubstr("t_seconds_sum 1000.3014\n"));
}

TEST(Metrics, AHistogramsBoundJoinsTheLabels) {
  std::array<Histogram, 2> times{};
  times[1].observe(0.0);
  LabelSets labels{{"route"}};
  labels.add({"/a"});
  labels.add({"/b"});
  const MetricsTable table{{{"t_seconds", "T.", metric::Histograms{times}, labels, true}}};
  EXPECT_THAT(table.text(), HasSubstr("t_seconds_bucket{route=\"/b\",le=\"0.0005\"} 1\n"));
  EXPECT_THAT(table.text(), Not(HasSubstr("/a")));
}

TEST(Metrics, AnInconsistentTableIsRefused) {
  const std::array<std::uint64_t, 2> two{};
  const std::array<std::uint64_t, 1> one{};
  const auto make = [](std::vector<Metric> rows) { return MetricsTable{std::move(rows)}; };
  EXPECT_THROW((void)make({{"x_total", "X.", metric::Counters{two}}}), std::logic_error);
  EXPECT_THROW((void)make({{"x_total", "X.", metric::Counters{one}}, {"x_total", "X.", metric::Counters{one}}}),
               std::logic_error);
  LabelSets labels{{"a", "b"}};
  EXPECT_THROW(labels.add({"only one"}), std::logic_error);
}

TEST(Metrics, ThePageNamesEveryRow) {
  const std::array<std::uint64_t, 1> count{};
  LabelSets labels{{"route", "method"}};
  labels.add({"/", "GET"});
  const MetricsTable table{{{"x_total", "What X is.", metric::Counters{count}, labels}}};
  EXPECT_THAT(table.markdown(), HasSubstr("| `x_total` | counter | `route`, `method` | What X is. |\n"));
}

}  // namespace
}  // namespace skiff
