#include "container/serve/labelled_numbers.hpp"

#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skiff::container::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(LabelledNumbers, AllWordsOfAKeyBeginAtZeroTogether) {
  LabelledNumbers numbers{{"tenant", "result"}, {"good", "bad"}};
  EXPECT_TRUE(numbers.values().empty());
  ++numbers.of({"b"})[1];
  ++numbers.of({"a"})[0];
  ++numbers.of({"b"})[1];
  EXPECT_THAT(numbers.values(), ElementsAre(0, 2, 1, 0));
  const MetricsTable table{{{"x_total", "X.", metric::Counters{numbers.values()}, numbers.labels()}}};
  EXPECT_THAT(table.text(), HasSubstr("# TYPE x_total counter\n"
                                      "x_total{tenant=\"b\",result=\"good\"} 0\n"
                                      "x_total{tenant=\"b\",result=\"bad\"} 2\n"
                                      "x_total{tenant=\"a\",result=\"good\"} 1\n"));
}

TEST(LabelledNumbers, AGaugeOfSeveralSeriesIsAGauge) {
  LabelledNumbers numbers{{"tenant", "pool", "state"}, {"free"}};
  numbers.of({"a", "warm"})[0] = 3;
  const MetricsTable table{{{"members", "M.", metric::Gauges{numbers.values()}, numbers.labels()}}};
  EXPECT_THAT(table.text(), HasSubstr("# TYPE members gauge\nmembers{tenant=\"a\",pool=\"warm\",state=\"free\"} 3\n"));
}

TEST(LabelledNumbers, KeysAboveTheLimitShareARow) {
  LabelledNumbers numbers{{"tenant", "result"}, {"good"}};
  for (std::size_t i = 0; i < 2 * LabelledNumbers::kMostKeys; ++i) ++numbers.of({"t" + std::to_string(i)})[0];
  EXPECT_EQ(numbers.values().size(), LabelledNumbers::kMostKeys + 1);
  EXPECT_EQ(numbers.of({"-"})[0], LabelledNumbers::kMostKeys);
  EXPECT_EQ(numbers.of({"t0"})[0], 1U) << "known keys keep their rows";
}

TEST(LabelledNumbers, AKeyHasAValueForEachLabel) {
  LabelledNumbers numbers{{"tenant", "result"}, {"good"}};
  EXPECT_THROW((void)numbers.of({"a", "b"}), std::logic_error);
}

}  // namespace
}  // namespace skiff::container::serve
