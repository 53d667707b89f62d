#include "container/net/public_address.hpp"

#include <gtest/gtest.h>

namespace skiff::net {
namespace {

using protocol::Address;

bool is_public_text(const char* host, std::vector<Address> own = {}) {
  return is_public(Address::ip(host, 443).value(), own);
}

TEST(PublicAddress, IsOfTheInternet) {
  for (const char* host :
       {"8.8.8.8", "151.101.0.223", "172.15.0.1", "172.32.0.1", "2606:4700::6810:1", "2a04:4e42::223"}) {
    EXPECT_TRUE(is_public_text(host)) << host;
  }
}

TEST(PublicAddress, IsNotSpecial) {
  for (const char* host : {"0.0.0.0",
                           "0.1.2.3",
                           "10.1.2.3",
                           "100.64.0.1",
                           "127.0.0.1",
                           "127.9.9.9",
                           "169.254.169.254",
                           "172.16.0.1",
                           "172.31.255.255",
                           "192.168.1.1",
                           "192.0.2.1",
                           "198.18.0.1",
                           "198.51.100.1",
                           "203.0.113.1",
                           "224.0.0.1",
                           "255.255.255.255",
                           "168.63.129.16",
                           "::",
                           "::1",
                           "::ffff:10.0.0.1",
                           "64:ff9b::808:808",
                           "64:ff9b:1::1",
                           "fd00::1",
                           "fe80::1",
                           "ff02::1",
                           "2001::1",
                           "2001:db8::1",
                           "2002:808:808::1",
                           "3fff::1",
                           "4000::1"}) {
    EXPECT_FALSE(is_public_text(host)) << host;
  }
}

TEST(PublicAddress, IsNotOneOfThisMachine) {
  EXPECT_FALSE(is_public_text("8.8.8.8", {Address::ip("8.8.8.8", 0).value()}));
  EXPECT_FALSE(is_public_text("2606::1", {Address::ip("2606::1", 0).value()}));
  EXPECT_FALSE(is_public(Address::parse("unix:/run/a").value(), {}));
  bool has_loopback = false;
  const auto own = own_addresses();
  ASSERT_TRUE(own);
  for (const Address& one : *own) has_loopback |= one.is_loopback();
  EXPECT_TRUE(has_loopback);
}

}  // namespace
}  // namespace skiff::net
