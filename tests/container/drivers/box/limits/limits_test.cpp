#include "container/drivers/box/limits/limits.hpp"

#include <gtest/gtest.h>

namespace skiff::container::box {
namespace {

constexpr int kKernel = 6001;

SandboxSpec asking(std::string memory, std::string cpu, std::uint64_t pids = 0) {
  SandboxSpec spec{.name = "demo"};
  if (!memory.empty()) spec.pod.memory = std::move(memory);
  if (!cpu.empty()) spec.pod.cpu = std::move(cpu);
  spec.pids = pids;
  return spec;
}

TEST(BoxLimits, AreNoneUnlessTheyAreNamed) {
  const auto limits = parse_limits(asking("", ""), kKernel);
  ASSERT_TRUE(limits.has_value());
  EXPECT_EQ(limits->memory_bytes + limits->cpu_thousandths + limits->processes, 0U);
  SandboxSpec named = asking("", "");
  named.names_memory = named.names_cpu = true;
  const auto usual = parse_limits(named, kKernel);
  ASSERT_TRUE(usual.has_value());
  EXPECT_EQ(usual->memory_bytes, 1U << 30U);
  EXPECT_EQ(usual->cpu_thousandths, 1000U);
}

TEST(BoxLimits, AreTheSecondAmount) {
  const auto limits = parse_limits(asking("64Mi:512Mi", "100m:1500m", 64), kKernel);
  ASSERT_TRUE(limits.has_value()) << limits.error().message;
  EXPECT_EQ(limits->memory_bytes, 512U << 20U);
  EXPECT_EQ(limits->cpu_thousandths, 1500U);
  EXPECT_EQ(limits->processes, 64U);
  EXPECT_EQ(parse_limits(asking("1G", "2"), kKernel)->memory_bytes, 1'000'000'000U);
}

TEST(BoxLimits, ThatNoBoxCanHaveAreRefused) {
  for (const auto& [memory, cpu, pids, field] :
       {std::tuple{"1Mi", "", 0, "--memory"}, std::tuple{"0", "", 0, "--memory"}, std::tuple{"9e99", "", 0, "--memory"},
        std::tuple{"1x", "", 0, "--memory"}, std::tuple{"", "0", 0, "--cpu"}, std::tuple{"", "1m", 0, "--cpu"},
        std::tuple{"", "", 3, "--pids"}, std::tuple{"", "", 5000, "--pids"}}) {
    const auto limits = parse_limits(asking(memory, cpu, static_cast<std::uint64_t>(pids)), kKernel);
    ASSERT_FALSE(limits.has_value()) << memory << cpu << pids;
    EXPECT_EQ(limits.error().field, field);
  }
  EXPECT_EQ(parse_limits(asking("", "", 64), 5013).error().field, "--pids");
  SandboxSpec disk = asking("", "");
  disk.pod.disk = "1Gi";
  EXPECT_EQ(parse_limits(disk, kKernel).error().field, "--disk");
}

TEST(BoxLimits, AreToldWithWhatIsNotLimited) {
  EXPECT_EQ(limits_text({}), "4096 processes; memory, CPU and disk are not limited");
  EXPECT_EQ(limits_text({.memory_bytes = 64U << 20U, .cpu_thousandths = 1500, .processes = 32}),
            "32 processes, 64 MiB of memory, 1.5 CPU; disk is not limited");
  EXPECT_EQ(limits_text({.memory_bytes = 64U << 20U}),
            "4096 processes, 64 MiB of memory; CPU and disk are not limited");
  EXPECT_EQ(limits_text({.cpu_thousandths = 500}), "4096 processes, 0.5 CPU; memory and disk are not limited");
}

}  // namespace
}  // namespace skiff::container::box
