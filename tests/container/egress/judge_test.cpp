#include "container/egress/judge.hpp"

#include <gtest/gtest.h>

namespace skiff::container::egress {
namespace {

using protocol::Address;

TEST(Judge, SaysWhatWouldAllow) {
  const Policy policy = Policy::parse(std::vector<std::string>{"pypi.org"}).value();
  EXPECT_FALSE(judge(&policy, {"pypi.org", 443}, "demo"));
  const auto other = judge(&policy, {"evil.org", 443}, "demo").value();
  EXPECT_EQ(other.status, 403);
  EXPECT_EQ(other.code, "not_allowed");
  EXPECT_TRUE(other.detail.contains("skiff network demo --egress")) << other.detail;
  EXPECT_TRUE(other.detail.contains("--egress '+evil.org'")) << other.detail;
  const auto port = judge(&policy, {"pypi.org", 22}, "demo").value();
  EXPECT_EQ(port.code, "port_not_allowed");
  EXPECT_TRUE(port.detail.contains("'+pypi.org:22'")) << port.detail;
  const auto plain = judge(&policy, {"pypi.org", 80, true}, "demo").value();
  EXPECT_EQ(plain.code, "port_not_allowed");
  EXPECT_TRUE(plain.detail.contains("--egress '+http://pypi.org'")) << plain.detail;
  EXPECT_TRUE(judge(&policy, {"evil.org", 8080, true}, "demo")->detail.contains("'+http://evil.org:8080'"));
  EXPECT_EQ(judge(nullptr, {"pypi.org", 443}, "demo")->code, "no_policy");
}

TEST(Judge, WantsAllAddressesPublic) {
  const Target target{"a.org", 443};
  const auto is_eight = [](const Address& one) { return one.host().starts_with("8."); };
  const Address good = Address::ip("8.8.8.8", 443).value();
  const Address bad = Address::ip("10.0.0.1", 443).value();
  EXPECT_FALSE(judge_addresses(std::vector{good, good}, target, is_eight));
  EXPECT_EQ(judge_addresses(std::vector{good, bad}, target, is_eight)->code, "private_address");
  EXPECT_EQ(judge_addresses({}, target, is_eight)->code, "dns");
}

TEST(Judge, AnswersWithAProblem) {
  const std::string text = response({405, "method_not_allowed", "only \"CONNECT\""}, {});
  EXPECT_TRUE(
      text.starts_with("HTTP/1.1 405 Method Not Allowed (skiff: method_not_allowed)\r\nX-Skiff-Egress: "
                       "method_not_allowed\r\nAllow: CONNECT\r\n"));
  const std::string inside = response({405, "method_not_allowed", "only \"CONNECT\""}, {"a.org", 8443});
  EXPECT_TRUE(inside.contains("Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n")) << inside;
  EXPECT_TRUE(inside.contains(R"("detail":"only \"CONNECT\"","code":"method_not_allowed","host":"a.org","port":8443)"));
}

}  // namespace
}  // namespace skiff::container::egress
