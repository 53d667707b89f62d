#include "container/cli/key_stores.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "protocol/json/base64.hpp"
#include "tests/container/cluster/fake_cluster.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::FakeAnswer;
using fakes::FakeCluster;
using fakes::FakeRequest;
using serve::ApiKey;
using serve::KeyRing;

constexpr std::string_view kSecretPath = "/secrets/skiff-api-keys";

ApiKey key_called(const std::string& name) {
  return {.name = name,
          .sha256 = serve::sha256_hex(name),
          .tenant = "default",
          .scopes = {serve::KeyScope::use},
          .created_at = "2026-01-01T00:00:00Z",
          .expires_ms = {}};
}

/// As `key create`.
std::function<Result<>(KeyRing&)> adding(const std::string& name) {
  return [name](KeyRing& ring) -> Result<> {
    for (const ApiKey& key : ring.keys) {
      if (key.name == name) return fail(Errc::already_exists, "there is one");
    }
    if (ring.token_secret.empty()) ring.token_secret = serve::new_token_secret();
    ring.keys.push_back(key_called(name));
    return {};
  };
}

std::vector<std::string> names_of(const KeyRing& ring) {
  std::vector<std::string> names;
  for (const ApiKey& key : ring.keys) names.push_back(key.name);
  return names;
}

using Names = std::vector<std::string>;

CO_TEST(KeySecret, IsMadeByTheFirstKeyAndChangedByOthers, FakeCluster& fake) {
  KeySecret keys{fake.cluster.get()};
  EXPECT_TRUE((co_await keys.read()).value().token_secret.empty());
  CO_ASSERT_TRUE((co_await keys.change(adding("a"))).has_value());
  const std::string secret = (co_await keys.read()).value().token_secret;
  CO_ASSERT_TRUE((co_await keys.change(adding("b"))).has_value());
  const KeyRing ring = (co_await keys.read()).value();
  EXPECT_EQ(names_of(ring), (Names{"a", "b"}));
  EXPECT_EQ(ring.token_secret, secret) << "what it has signed would be worth nothing";
  EXPECT_EQ(fake.server.count("POST", "/secrets"), 1U);
}

CO_TEST(KeySecret, LosesNoKeyOfAnotherWriter, FakeCluster& fake) {
  KeySecret keys{fake.cluster.get()};
  CO_ASSERT_TRUE((co_await keys.change(adding("a"))).has_value());
  fake.server.before = [&, meanwhile = false](const FakeRequest& request) mutable -> std::optional<FakeAnswer> {
    if (meanwhile || !request.is("PATCH", kSecretPath)) return std::nullopt;
    meanwhile = true;
    fake.server.change(kube::kSecrets, "default", "skiff-api-keys", [](nlohmann::json& secret) {
      KeyRing theirs{.token_secret = "theirs", .keys = {key_called("theirs")}};
      secret["data"]["api-keys.json"] = protocol::encode_base64(protocol::to_json(theirs));
    });
    return std::nullopt;
  };
  CO_ASSERT_TRUE((co_await keys.change(adding("b"))).has_value());
  const KeyRing ring = (co_await keys.read()).value();
  EXPECT_EQ(names_of(ring), (Names{"theirs", "b"}));
  EXPECT_EQ(ring.token_secret, "theirs");
}

CO_TEST(KeySecret, TakesTheSecretOfWhoMadeItFirst, FakeCluster& fake) {
  KeySecret keys{fake.cluster.get()};
  fake.server.before = [&, meanwhile = false](const FakeRequest& request) mutable -> std::optional<FakeAnswer> {
    if (meanwhile || !request.is("POST", "/secrets")) return std::nullopt;
    meanwhile = true;
    auto made = kube::Object::make(kube::kSecrets, "default", "skiff-api-keys");
    KeyRing theirs{.token_secret = "theirs", .keys = {key_called("theirs")}};
    made.json["data"]["api-keys.json"] = protocol::encode_base64(protocol::to_json(theirs));
    fake.server.put(kube::kSecrets, std::move(made));
    return std::nullopt;
  };
  CO_ASSERT_TRUE((co_await keys.change(adding("b"))).has_value());
  EXPECT_EQ(names_of((co_await keys.read()).value()), (Names{"theirs", "b"}));
}

CO_TEST(KeySecret, IsChangedOnceAlsoWhereTheAnswerIsLost, FakeCluster& fake) {
  KeySecret keys{fake.cluster.get()};
  for (const auto& [method, path, name] :
       {std::tuple{"POST", std::string_view{"/secrets"}, "a"}, {"PATCH", kSecretPath, "b"}}) {
    fake.server.before = [&, lost = false](const FakeRequest& request) mutable -> std::optional<FakeAnswer> {
      if (lost || !request.is(method, path)) return std::nullopt;
      lost = true;
      return fakes::FakeApiServer::lost();
    };
    auto changed = co_await keys.change(adding(name));
    CO_ASSERT_TRUE(changed.has_value()) << changed.error().message;
  }
  EXPECT_EQ(names_of((co_await keys.read()).value()), (Names{"a", "b"}));
}

CO_TEST(KeySecret, MayBeEmptyAndIsRefusedWhenSomebodyElseWroteIt, FakeCluster& fake) {
  KeySecret keys{fake.cluster.get()};
  fake.server.put(kube::kSecrets, kube::Object::make(kube::kSecrets, "default", "skiff-api-keys"));
  EXPECT_TRUE((co_await keys.read()).value().keys.empty());
  CO_ASSERT_TRUE((co_await keys.change(adding("a"))).has_value());
  EXPECT_EQ(names_of((co_await keys.read()).value()), (Names{"a"}));
  for (const std::string& text : {std::string{"%"}, protocol::encode_base64("nonsense")}) {
    fake.server.change(kube::kSecrets, "default", "skiff-api-keys",
                       [&](nlohmann::json& secret) { secret["data"]["api-keys.json"] = text; });
    auto read = co_await keys.read();
    CO_ASSERT_TRUE(!read);
    EXPECT_TRUE(read.error().message.starts_with("Secret skiff-api-keys in namespace default: "))
        << read.error().message;
    EXPECT_FALSE(co_await keys.change(adding("b"))) << "what is there is not written over";
  }
}

CO_TEST(KeySecret, GivesUpWhereOthersNeverEnd, FakeCluster& fake) {
  KeySecret keys{fake.cluster.get()};
  CO_ASSERT_TRUE((co_await keys.change(adding("a"))).has_value());
  fake.server.before = [](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (!request.is("PATCH", kSecretPath)) return std::nullopt;
    return fakes::FakeApiServer::refusal(409, "Conflict", "the object has been modified");
  };
  const auto changed = co_await keys.change(adding("b"));
  CO_ASSERT_TRUE(!changed);
  EXPECT_EQ(changed.error().code, Errc::sandbox_conflict);
}

}  // namespace
}  // namespace skiff::container
