#include "container/drivers/box/network/pasta.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace skiff::container::box {
namespace {

TEST(BoxPasta, BarsPrivateAndSpecialAddresses) {
  const auto barred = barred_prefixes();
  for (const char* one : {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10",
                          "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
                          "203.0.113.0/24", "168.63.129.16/32", "224.0.0.0/4", "240.0.0.0/4", "0.0.0.0/8"}) {
    EXPECT_EQ(std::ranges::count(barred, one), 1) << one;
  }
  // The loopback interface is one of this machine's.
  EXPECT_EQ(std::ranges::count(barred, "127.0.0.0/8"), 1);
  EXPECT_EQ(std::ranges::count(barred, "0.0.0.0/0"), 0);
}

TEST(BoxPasta, ThatIsAbsentIsToBeInstalled) {
  const char* const path = std::getenv("PATH");
  const std::string before{path != nullptr ? path : ""};
  ::setenv("PATH", "/proc/self/fdinfo:relative", 1);
  const auto words = pasta_arguments();
  ::setenv("PATH", before.c_str(), 1);
  ASSERT_FALSE(words.has_value());
  EXPECT_NE(words.error().message.find("apt install passt"), std::string::npos) << words.error().message;
}

TEST(BoxPasta, RefusalsNameWhatToDo) {
  const auto remedy = [](const char* what, int error) {
    return explain_network({.step = Step::network, .error = error, .what = what, .label = {}}).remedy;
  };
  EXPECT_NE(remedy("/dev/net/tun", EACCES).find("chmod 666 /dev/net/tun"), std::string::npos);
  EXPECT_NE(remedy("/dev/net/tun", ENOENT).find("modprobe tun"), std::string::npos);
  EXPECT_NE(remedy("veth", EOPNOTSUPP).find("modprobe veth"), std::string::npos);
  EXPECT_NE(remedy("/root/bin/skiff", EACCES).find("/usr/local/bin"), std::string::npos);
  EXPECT_NE(remedy("/proc/sys/net/ipv4/ip_forward", EACCES).find("--network deny"), std::string::npos);
}

}  // namespace
}  // namespace skiff::container::box
