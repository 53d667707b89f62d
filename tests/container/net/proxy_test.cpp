#include "container/net/proxy.hpp"

#include <gtest/gtest.h>

#include "tests/container/kube/variables.hpp"

namespace skiff::net {
namespace {

using test::variables;

Url server(std::string_view text) {
  return parse_url(text, "x").value();
}

TEST(Proxy, ComesFromTheVariableOfTheScheme) {
  const Environment both = variables({{"HTTPS_PROXY", "http://a:1"}, {"HTTP_PROXY", "b:2"}});
  EXPECT_EQ(proxy_for(server("https://k.example"), both).value()->authority(), "a:1");
  EXPECT_EQ(proxy_for(server("http://k.example"), both).value()->authority(), "b:2");
  EXPECT_FALSE(proxy_for(server("https://k.example"), variables({})).value());
  const Environment cases = variables({{"HTTPS_PROXY", "http://a:1"}, {"https_proxy", "http://c:3"}});
  EXPECT_EQ(proxy_for(server("https://k.example"), cases).value()->authority(), "c:3");
}

TEST(Proxy, IsNotUsedForThisMachineNorForWhatIsListed) {
  for (const char* url : {"https://127.0.0.1:6443", "https://localhost", "https://[::1]:6443", "https://k.example"}) {
    const Environment environment =
        variables({{"HTTPS_PROXY", "http://a:1"}, {"NO_PROXY", "other, .k.example, k.example"}});
    EXPECT_FALSE(proxy_for(server(url), environment).value()) << url;
  }
}

TEST(Proxy, IsOfAKindThatIsKnown) {
  const auto named = [](const char* value) {
    return proxy_for(server("https://k.example"), variables({{"HTTPS_PROXY", value}}));
  };
  EXPECT_EQ(named("socks5://a").value()->text(), "socks5://a:1080");
  EXPECT_TRUE(named("socks5h://u:p@a:1").value()->socks);
  EXPECT_EQ(named("https://a:1").value()->text(), "https://a:1");
  for (const char* value : {"socks4://a:1", "ftp://a"}) {
    const auto proxy = named(value);
    ASSERT_FALSE(proxy.has_value()) << value;
    EXPECT_EQ(proxy.error().code, Errc::invalid_field);
    EXPECT_NE(proxy.error().message.find("HTTPS_PROXY"), std::string::npos);
  }
}

TEST(NoProxy, ListsNamesAddressesAndBlocks) {
  const auto listed = [](std::string_view list, std::string_view host) { return is_listed(list, host, 443); };
  EXPECT_TRUE(listed("*", "a.test"));
  EXPECT_TRUE(listed("x, a.test ,y", "A.test"));
  EXPECT_TRUE(listed("a.test", "b.a.test"));
  EXPECT_TRUE(listed(".a.test", "b.a.test"));
  EXPECT_TRUE(listed("*.a.test", "b.a.test"));
  EXPECT_FALSE(listed(".a.test", "a.test"));
  EXPECT_FALSE(listed("a.test", "ba.test"));
  EXPECT_FALSE(listed("", "a.test"));
  EXPECT_FALSE(listed(",,", "a.test"));
  EXPECT_TRUE(listed("a.test:443", "a.test"));
  EXPECT_FALSE(listed("a.test:80", "a.test"));
  EXPECT_TRUE(listed("10.0.0.0/8", "10.1.2.3"));
  EXPECT_FALSE(listed("10.0.0.0/8", "11.1.2.3"));
  EXPECT_TRUE(listed("10.1.2.3", "10.1.2.3"));
  EXPECT_TRUE(listed("10.1.2.3:443", "10.1.2.3"));
  EXPECT_TRUE(listed("0.0.0.0/0", "10.1.2.3"));
  EXPECT_FALSE(listed("0.0.0.0/0", "fd00::1"));
  EXPECT_FALSE(listed("10.0.0.0/99", "10.0.0.0"));
  EXPECT_TRUE(listed("fd00::/8", "fd12::1"));
  EXPECT_TRUE(listed("fd12::1", "fd12::1"));
  EXPECT_TRUE(listed("[fd12::1]:443", "fd12::1"));
  EXPECT_FALSE(listed("[fd12::1]:80", "fd12::1"));
}

}  // namespace
}  // namespace skiff::net
