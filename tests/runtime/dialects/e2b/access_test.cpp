#include "runtime/dialects/e2b/access.hpp"

#include <gtest/gtest.h>

#include "protocol/json/base64.hpp"

namespace skiff::runtime::dialects::e2b {
namespace {

using protocol::Headers;

constexpr const char* kToken = "the-token";

protocol::HttpRequest file_request(const std::string& query, Headers headers = {}) {
  protocol::HttpRequest request;
  request.method = "GET";
  request.target = *protocol::Target::parse("/files?" + query);
  request.headers = std::move(headers);
  return request;
}

/// A signature as E2B's SDKs compute it.
std::string signature(const std::string& text) {
  const auto digest = Sha256::of(text);
  std::string made = "v1_" + protocol::encode_base64({reinterpret_cast<const char*>(digest.data()), digest.size()});
  while (made.ends_with('=')) made.pop_back();
  return protocol::percent_encode(made);
}

WallTime at(std::int64_t seconds) {
  return WallTime{std::chrono::seconds{seconds}};
}

TEST(E2bAccess, IsOpenWithoutAToken) {
  Access access{std::nullopt};
  EXPECT_EQ(access.check({}), false);
  EXPECT_EQ(access.check({{"X-Access-Token", "anything"}}), false);
  EXPECT_EQ(access.check_file(file_request("path=a&signature=v1_x"), "read"), false);
}

TEST(E2bAccess, AsksForItsToken) {
  Access access{digest_of(kToken)};
  EXPECT_EQ(access.check({}).error().code, Errc::unauthenticated);
  EXPECT_EQ(access.check({{"X-Access-Token", "the-tokem"}}).error().code, Errc::unauthenticated);
  EXPECT_EQ(access.check({{"X-Access-Token", ""}}).error().code, Errc::unauthenticated);
  EXPECT_EQ(access.check({{"X-Access-Token", kToken}, {"X-Access-Token", "x"}}).error().code, Errc::unauthenticated);
  EXPECT_EQ(access.check({{"X-Access-Token", kToken}}), true);
}

TEST(E2bAccess, NeverRepeatsTheTokenThatWasShown) {
  Access access{digest_of(kToken)};
  EXPECT_EQ(access.check({{"X-Access-Token", "guess"}}).error().message.find("guess"), std::string::npos);
}

TEST(E2bAccess, TakesASignatureForAFile) {
  Access access{std::nullopt};
  ASSERT_TRUE(access.close(kToken));
  const std::string good = signature("/a b:read:root:the-token");
  EXPECT_EQ(access.check_file(file_request("path=/a%20b&username=root&signature=" + good), "read"), true);
  EXPECT_FALSE(access.check_file(file_request("path=/a%20b&username=root&signature=" + good), "write"));
  EXPECT_FALSE(access.check_file(file_request("path=/a%20c&username=root&signature=" + good), "read"));
  EXPECT_FALSE(access.check_file(file_request("path=/a%20b&signature=" + good), "read"));
  EXPECT_FALSE(access.check_file(file_request("path=/a%20b&username=root&signature="), "read"));
  EXPECT_FALSE(access.check_file(file_request("path=/a%20b&username=root"), "read"));
}

TEST(E2bAccess, EndsASignatureWithItsTime) {
  Access access{std::nullopt};
  ASSERT_TRUE(access.close(kToken));
  const std::string query = "path=a&signature_expiration=100&signature=" + signature("a:read::the-token:100");
  EXPECT_EQ(access.check_file(file_request(query), "read", at(100)), true);
  EXPECT_EQ(access.check_file(file_request(query), "read", at(101)).error().message, "the signature has expired");
  // A client can neither prolong the time nor remove it.
  const std::string longer = "path=a&signature_expiration=200&signature=" + signature("a:read::the-token:100");
  EXPECT_EQ(access.check_file(file_request(longer), "read", at(1)).error().message, "the signature is not right");
  const std::string without = "path=a&signature=" + signature("a:read::the-token:100");
  EXPECT_EQ(access.check_file(file_request(without), "read", at(1)).error().message, "the signature is not right");
  const std::string odd = "path=a&signature_expiration=x&signature=" + signature("a:read::the-token:x");
  EXPECT_EQ(access.check_file(file_request(odd), "read", at(1)).error().message, "the signature is not right");
}

TEST(E2bAccess, ChecksSignaturesOnceItHasSeenTheToken) {
  Access access{digest_of(kToken)};
  const auto signed_request = file_request("path=a&signature=" + signature("a:read::the-token"));
  EXPECT_FALSE(access.check_file(signed_request, "read"));
  ASSERT_TRUE(access.check({{"X-Access-Token", kToken}}));
  EXPECT_EQ(access.check_file(signed_request, "read"), true);
}

TEST(E2bAccess, AWrongHeaderIsRefusedDespiteASignature) {
  Access access{std::nullopt};
  ASSERT_TRUE(access.close(kToken));
  const std::string query = "path=a&signature=" + signature("a:read::the-token");
  EXPECT_FALSE(access.check_file(file_request(query, {{"X-Access-Token", "x"}}), "read"));
}

TEST(E2bAccess, RefusesATokenThatDoesNotFitInAHeader) {
  Access access{std::nullopt};
  EXPECT_EQ(access.close("with space").error().code, Errc::invalid_field);
  EXPECT_EQ(access.close("").error().code, Errc::invalid_field);
  EXPECT_FALSE(access.is_closed());
}

}  // namespace
}  // namespace skiff::runtime::dialects::e2b
