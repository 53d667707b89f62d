#include "protocol/net/address.hpp"

#include <cstring>

#include <gtest/gtest.h>

namespace skiff::protocol {
namespace {

TEST(Address, ReadsAndWritesLiteralsAndSocketPaths) {
  for (const std::string_view text :
       {"127.0.0.1:7070", "0.0.0.0:0", "[::1]:0", "[fe80::1]:65535", "unix:/run/a b.sock", "unix:rel", "fd:3"}) {
    const auto address = Address::parse(text);
    ASSERT_TRUE(address.has_value()) << text;
    EXPECT_EQ(address->text(), text);
  }
  EXPECT_EQ(Address::parse("[::1]:80").value().host(), "::1");
  EXPECT_EQ(Address::parse("127.0.0.1:80").value().port(), 80);
  EXPECT_EQ(Address::parse("unix:/x").value().path(), "/x");
}

TEST(Address, KnowsLoopback) {
  EXPECT_TRUE(Address::parse("127.9.0.1:1").value().is_loopback());
  EXPECT_TRUE(Address::parse("[::1]:1").value().is_loopback());
  EXPECT_TRUE(Address::parse("[::ffff:127.0.0.1]:1").value().is_loopback());
  EXPECT_TRUE(Address::parse("unix:/x").value().is_loopback());
  EXPECT_FALSE(Address::parse("0.0.0.0:1").value().is_loopback());
  EXPECT_FALSE(Address::parse("[::]:1").value().is_loopback());
}

TEST(Address, KnowsEveryAddress) {
  EXPECT_TRUE(Address::parse("0.0.0.0:1").value().is_any());
  EXPECT_TRUE(Address::parse("[::]:1").value().is_any());
  for (const std::string_view text : {"127.0.0.1:1", "[::1]:1", "unix:/x"}) {
    EXPECT_FALSE(Address::parse(text).value().is_any()) << text;
  }
}

TEST(Address, IsUnmappedForASocketOfBothFamilies) {
  const auto as_socket_says = [](std::string_view text) {
    const auto address = Address::parse(text).value();
    sockaddr_storage storage{};
    std::memcpy(&storage, address.data(), address.size());
    return Address::from_socket(storage, address.size());
  };
  const auto ip4 = as_socket_says("[::ffff:192.0.2.1]:80");
  EXPECT_EQ(ip4.family(), AF_INET);
  EXPECT_EQ(ip4.text(), "192.0.2.1:80");
  EXPECT_TRUE(as_socket_says("[::ffff:127.0.0.1]:80").is_loopback());
  EXPECT_EQ(as_socket_says("[2001:db8::1]:80").text(), "[2001:db8::1]:80");
}

TEST(Address, ReportsErrors) {
  for (const std::string_view text : {"",
                                      "7070",
                                      "127.0.0.1",
                                      "127.0.0.1:",
                                      "127.0.0.1:65536",
                                      "127.0.0.1:-1",
                                      "127.0.0.1:+1",
                                      "127.0.0.1: 1",
                                      "127.0.0.1:1x",
                                      "localhost:80",
                                      "256.0.0.1:1",
                                      "127.1:1",
                                      "::1:80",
                                      "[::1]",
                                      "[127.0.0.1]:80",
                                      "[::1:80",
                                      ":80",
                                      "unix:",
                                      "fd:",
                                      "fd:x",
                                      "fd:2",
                                      "fd:-1"}) {
    const auto address = Address::parse(text);
    ASSERT_FALSE(address.has_value()) << text;
    EXPECT_EQ(address.error().code, Errc::invalid_field) << text;
    EXPECT_NE(address.error().message.find("\"" + std::string{text} + "\""), std::string::npos);
  }
  EXPECT_TRUE(Address::parse("unix:/" + std::string(106, 'a')).has_value());
  EXPECT_FALSE(Address::parse("unix:/" + std::string(107, 'a')).has_value());
  EXPECT_FALSE(Address::parse(std::string_view{"unix:/a\0b", 9}).has_value());
}

}  // namespace
}  // namespace skiff::protocol
