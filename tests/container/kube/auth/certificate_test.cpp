#include "container/kube/auth/certificate.hpp"

#include <gtest/gtest.h>

#include "tests/protocol/net/test_certificate.hpp"

namespace skiff::kube {
namespace {

using namespace std::chrono_literals;

TEST(Certificate, IsGoodBetweenItsDates) {
  // Made for an hour before and after now.
  const std::string pem = test::make_certificate().certificate_pem;
  EXPECT_TRUE(check_certificate(pem, wall_now(), "it").has_value());
  const auto expired = check_certificate(pem, wall_now() + 2h, "the certificate");
  ASSERT_FALSE(expired.has_value());
  EXPECT_EQ(expired.error().code, Errc::unauthenticated);
  EXPECT_EQ(expired.error().message.find("the certificate expired at 2"), 0u) << expired.error().message;
  EXPECT_NE(expired.error().message.find("get a new kubeconfig"), std::string::npos);
  const auto early = check_certificate(pem, wall_now() - 2h, "it");
  ASSERT_FALSE(early.has_value());
  EXPECT_NE(early.error().message.find("not valid before"), std::string::npos);
}

TEST(Certificate, IsTheFirstOfItsText) {
  const auto made = test::make_certificate();
  EXPECT_TRUE(check_certificate("# comment\n" + made.certificate_pem + made.certificate_pem, wall_now(), "it"));
  for (const std::string& text : {std::string{}, std::string{"nonsense"}, made.key_pem}) {
    const auto checked = check_certificate(text, wall_now(), "it");
    ASSERT_FALSE(checked.has_value());
    EXPECT_EQ(checked.error().code, Errc::invalid_field);
  }
}

}  // namespace
}  // namespace skiff::kube
