#include "runtime/dialects/sandboxd/reflection.hpp"

#include <gtest/gtest.h>

#include "runtime/dialects/sandboxd/descriptors.hpp"

namespace skiff::runtime::dialects::sandboxd {
namespace {

TEST(Reflection, EveryServiceHasAFileWithAllThatItImports) {
  for (const std::string_view name : service_names()) {
    const ProtoFile* file = find_symbol(name);
    ASSERT_NE(file, nullptr) << name;
    EXPECT_EQ(find_file(file->name), file);
    for (const std::string_view dependency : file->dependencies) EXPECT_NE(find_file(dependency), nullptr);
  }
  EXPECT_NE(find_symbol(".process.v1.ProcessConfig.EnvVarsEntry"), nullptr);
  EXPECT_NE(find_symbol("grpc.health.v1.HealthCheckResponse.ServingStatus"), nullptr);
  for (const char* name : {"process.v1.PTY.cols", "process.v1.StartResponse.event", "process.v1.SIGNAL_SIGINT",
                           "process.v1.ProcessConfig.EnvVarsEntry.key", "process.v1.ProcessService.Start",
                           "grpc.health.v1.HealthCheckResponse.SERVING"}) {
    EXPECT_NE(find_symbol(name), nullptr) << name;
  }
  for (const char* name : {"process.v1", "process.v1.Signal.SIGNAL_SIGINT", "process.v1.PTY.", "PTY", ""}) {
    EXPECT_EQ(find_symbol(name), nullptr) << name;
  }
}

TEST(Reflection, AnswersWithTheRequestAndItsResult) {
  // list_services: ""
  const auto list = reflection_answer(std::string_view{"\x3a\x00", 2});
  ASSERT_TRUE(list);
  EXPECT_TRUE(list->contains("process.v1.ProcessService"));
  EXPECT_TRUE(list->starts_with(std::string_view{"\x12\x02\x3a\x00", 4})) << "a host that was not named is left out";
  EXPECT_TRUE(reflection_answer(std::string_view{"\x0a\x01h\x3a\x00", 5})->starts_with("\x0a\x01h\x12"));
  const auto missing = reflection_answer("\x22\x01x");
  ASSERT_TRUE(missing);
  EXPECT_TRUE(missing->contains("is not known here"));
  EXPECT_EQ(reflection_answer("\x22\x05x").error().code, Errc::invalid_field);
}

}  // namespace
}  // namespace skiff::runtime::dialects::sandboxd
