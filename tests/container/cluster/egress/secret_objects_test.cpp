#include "container/cluster/egress/secret_objects.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "protocol/json/base64.hpp"

namespace skiff::container {
namespace {

EgressSecret kept_github() {
  return {.secret = {.name = "github",
                     .hosts = {"github.com"},
                     .header = "Authorization",
                     .format = "Bearer {}",
                     .value = "0123456789"},
          .ca_pem = "CERTIFICATE",
          .key_pem = "KEY"};
}

TEST(EgressSecret, LiesBesideTheProxyAndIsReadFromThere) {
  const auto object = egress_secret_object(kept_github(), "team-a");
  EXPECT_EQ(object.namespace_name(), "team-a-egress");
  EXPECT_EQ(object.name(), "skiff-secret.github");
  EXPECT_EQ(egress_secret_selector(), "app.kubernetes.io/managed-by=skiff,app.kubernetes.io/component=" +
                                          object.label("app.kubernetes.io/component"));
  const auto read = read_egress_secret(object);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->secret.value, "0123456789");
  EXPECT_EQ(read->ca_pem, "CERTIFICATE");
  EXPECT_EQ(read->key_pem, "KEY");
}

TEST(EgressSecret, MayHaveNoValue) {
  EgressSecret docs = kept_github();
  docs.secret.header = docs.secret.format = docs.secret.value = {};
  const auto read = read_egress_secret(egress_secret_object(docs, "team-a"));
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->secret.has_value());
}

TEST(EgressSecret, IsRefusedWithoutAWordOfItIfItIsDamaged) {
  const auto refused = [](const auto& change) {
    auto object = egress_secret_object(kept_github(), "team-a");
    change(object.json);
    const auto read = read_egress_secret(object);
    return !read && !read.error().message.contains("0123456789");
  };
  const auto with = [](const std::string& text) {
    return [text](nlohmann::json& json) { json["data"]["secret.json"] = protocol::encode_base64(text); };
  };
  EXPECT_TRUE(refused([](nlohmann::json& json) { json["metadata"]["name"] = "skiff-secret.other"; }));
  EXPECT_TRUE(refused([](nlohmann::json& json) { json["metadata"]["name"] = "github"; }));
  EXPECT_TRUE(refused([](nlohmann::json& json) { json["data"].erase("secret.json"); }));
  EXPECT_TRUE(refused([](nlohmann::json& json) { json["data"]["secret.json"] = "no base64"; }));
  EXPECT_TRUE(refused(with("0123456789")));
  EXPECT_TRUE(refused(with(R"({"name": "github", "hosts": ["*.com"], "header": "A", "value": "0123456789"})")));
}

TEST(EgressSecret, TellsItsNamespaceOfSandboxesNothingOfItsValue) {
  const auto notice = egress_secret_notice(kept_github(), "team-a");
  EXPECT_EQ(notice.namespace_name(), "team-a");
  EXPECT_FALSE(notice.json.dump().contains("0123456789") || notice.json.dump().contains("KEY"));
  const auto read = read_egress_secret_notice(notice);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->name, "github");
  EXPECT_EQ(read->hosts, std::vector<std::string>{"github.com"});
  EXPECT_EQ(read->ca_pem, "CERTIFICATE");
  EXPECT_TRUE(read->requests.empty() && read->variable.empty() && read->placeholder.empty());
  auto whole = kept_github();
  whole.secret.requests = {"GET /acme/**"};
  whole.secret.variable = "GH_TOKEN";
  whole.secret.placeholder = "a-placeholder-of-it";
  const auto more = read_egress_secret_notice(egress_secret_notice(whole, "team-a"));
  ASSERT_TRUE(more);
  EXPECT_EQ(more->requests, whole.secret.requests);
  EXPECT_EQ(more->variable, "GH_TOKEN");
  EXPECT_EQ(more->placeholder, "a-placeholder-of-it");
  auto damaged = notice;
  damaged.json["data"]["hosts"] = "github.com";
  EXPECT_FALSE(read_egress_secret_notice(damaged));
  damaged = notice;
  damaged.json["data"]["requests"] = "GET /";
  EXPECT_FALSE(read_egress_secret_notice(damaged));
  damaged = notice;
  damaged.json["data"].erase("ca.pem");
  EXPECT_FALSE(read_egress_secret_notice(damaged));
}

}  // namespace
}  // namespace skiff::container
