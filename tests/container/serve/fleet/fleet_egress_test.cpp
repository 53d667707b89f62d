#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "container/serve/fleet/fleet.hpp"
#include "tests/container/serve/fleet_fixture.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container::serve {
namespace {

/// A fleet of Pods, one of them behind the fence.
struct PodFleet {
  explicit PodFleet(const std::string& network, std::string_view kind = "pod") {
    SandboxSpec base;
    base.pod.network = network;
    templates = Templates::create(base, nlohmann::json::parse(R"({
        "closed": {"pod": {"network": "deny"}}, "pooled": {"pod": {"pool": "warm"}}
    })"))
                    .value();
    tenants.hosted.kind = kind;
    for (const char* name : {"base", "closed", "gone", "elsewhere"}) {
      Sandbox& one = tenants.hosted.records[name];
      one.name = name;
      one.owner = "a";
      one.state = SandboxState::running;
      one.details["network"] = kNoEgress;
      if (one.name != "elsewhere") one.labels[std::string{kTemplateLabel}] = name;
    }
  }
  Task<bool> takes_rules(std::string name) {
    auto set = co_await fleet.set_egress("a", std::move(name), {.rules = std::vector<std::string>{"pypi.org"}});
    if (!set) EXPECT_EQ(set.error().code, Errc::not_supported);
    co_return set.has_value();
  }

  OneDriver tenants;
  FixedKeys store;
  KeyCache keys{&store};
  Templates templates;
  Fleet fleet{&tenants, &keys, &templates};
};

CO_TEST(FleetEgress, IsChangedWhereTheTemplateIsAsWide) {
  PodFleet open{"open"};
  EXPECT_TRUE(co_await open.takes_rules("base"));
  EXPECT_EQ(open.tenants.hosted.rules, std::vector<std::string>{"pypi.org"});
  EXPECT_FALSE(co_await open.takes_rules("closed"));
  EXPECT_TRUE(co_await open.takes_rules("gone")) << "the server's own flags decide";
  EXPECT_TRUE((co_await open.fleet.set_egress("a", "closed", {})).has_value()) << "that only reads";
  PodFleet narrow{"deny"};
  for (const char* name : {"base", "gone", "elsewhere"}) EXPECT_FALSE(co_await narrow.takes_rules(name)) << name;
}

CO_TEST(FleetEgress, OfAPodIsAskedForAtItsCreation) {
  PodFleet open{"open"};
  auto made = co_await open.fleet.create(tenant_key("a"), {.egress = std::vector<std::string>{"pypi.org"}});
  CO_ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(open.tenants.hosted.last.egress, std::vector<std::string>{"pypi.org"});
  EXPECT_TRUE(open.tenants.hosted.last.is_fenced);
  EXPECT_EQ(open.tenants.hosted.last.pod.dialects, std::vector<std::string>{"e2b"});
  auto nothing = co_await open.fleet.create(tenant_key("a"), {.egress = std::vector<std::string>{}});
  CO_ASSERT_TRUE(nothing) << nothing.error().message;
  EXPECT_TRUE(open.tenants.hosted.last.is_fenced) << "an empty list is a fence, too";
  for (const char* kind : {"claim", "local", "docker"}) {
    PodFleet other{"open", kind};
    const auto refused = co_await other.fleet.create(tenant_key("a"), {.egress = std::vector<std::string>{}});
    CO_ASSERT_TRUE(!refused) << kind;
    EXPECT_EQ(refused.error().code, Errc::not_supported);
  }
}

CO_TEST(FleetEgress, ClosesASandboxByNameWhereItCan) {
  PodFleet open{"open"};
  EXPECT_TRUE(co_await open.fleet.closes_by_name("a", "base"));
  for (const char* other : {"closed", "pooled", "unknown"}) {
    EXPECT_FALSE(co_await open.fleet.closes_by_name("a", other)) << other;
  }
  open.tenants.hosted.has_proxy = false;
  EXPECT_FALSE(co_await open.fleet.closes_by_name("a", "base")) << "it can still have no network at all";
}

}  // namespace
}  // namespace skiff::container::serve
