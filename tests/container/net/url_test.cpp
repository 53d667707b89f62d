#include "container/net/url.hpp"

#include <gtest/gtest.h>

namespace skiff::net {
namespace {

TEST(Url, IsSplit) {
  const Url url = parse_url("https://api.example:6443/k8s/clusters/c-1/", "the server").value();
  EXPECT_TRUE(url.tls);
  EXPECT_EQ(url.host, "api.example");
  EXPECT_EQ(url.port, 6443);
  EXPECT_EQ(url.path, "/k8s/clusters/c-1");
  EXPECT_EQ(url.text(), "https://api.example:6443/k8s/clusters/c-1");
}

TEST(Url, HasTheUsualPorts) {
  EXPECT_EQ(parse_url("https://a", "x")->port, 443);
  EXPECT_EQ(parse_url("http://a", "x")->port, 80);
  EXPECT_FALSE(parse_url("http://a", "x")->tls);
  EXPECT_EQ(parse_url("a.example:8443", "x")->text(), "https://a.example:8443");
}

TEST(Url, TakesIpv6AndCredentials) {
  const Url url = parse_url("http://me:p%40ss@[fd00::1]:3128", "the proxy").value();
  EXPECT_EQ(url.host, "fd00::1");
  EXPECT_EQ(url.authority(), "[fd00::1]:3128");
  EXPECT_EQ(url.user, "me");
  EXPECT_EQ(url.password, "p@ss");
  EXPECT_EQ(url.text(), "http://[fd00::1]:3128");
}

TEST(Url, SaysWhichSettingIsWrong) {
  for (const char* text : {"", "ftp://a", "https://", "https://a:0", "https://a:99999", "https://a b", "https://a%20b",
                           "a@.b@", "https://a?b=c", "::"}) {
    const auto url = parse_url(text, "the server of cluster \"c\"");
    ASSERT_FALSE(url.has_value()) << text;
    EXPECT_EQ(url.error().code, Errc::invalid_field);
    EXPECT_EQ(url.error().message.find("the server of cluster \"c\" "), 0u) << url.error().message;
  }
  EXPECT_EQ(parse_url("https://u:secret@a b", "x").error().message.find("secret"), std::string::npos);
}

}  // namespace
}  // namespace skiff::net
