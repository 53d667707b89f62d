#include "container/serve/authorizer.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/container/sandbox/refusing_driver.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container::serve {
namespace {

constexpr int kTenantsOfDoor = 300;

/// Has no sandbox at all, and counts how often it is asked for one.
class EmptyDriver final : public fakes::RefusingDriver {
 public:
  Task<Result<Sandbox>> get(std::string name) override {
    ++gets;
    co_return std::unexpected{no_such_sandbox(name)};
  }
  int gets = 0;
};

class EmptyTenants final : public Tenants {
 public:
  Task<Result<Driver*>> driver(std::string) override { co_return &hosted; }
  EmptyDriver hosted;
};

class KeysOfMany final : public KeyStore {
 public:
  [[nodiscard]] std::string place() const override { return "here"; }
  Task<Result<KeyRing>> read() override {
    KeyRing ring{.token_secret = "secret", .keys = {}};
    for (int i = 0; i < kTenantsOfDoor; ++i) {
      const std::string number = std::to_string(i);
      ApiKey& key = ring.keys.emplace_back();
      key.name = "k" + number;
      key.sha256 = std::string(64, 'a');
      key.tenant = "t" + number;
    }
    co_return ring;
  }
  Task<Result<>> change(std::function<Result<>(KeyRing&)>) override { co_return Result<>{}; }
};

struct AuthorizerFixture {
  explicit AuthorizerFixture(Executor executor) : authorizer{executor, &fleet, &keys} {}
  EmptyTenants tenants;
  KeysOfMany store;
  KeyCache keys{&store};
  Templates templates = Templates::create({.name = {}}, {}).value();
  Fleet fleet{&tenants, &keys, &templates};
  Authorizer authorizer;

  Task<> close() { co_return; }
};

CO_TEST(Authorizer, LooksForNoSandboxTwiceBecauseOfASignature, AuthorizerFixture& on) {
  protocol::HttpRequest request;
  request.method = "GET";
  request.target = protocol::Target::parse("/files?path=/f&signature=v1_" + std::string(43, 'A')).value();
  const Destination destination{.sandbox = "none", .namespace_name = {}, .port = kE2bPort, .source = "192.0.2.1"};
  for (int i = 0; i < 10; ++i) {
    auto admitted = co_await on.authorizer.admit(&request, &destination, false);
    CO_ASSERT_TRUE(!admitted.has_value());
    EXPECT_EQ(admitted.error().code, Errc::unauthenticated);
  }
  EXPECT_GE(on.tenants.hosted.gets, kTenantsOfDoor);
  EXPECT_LT(on.tenants.hosted.gets, 3 * kTenantsOfDoor) << "of ten requests, the first has looked";
}

CO_TEST(Authorizer, DerivesTheSecretOfNoTenantWhomAPreviewDoesNotName, AuthorizerFixture& on) {
  const WallTime ends = wall_now() + std::chrono::hours{1};
  const Previews theirs = (co_await on.authorizer.previews("t7")).value();
  const std::string link = theirs.parameter("s01abc", 3000, ends, {.record = "0123456789abcdef", .by = "account"});
  const std::size_t before = on.authorizer.derived();
  const auto refusal = [&](const std::string& target, std::string cookie = {}) -> Task<Errc> {
    protocol::HttpRequest request;
    request.method = "GET";
    request.host = "3000-s01abc.boxes.example.com";
    request.target_text = target;
    request.target = protocol::Target::parse(target).value();
    if (!cookie.empty()) request.headers.add("Cookie", "skiff-preview=" + cookie);
    const Destination destination{
        .sandbox = "s01abc", .namespace_name = {}, .port = 3000, .by = NamedBy::host, .source = "192.0.2.1"};
    auto admitted = co_await on.authorizer.admit(&request, &destination, false);
    co_return admitted ? Errc::internal : admitted.error().code;
  };
  EXPECT_EQ(co_await refusal("/"), Errc::unauthenticated);
  EXPECT_EQ(co_await refusal("/?skiff-preview=1.2.3.00000000." + std::string(43, 'A')), Errc::unauthenticated);
  EXPECT_EQ(co_await refusal("/?skiff-preview=1.2.3." + std::string(43, 'A')), Errc::unauthenticated) << "an old link";
  EXPECT_EQ(co_await refusal("/", "1.2.3.00000000." + std::string(43, 'A')), Errc::unauthenticated);
  EXPECT_EQ(on.authorizer.derived(), before);
  EXPECT_EQ(co_await refusal("/?" + link), Errc::sandbox_not_found) << "it is valid, and its sandbox is gone";
  EXPECT_EQ(on.authorizer.derived(), before + 1);
}

}  // namespace
}  // namespace skiff::container::serve
