#include "container/sandbox/pools.hpp"

#include <gtest/gtest.h>

namespace skiff::container {
namespace {

PoolSpec pool_of_two() {
  PoolSpec wanted{.name = "python", .size = 2};
  wanted.sandbox.image = "python:3.12-slim";
  wanted.sandbox.env = {{"LEVEL", "pool"}, {"ONLY", "pool"}};
  wanted.sandbox.pod.memory = "1Gi";
  return wanted;
}

std::string refused(const Result<>& result) {
  return result ? "" : result.error().field;
}

TEST(Pools, TakeNoNameThatDoesNotFitIntoTheNamesOfTheirPods) {
  EXPECT_TRUE(check_pool_name("python"));
  EXPECT_TRUE(check_pool_name(std::string(40, 'a')));
  for (const std::string& name : {std::string{}, std::string{"Python"}, std::string{"a_b"}, std::string(41, 'a')}) {
    EXPECT_EQ(refused(check_pool_name(name)), "name") << name;
  }
}

TEST(Pools, RefuseWhatBelongsToOneSandbox) {
  EXPECT_TRUE(check_pool(pool_of_two()));
  const auto with = [](auto change) {
    PoolSpec wanted = pool_of_two();
    change(wanted);
    return refused(check_pool(wanted));
  };
  EXPECT_EQ(with([](PoolSpec& one) { one.size = 1001; }), "--size");
  EXPECT_EQ(with([](PoolSpec& one) { one.sandbox.pod.volumes = {"1Gi:/data"}; }), "--volume");
  EXPECT_EQ(with([](PoolSpec& one) { one.sandbox.pod.namespace_per_sandbox = true; }), "--namespace-per-sandbox");
  EXPECT_EQ(with([](PoolSpec& one) { one.sandbox.pod.network = "cidr=10.0.0.0/8"; }), "--network");
  EXPECT_EQ(with([](PoolSpec& one) { one.sandbox.pod.allow = {"10.0.0.0/8"}; }), "--allow");
  EXPECT_EQ(with([](PoolSpec& one) { one.sandbox.pod.agent_port = 8888; }), "") << "where the network is open";
  EXPECT_EQ(with([](PoolSpec& one) {
              one.sandbox.pod.agent_port = 8888;
              one.sandbox.pod.network = "deny";
            }),
            "--agent-port");
  EXPECT_EQ(with([](PoolSpec& one) { one.sandbox.labels = {{"a", "b"}}; }), "--label");
  EXPECT_EQ(with([](PoolSpec& one) { one.sandbox.lease.ttl = std::chrono::hours{1}; }), "--ttl");
  EXPECT_EQ(with([](PoolSpec& one) { one.sandbox.lease.idle_ttl = std::chrono::hours{1}; }), "--idle-ttl");
  EXPECT_EQ(with([](PoolSpec& one) { one.sandbox.pod.pool = "another"; }), "--pool");
}

TEST(Pools, RefuseASandboxThatAsksForAnotherPodThanTheyMake) {
  const SandboxSpec made = pool_of_two().sandbox;
  SandboxSpec wanted{.name = "box"};
  EXPECT_TRUE(check_fits_pool(wanted, &made)) << "it asks for nothing";
  wanted.image = made.image;
  wanted.pod.memory = "1Gi";
  wanted.pod.service = ServiceKind::headless;
  wanted.pod.ports = {"8080"};
  EXPECT_TRUE(check_fits_pool(wanted, &made)) << "it asks for what the pool makes, and for a service of its own";
  EXPECT_EQ(refused(check_fits_pool(wanted, nullptr)), "--image") << "what the pool makes is not known";
  wanted.image.clear();
  EXPECT_EQ(refused(check_fits_pool(wanted, nullptr)), "--memory");
  wanted.pod.memory = "2Gi";
  EXPECT_EQ(refused(check_fits_pool(wanted, &made)), "--memory");
  wanted.pod = {};
  wanted.pod.volumes = {"1Gi:/data"};
  EXPECT_EQ(refused(check_fits_pool(wanted, &made)), "--volume");
  wanted.pod = {};
  wanted.pod.allow = {"10.0.0.0/8"};
  EXPECT_TRUE(check_fits_pool(wanted, &made));
  EXPECT_EQ(refused(check_fits_pool(wanted, nullptr)), "--allow") << "nobody would make that policy";
  const auto with = [&made](auto change) {
    SandboxSpec one{.name = "box"};
    change(one.pod);
    return refused(check_fits_pool(one, &made));
  };
  EXPECT_EQ(with([](PodOptions& pod) { pod.service_account = "builder"; }), "--service-account");
  EXPECT_EQ(with([](PodOptions& pod) { pod.pull_secrets = {"registry"}; }), "--pull-secret");
  EXPECT_EQ(with([](PodOptions& pod) { pod.pull_policy = "Always"; }), "--pull-policy");
  EXPECT_EQ(with([](PodOptions& pod) { pod.agent_image = "own/skiffd"; }), "--agent-image");
  EXPECT_EQ(with([](PodOptions& pod) { pod.dialects = {"sandboxd"}; }), "--dialect");
  EXPECT_EQ(with([](PodOptions& pod) { pod.namespace_per_sandbox = true; }), "--namespace-per-sandbox");
}

TEST(Pools, AreNotAskedForWhatIsOnlyADefault) {
  SandboxSpec wanted{.name = "box", .image = "busybox"};
  wanted.pod.pool = "python";
  wanted.pod.memory = "2Gi";
  wanted.pod.inject = false;
  wanted.pod.agent_image = "own/skiffd";
  wanted.pod.network = "deny";
  const std::vector<std::string> given{"--memory", "--no-inject", "--network"};
  leave_to_the_pool(wanted, given);
  EXPECT_EQ(wanted.image, "");
  EXPECT_EQ(wanted.pod.agent_image, "");
  EXPECT_EQ(wanted.pod.memory, "2Gi") << "that was asked for";
  EXPECT_FALSE(wanted.pod.inject);
  EXPECT_EQ(wanted.pod.network, "deny");
  EXPECT_EQ(wanted.pod.pool, "python");
}

TEST(Pools, GiveASandboxTheirDialects) {
  PoolSpec pool = pool_of_two();
  pool.sandbox.pod.dialects = {"python-runtime"};
  EXPECT_TRUE(check_pool(pool));
  SandboxSpec wanted{.name = "box"};
  EXPECT_TRUE(check_fits_pool(wanted, &pool.sandbox));
  EXPECT_EQ(complete_from_pool(wanted, pool.sandbox).pod.dialects, std::vector<std::string>{"python-runtime"});
  wanted.pod.service = ServiceKind::loadbalancer;
  EXPECT_EQ(refused(check_fits_pool(wanted, &pool.sandbox)), "--allow");
  wanted.pod.allow = {"203.0.113.7/32"};
  EXPECT_TRUE(check_fits_pool(wanted, &pool.sandbox));
  wanted.pod.ports = {"8888"};
  EXPECT_EQ(refused(check_fits_pool(wanted, &pool.sandbox)), "--port");
}

TEST(Pools, WithoutAFenceGiveNoSandboxThatHasOne) {
  PoolSpec pool = pool_of_two();
  SandboxSpec wanted{.name = "box"};
  wanted.is_fenced = true;
  EXPECT_EQ(refused(check_fits_pool(wanted, &pool.sandbox)), "--egress") << "it would be open";
  pool.sandbox.is_fenced = true;
  EXPECT_TRUE(check_fits_pool(wanted, &pool.sandbox));
  wanted.is_fenced = false;
  EXPECT_TRUE(complete_from_pool(wanted, pool.sandbox).has_egress());
  wanted.pod.network = "deny";
  EXPECT_EQ(complete_from_pool(wanted, pool.sandbox).pod.network, "open") << "the fence alone closes it";
  wanted.egress = {"pypi.org"};
  EXPECT_EQ(complete_from_pool(wanted, pool.sandbox).pod.network, "deny") << "for the driver to refuse";
}

TEST(Pools, GiveASandboxTheirPodAndTheirVariables) {
  SandboxSpec wanted{.name = "box", .owner = "ann", .env = {{"LEVEL", "own"}}};
  wanted.pod.pool = "python";
  wanted.pod.service = ServiceKind::none;
  wanted.pod.allow = {"10.0.0.0/8"};
  const SandboxSpec whole = complete_from_pool(wanted, pool_of_two().sandbox);
  EXPECT_EQ(whole.name, "box");
  EXPECT_EQ(whole.owner, "ann");
  EXPECT_EQ(whole.image, "python:3.12-slim");
  EXPECT_EQ(whole.pod.memory, "1Gi");
  EXPECT_EQ(whole.pod.pool, "python");
  EXPECT_EQ(whole.pod.service, ServiceKind::none);
  EXPECT_EQ(whole.pod.allow, std::vector<std::string>{"10.0.0.0/8"}) << "who may reach it is its own to say";
  EXPECT_EQ(whole.env, (std::map<std::string, std::string>{{"LEVEL", "own"}, {"ONLY", "pool"}}));
}

TEST(Pools, SayHowAMissingOneIsMade) {
  EXPECT_EQ(no_such_pool("python").code, Errc::not_found);
  EXPECT_NE(no_such_pool("python").message.find("skiff pool create python"), std::string::npos);
}

}  // namespace
}  // namespace skiff::container
