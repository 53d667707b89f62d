#include "runtime/egress/names/port_question.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/egress_stand_in.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::runtime::egress {
namespace {

CO_TEST(PortQuestion, AsksTheProxy, test::EgressStandIn& on) {
  on.allow("pypi.org", "80,443");
  const auto ports = co_await ask_ports(&on.helper, "pypi.org");
  CO_ASSERT_TRUE(ports);
  EXPECT_EQ(*ports, (std::vector<std::uint16_t>{80, 443}));
  EXPECT_EQ(on.heard, std::vector<std::string>{"GET /.well-known/skiff-egress/ports?host=pypi.org HTTP/1.1"});
}

CO_TEST(PortQuestion, KnowsWhatNoRuleAllows, test::EgressStandIn& on) {
  const auto ports = co_await ask_ports(&on.helper, "evil.org");
  CO_ASSERT_TRUE(ports);
  EXPECT_EQ(ports->size(), 0U);
}

CO_TEST(PortQuestion, TellsAProxyThatDoesNotSayFromOneThatRefuses, test::EgressStandIn& on) {
  const std::string line = "GET /.well-known/skiff-egress/ports?host=pypi.org HTTP/1.1";
  const std::string end = "Connection: close\r\nContent-Length: 0\r\n\r\n";
  for (const std::string& wrong : std::vector<std::string>{
           "HTTP/1.1 429 Too Many\r\nX-Skiff-Egress: too_many_names\r\n" + end,
           "HTTP/1.1 403 Forbidden\r\nX-Skiff-Egress: not_fenced\r\n" + end,
           "HTTP/1.1 405 Not Allowed\r\nX-Skiff-Egress: method_not_allowed\r\n" + end, "HTTP/1.1 200 OK\r\n" + end,
           "HTTP/1.1 20", "", "HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{\"ports\":[9999999]}"}) {
    on.answers[line] = wrong;
    const auto ports = co_await ask_ports(&on.helper, "pypi.org");
    EXPECT_FALSE(ports) << wrong;
  }
}

}  // namespace
}  // namespace skiff::runtime::egress
