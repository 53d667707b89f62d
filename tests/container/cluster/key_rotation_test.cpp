#include "container/cluster/key_rotation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "container/cluster/signing_secret.hpp"
#include "container/drivers/pods/driver.hpp"
#include "protocol/json/base64.hpp"
#include "tests/container/cluster/fake_cluster.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::FakeAnswer;
using fakes::FakeCluster;
using fakes::FakeRequest;
using kube::Object;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

json environment_with(const std::string& public_key) {
  return json::array(
      {{{"name", "sandbox"}, {"env", json::array({{{"name", "SKIFF_PUBLIC_KEY"}, {"value", public_key}}})}}});
}

/// A namespace whose key a sandbox was made with.
struct KeyedCluster {
  explicit KeyedCluster(Executor executor) : fake{executor} {}
  Task<> begin() { first = (co_await fake.cluster->signing_key(true)).value(); }
  Task<> stop() { return fake.stop(); }

  /// A sandbox whose agent knows that key.
  void put(const std::string& name, const SigningKey& key) {
    const KnownPod known = fakes::put_sandbox(fake.server, name, "s-" + name);
    fake.server.change(kube::kPods, "default", known.pod->name(),
                       [&](json& pod) { pod["spec"]["containers"] = environment_with(key.public_pem().value()); });
  }
  [[nodiscard]] std::string fingerprint() const { return first->fingerprint().value(); }
  [[nodiscard]] SigningKeys keys() const {
    return read_signing_secret(*fake.server.find(kube::kSecrets, "default", "skiff-signing-key")).value();
  }

  FakeCluster fake;
  std::optional<SigningKey> first;
};

/// Signatures are a function of key and text.
bool is_signed_by(const std::string& token, const SigningKey& key) {
  const std::size_t dot = token.rfind('.');
  return protocol::encode_base64url(key.sign(token.substr(0, dot)).value()) == token.substr(dot + 1);
}

Task<std::string> token_for(Executor executor, const FakeCluster* fake, std::string name) {
  // Another process: it has read nothing yet.
  const auto cluster = fake->open(executor);
  PodDriver driver{cluster.get(), fakes::through_the_proxy()};
  auto endpoint = co_await driver.endpoint(std::move(name), {});
  std::string token = endpoint ? endpoint->token().value() : endpoint.error().message;
  co_await driver.close();
  co_return token;
}

CO_TEST(KeyRotation, LeavesEverySandboxItsOwnKey, KeyedCluster& on) {
  on.put("old", *on.first);
  auto rotated = co_await rotate_key(on.fake.cluster.get());
  CO_ASSERT_TRUE(rotated.has_value()) << rotated.error().message;
  EXPECT_NE(rotated->current, on.fingerprint());
  CO_ASSERT_TRUE(rotated->older.size() == 1u);
  EXPECT_EQ(rotated->older[0].fingerprint, on.fingerprint());
  const SigningKeys keys = on.keys();
  EXPECT_EQ(keys.current.fingerprint().value(), rotated->current);
  on.put("new", keys.current);
  EXPECT_TRUE(is_signed_by(co_await token_for(executor, &on.fake, "old"), *on.first));
  EXPECT_TRUE(is_signed_by(co_await token_for(executor, &on.fake, "new"), keys.current));
}

CO_TEST(KeyRotation, IsSeenByWhoHasReadTheKeysBefore, KeyedCluster& on) {
  on.put("old", *on.first);
  PodDriver driver{on.fake.cluster.get(), fakes::through_the_proxy()};
  CO_ASSERT_TRUE((co_await driver.endpoint("old", {})).has_value());
  const auto elsewhere = on.fake.open(executor);
  CO_ASSERT_TRUE((co_await rotate_key(elsewhere.get())).has_value());
  on.put("new", on.keys().current);
  auto endpoint = co_await driver.endpoint("new", {});
  CO_ASSERT_TRUE(endpoint.has_value()) << endpoint.error().message;
  EXPECT_TRUE(is_signed_by(endpoint->token().value(), on.keys().current));
  co_await driver.close();
}

CO_TEST(KeyRotation, MakesNewSandboxesWithTheNewKey, KeyedCluster& on) {
  CO_ASSERT_TRUE((co_await rotate_key(on.fake.cluster.get())).has_value());
  const auto cluster = on.fake.open(executor);
  PodDriver driver{cluster.get(), fakes::through_the_proxy()};
  auto made = co_await driver.create(fakes::plain_spec("box"), fakes::ignore_progress);
  CO_ASSERT_TRUE(made.has_value()) << made.error().message;
  const std::string configured = configured_key(*on.fake.server.find(kube::kPods, "default", "skiff-box"));
  EXPECT_TRUE(on.keys().current.is_known_to(configured)) << configured;
  EXPECT_FALSE(on.first->is_known_to(configured));
  co_await driver.close();
}

CO_TEST(KeyRotation, IsKnownToAServerThatHasMadeSandboxesBefore, KeyedCluster& on) {
  const auto server = on.fake.open(executor, 3, std::chrono::milliseconds{0});
  EXPECT_EQ((co_await server->signing_key(true))->fingerprint().value(), on.fingerprint());
  auto rotated = co_await rotate_key(on.fake.cluster.get());
  CO_ASSERT_TRUE(rotated.has_value()) << rotated.error().message;
  EXPECT_EQ((co_await server->signing_key(true))->fingerprint().value(), rotated->current);
}

CO_TEST(KeyRotation, IsFinishedOnlyForKeysThatNothingKnows) {
  KeyedCluster on{executor};
  on.fake.server.served = {{"extensions.agents.x-k8s.io/v1beta1", {"sandboxtemplates"}}};
  co_await on.begin();
  on.put("old", *on.first);
  Object made = Object::make(kube::kSandboxTemplates, "default", "python");
  made.json["spec"]["podTemplate"]["spec"]["containers"] = environment_with(on.first->public_pem().value());
  on.fake.server.put(kube::kSandboxTemplates, std::move(made));
  CO_ASSERT_TRUE((co_await rotate_key(on.fake.cluster.get())).has_value());
  CO_ASSERT_TRUE((co_await rotate_key(on.fake.cluster.get())).has_value());
  auto finished = co_await finish_rotation(on.fake.cluster.get());
  CO_ASSERT_TRUE(finished.has_value()) << finished.error().message;
  EXPECT_THAT(finished->removed, SizeIs(1)) << "nobody was made with the second one";
  CO_ASSERT_TRUE(finished->older.size() == 1u);
  EXPECT_EQ(finished->older[0].fingerprint, on.fingerprint());
  EXPECT_THAT(finished->older[0].users, ElementsAre("SandboxTemplate python", "old"));
  EXPECT_TRUE(is_signed_by(co_await token_for(executor, &on.fake, "old"), *on.first));

  on.fake.server.erase(kube::kSandboxTemplates, "default", "python");
  on.fake.server.change(kube::kPods, "default", "skiff-old",
                        [](json& pod) { pod["status"] = {{"phase", "Succeeded"}}; });
  finished = co_await finish_rotation(on.fake.cluster.get());
  CO_ASSERT_TRUE(finished.has_value()) << finished.error().message;
  EXPECT_THAT(finished->removed, ElementsAre(on.fingerprint()));
  EXPECT_THAT(finished->older, IsEmpty());
  EXPECT_THAT(on.keys().older, IsEmpty());
  co_await on.fake.stop();
}

CO_TEST(KeyRotation, LooksAtSandboxesWithNamespacesOfTheirOwn, KeyedCluster& on) {
  PodRecord record = fakes::sandbox_record("far", "s-far");
  record.namespace_name = "its-own";
  on.fake.server.put(kube::kConfigMaps, create_record(record, "default", "skiff-far"));
  Object pod = fakes::sandbox_pod("far", "s-far");
  pod.json["metadata"]["namespace"] = "its-own";
  pod.json["spec"]["containers"] = environment_with(on.first->public_pem().value());
  on.fake.server.put(kube::kPods, std::move(pod));
  CO_ASSERT_TRUE((co_await rotate_key(on.fake.cluster.get())).has_value());
  auto finished = co_await finish_rotation(on.fake.cluster.get());
  CO_ASSERT_TRUE(finished && finished->older.size() == 1u);
  EXPECT_THAT(finished->older[0].users, ElementsAre("far"));
}

CO_TEST(KeyRotation, LosesNoKeyWhenTwoDoItAtOnce, KeyedCluster& on) {
  const auto elsewhere = on.fake.open(executor);
  bool is_first = true;
  on.fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.is("PATCH", "/secrets/skiff-signing-key") && std::exchange(is_first, false)) {
      // Somebody else was faster.
      on.fake.server.change(kube::kSecrets, "default", "skiff-signing-key", [](json& secret) {
        const SigningKeys theirs{.current = SigningKey::generate().value()};
        secret["data"].merge_patch(signing_secret_data(theirs).value());
      });
    }
    return std::nullopt;
  };
  const auto rotated = co_await rotate_key(elsewhere.get());
  CO_ASSERT_TRUE(!rotated);
  EXPECT_EQ(rotated.error().code, Errc::sandbox_conflict);
}

CO_TEST(KeyRotation, KnowsItsOwnWorkWhenTheAnswerWasLost, KeyedCluster& on) {
  bool is_first = true;
  on.fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (!request.is("PATCH", "/secrets/skiff-signing-key") || !std::exchange(is_first, false)) return std::nullopt;
    return fakes::FakeApiServer::lost();
  };
  const auto rotated = co_await rotate_key(on.fake.cluster.get());
  CO_ASSERT_TRUE(rotated.has_value()) << rotated.error().message;
  EXPECT_THAT(on.keys().older, SizeIs(1));
  EXPECT_EQ(on.keys().current.fingerprint().value(), rotated->current);
}

CO_TEST(KeyRotation, NeedsAKeyThatIsThere, FakeCluster& fake) {
  const auto rotated = co_await rotate_key(fake.cluster.get());
  CO_ASSERT_TRUE(!rotated);
  EXPECT_EQ(rotated.error().code, Errc::not_found);
}

}  // namespace
}  // namespace skiff::container
