#include "container/cluster/signing_secret.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "protocol/json/base64.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;

kube::Object secret_with(json data) {
  kube::Object secret = kube::Object::make(kube::kSecrets, "ns", signing_secret_name("skiff-"));
  secret.json["data"] = std::move(data);
  return secret;
}

TEST(SigningSecret, HoldsTheCurrentKeyAndTheOlderOnesInTheirOrder) {
  const SigningKeys keys{.current = SigningKey::generate().value(),
                         .older = {SigningKey::generate().value(), SigningKey::generate().value()}};
  const kube::Object secret = secret_with(signing_secret_data(keys).value());
  EXPECT_EQ(secret.name(), "skiff-signing-key");
  const auto read = read_signing_secret(secret);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->current.fingerprint().value(), keys.current.fingerprint().value());
  ASSERT_EQ(read->older.size(), 2U);
  EXPECT_EQ(read->older[0].fingerprint().value(), keys.older[0].fingerprint().value());
  EXPECT_EQ(read->older[1].fingerprint().value(), keys.older[1].fingerprint().value());
}

TEST(SigningSecret, OfOneKeyIsAsItWasBeforeThereWereOlderOnes) {
  const SigningKeys keys{.current = SigningKey::generate().value()};
  json data = signing_secret_data(keys).value();
  EXPECT_TRUE(data.at("older.pem").is_null()) << "a merge patch removes it";
  data.erase("older.pem");
  EXPECT_EQ(data.at("private.pem"), protocol::encode_base64(keys.current.private_pem().value()));
  EXPECT_TRUE(read_signing_secret(secret_with(data))->older.empty());
}

TEST(SigningSecret, IsRefusedWhenSomebodyElseWroteIt) {
  const std::string pem = protocol::encode_base64(SigningKey::generate()->private_pem().value());
  const std::string nonsense = protocol::encode_base64("nonsense");
  for (const json& data : {json::object(), json{{"private.pem", "%"}}, json{{"private.pem", nonsense}},
                           json{{"private.pem", pem}, {"older.pem", nonsense}}}) {
    const auto refused = read_signing_secret(secret_with(data));
    ASSERT_FALSE(refused) << data;
    EXPECT_EQ(refused.error().code, Errc::invalid_field);
    EXPECT_TRUE(refused.error().message.starts_with("Secret skiff-signing-key: ")) << refused.error().message;
  }
}

TEST(ConfiguredKey, IsWhatThePodTellsItsAgent) {
  kube::Object pod;
  EXPECT_EQ(configured_key(pod), "");
  pod.json["spec"]["containers"] = {
      {{"name", "beside"}},
      {{"name", "sandbox"},
       {"env", {{{"name", "A"}, {"value", "b"}}, 7, {{"name", "SKIFF_PUBLIC_KEY"}, {"value", "PEM"}}}}}};
  EXPECT_EQ(configured_key(pod), "PEM");
  pod.json["spec"]["containers"] = "nonsense";
  EXPECT_EQ(configured_key(pod), "");
}

}  // namespace
}  // namespace skiff::container
