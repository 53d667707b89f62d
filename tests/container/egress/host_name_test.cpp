#include "container/egress/host_name.hpp"

#include <gtest/gtest.h>

namespace skiff::container::egress {
namespace {

TEST(HostName, HasOneForm) {
  EXPECT_EQ(host_name("PyPI.org"), "pypi.org");
  EXPECT_EQ(host_name("pypi.org."), "pypi.org");
  EXPECT_EQ(host_name("xn--bcher-kva.example"), "xn--bcher-kva.example");
  EXPECT_EQ(host_name("a_b.1.example"), "a_b.1.example");
}

TEST(HostName, IsNothingElse) {
  for (const std::string_view text : {"",
                                      ".",
                                      "..",
                                      "a..b",
                                      ".a.b",
                                      "a.b..",
                                      "user@a.example",
                                      "a.example#",
                                      "a.example/",
                                      "a b.example",
                                      "b\xC3\xBC"
                                      "cher.example",
                                      "\xEF\xBD\x81.example",
                                      "a\xE3\x80\x82"
                                      "example",
                                      "-a.example",
                                      "a-.example",
                                      "*.example.org",
                                      "[::1]",
                                      "::1",
                                      "a%00.example",
                                      "a:1.example"}) {
    EXPECT_EQ(host_name(text), std::nullopt) << text;
  }
  EXPECT_EQ(host_name(std::string_view{"a\0.example", 10}), std::nullopt);
  EXPECT_EQ(host_name(std::string(64, 'a') + ".example"), std::nullopt);
  std::string longest;
  while (longest.size() < 250) longest += "a.";
  EXPECT_NE(host_name(longest + "org"), std::nullopt);
  EXPECT_EQ(host_name(longest + "orgs"), std::nullopt);
}

TEST(HostName, IsNoAddressInAnyForm) {
  for (const std::string_view text : {"127.0.0.1", "2130706433", "0x7f000001", "0x7f.1", "127.1", "0177.0.0.1", "0",
                                      "1.2.3.0x4", "example.0x", "127.0.0.1."}) {
    EXPECT_EQ(host_name(text), std::nullopt) << text;
  }
}

TEST(PortNumber, IsInDigits) {
  EXPECT_EQ(port_number("443"), 443);
  EXPECT_EQ(port_number("65535"), 65535);
  for (const std::string_view text : {"", "0", "00", "0443", "65536", "-1", "+1", " 1", "1 ", "1a", "99999999999"}) {
    EXPECT_EQ(port_number(text), std::nullopt) << text;
  }
}

TEST(Target, OfAUrlHasAUsualPort) {
  EXPECT_EQ(Target::plain("PyPI.org").value().text(), "pypi.org:80");
  EXPECT_EQ(Target::plain("pypi.org:8080").value().text(), "pypi.org:8080");
  EXPECT_TRUE(Target::plain("pypi.org").value().is_plain);
  for (const std::string_view text : {"", ":80", "[::1]", "[::1]:80", "1.2.3.4", "a@pypi.org", "pypi.org:"}) {
    EXPECT_FALSE(Target::plain(text)) << text;
  }
}

TEST(Target, IsHostAndPort) {
  const auto target = Target::parse("PyPI.org.:8443").value();
  EXPECT_EQ(target.host, "pypi.org");
  EXPECT_EQ(target.port, 8443);
  EXPECT_EQ(target.text(), "pypi.org:8443");
  for (const std::string_view text : {"pypi.org", "pypi.org:", ":443", "[::1]:443", "1.2.3.4:443", "a@pypi.org:443",
                                      "pypi.org:443:443", "https://pypi.org:443"}) {
    EXPECT_FALSE(Target::parse(text)) << text;
  }
}

}  // namespace
}  // namespace skiff::container::egress
