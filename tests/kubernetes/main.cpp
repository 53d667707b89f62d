#include <cstdio>
#include <exception>
#include <memory>

#include <gtest/gtest.h>

#include "tests/kubernetes/cluster.hpp"

namespace skiff::test {
namespace {
std::unique_ptr<Cluster> running;
}  // namespace

Cluster& cluster() {
  return *running;
}
}  // namespace skiff::test

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  using skiff::test::running;
  int status = 1;
  try {
    if (!GTEST_FLAG_GET(list_tests)) {
      running = std::make_unique<skiff::test::Cluster>();
      running->begin();
    }
    status = RUN_ALL_TESTS();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
  }
  running.reset();
  return status;
}
