// The test programs' main: `LAYER_tests [--file=tests/FILE] [gtest's own flags]`. With --file, the cases of that
// file alone. After each case a look at what it left behind.
#include <iostream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/support/leftovers.hpp"
#include "tests/support/not_run.hpp"

namespace {

constexpr std::string_view kFile = "--file=";

/// gtest's filter for the cases that stand in a source file whose path ends so; empty when there are none.
std::string cases_of(std::string_view file) {
  std::string filter;
  const auto& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const auto& suite = *all.GetTestSuite(s);
    for (int c = 0; c < suite.total_test_count(); ++c) {
      const auto& info = *suite.GetTestInfo(c);
      if (!std::string_view{info.file()}.ends_with(file)) continue;
      filter += (filter.empty() ? "" : ":") + std::string{suite.name()} + '.' + info.name();
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc == 2 && std::string_view{argv[1]}.starts_with(kFile)) {
    const auto filter = cases_of(std::string_view{argv[1]}.substr(kFile.size()));
    if (filter.empty()) {
      std::cerr << argv[1] << ": no test is in that file\n";
      return 2;
    }
    testing::GTEST_FLAG(filter) = filter;
  } else if (argc != 1) {
    std::cerr << "usage: " << argv[0] << " [--file=LAYER/NAME_test.cpp] [gtest flags]\n";
    return 2;
  }
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  listeners.Append(new skiff::test::Leftovers);  // gtest owns them
  listeners.Append(new skiff::test::NotRun);
  return RUN_ALL_TESTS();
}
