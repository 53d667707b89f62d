#pragma once

#include <fnmatch.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace skiff::test {

/// Skips the cases that the file SKIFF_NOT_RUN lists, each with its reason. A line that is not indented is a reason,
/// the indented lines below it are patterns of names (`Suite.Case`), as fnmatch(3) reads them; `#` begins a comment.
class NotRun : public testing::EmptyTestEventListener {
 public:
  NotRun() {
    const char* path = std::getenv("SKIFF_NOT_RUN");
    if (path == nullptr) return;
    std::ifstream file{path};
    if (!file) ADD_FAILURE() << "SKIFF_NOT_RUN is not readable: " << path;
    std::string reason;
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line.front() == '#') continue;
      const auto begin = line.find_first_not_of(' ');
      if (begin == 0) {
        reason = line;
      } else {
        cases_.emplace_back(line.substr(begin), reason);
      }
    }
  }

 private:
  void OnTestStart(const testing::TestInfo& test) override {
    const std::string name = std::string{test.test_suite_name()} + '.' + test.name();
    for (const auto& [pattern, reason] : cases_) {
      if (::fnmatch(pattern.c_str(), name.c_str(), 0) == 0) GTEST_SKIP() << reason;
    }
  }

  std::vector<std::pair<std::string, std::string>> cases_;  ///< pattern, reason
};

}  // namespace skiff::test
