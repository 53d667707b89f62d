#include "container/egress/terminate/judge_request.hpp"

#include <string>

#include <gtest/gtest.h>

namespace skiff::container::egress {
namespace {

Secret key_of_model() {
  return {.name = "model", .hosts = {"api.example.com"}, .header = "X-Api-Key", .format = "{}", .value = "0123456789"};
}

protocol::HttpRequest asked_for(const std::string& method, const std::string& target) {
  protocol::HttpRequest made{
      .method = method, .target_text = target, .target = {}, .headers = {}, .host = {}, .body = {}};
  if (auto parsed = protocol::Target::parse(target)) made.target = std::move(*parsed);
  made.host = "api.example.com";
  return made;
}

std::string code_of(const std::optional<Refusal>& refusal) {
  return refusal ? std::string{refusal->code} : std::string{};
}

TEST(JudgeRequest, HasToBeForItsTunnel) {
  const Target tunnel{.host = "api.example.com", .port = 443};
  EXPECT_EQ(code_of(judge_request(asked_for("GET", "/v1"), tunnel)), "");
  EXPECT_EQ(code_of(judge_request(asked_for("TRACE", "/v1"), tunnel)), "method_not_allowed");
  EXPECT_EQ(code_of(judge_request(asked_for("GET", "https://api.example.com/v1"), tunnel)), "bad_target");
  EXPECT_EQ(code_of(judge_request(asked_for("GET", "/v1"), {.host = "api.example.com", .port = 8443})),
            "host_mismatch");
}

TEST(JudgeRequest, HasToBeOneThatTheSecretIsFor) {
  Secret secret = key_of_model();
  EXPECT_EQ(code_of(judge_use(secret, asked_for("DELETE", "/any"))), "");
  secret.requests = {"POST /v1/messages"};
  EXPECT_EQ(code_of(judge_use(secret, asked_for("POST", "/v1/messages?beta=1"))), "");
  EXPECT_EQ(code_of(judge_use(secret, asked_for("GET", "/v1/messages"))), "request_not_allowed");
  EXPECT_EQ(code_of(judge_use(secret, asked_for("POST", "/v1//messages"))), "bad_path");
}

TEST(JudgeRequest, LimitsUploadsAndUpgrades) {
  Secret secret = key_of_model();
  auto upload = asked_for("POST", "/v1");
  upload.body = {.kind = protocol::BodyFraming::Kind::length, .length = 11};
  EXPECT_EQ(code_of(judge_use(secret, upload)), "");
  secret.upload_limit = 10;
  EXPECT_EQ(code_of(judge_use(secret, upload)), "upload_too_large");
  auto upgrade = asked_for("GET", "/v1");
  upgrade.headers.add("Upgrade", "WebSocket");
  EXPECT_EQ(code_of(judge_use(secret, upgrade)), "upgrade_not_allowed");
  secret.websocket = true;
  EXPECT_EQ(code_of(judge_use(secret, upgrade)), "");
}

}  // namespace
}  // namespace skiff::container::egress
