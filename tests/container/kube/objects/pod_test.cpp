#include "container/kube/objects/pod.hpp"

#include <gtest/gtest.h>

#include "tests/container/kube/parse_object.hpp"

namespace skiff::kube {
namespace {

using test::parse_object;

TEST(Pod, IsReadyByItsConditionUntilItIsDeleted) {
  Object pod = parse_object(R"({"metadata":{},"status":{"phase":"Running","podIP":"10.1.2.3",
                         "conditions":[{"type":"Ready","status":"True"}]}})");
  EXPECT_TRUE(is_pod_ready(pod));
  EXPECT_EQ(pod_phase(pod), "Running");
  EXPECT_EQ(pod_ip(pod), "10.1.2.3");
  pod.json["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  EXPECT_FALSE(is_pod_ready(pod));
  EXPECT_FALSE(is_pod_ready(parse_object(R"({"status":{"phase":"Running"}})")));
}

TEST(Pod, TellsTheStateOfEachContainer) {
  const auto states = container_states(parse_object(R"({"status":{
    "initContainerStatuses":[{"name":"inject","ready":true,"restartCount":0,"state":{"terminated":{"exitCode":0,"reason":"Completed"}}}],
    "containerStatuses":[
      {"name":"work","ready":false,"restartCount":3,
       "state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off 10s"}},
       "lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}},
      {"name":"side","ready":true,"restartCount":0,"state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}}},
      {"name":"odd"}, 5]}})"));
  ASSERT_EQ(states.size(), 5u);
  EXPECT_TRUE(states[0].is_init);
  EXPECT_EQ(states[0].kind, ContainerState::Kind::terminated);
  EXPECT_EQ(states[0].exit_code, 0);
  EXPECT_EQ(states[1].kind, ContainerState::Kind::waiting);
  EXPECT_EQ(states[1].reason, "CrashLoopBackOff");
  EXPECT_EQ(states[1].message, "back-off 10s");
  EXPECT_EQ(states[1].restarts, 3);
  EXPECT_EQ(states[1].last_reason, "OOMKilled");
  EXPECT_EQ(states[1].last_exit_code, 137);
  EXPECT_EQ(states[2].kind, ContainerState::Kind::running);
  EXPECT_TRUE(states[2].ready);
  EXPECT_EQ(states[3].kind, ContainerState::Kind::waiting);
  EXPECT_TRUE(container_states(parse_object("{}")).empty());
}

TEST(Pod, TellsAPortOfItsContainersByItsName) {
  const Object pod = parse_object(R"({"spec":{"containers":[{"name":"a"},{"name":"b","ports":5},
      {"name":"c","ports":[{"name":"web","containerPort":80},{"name":"agent","containerPort":8888},7]}]}})");
  EXPECT_EQ(container_port(pod, "agent"), 8888);
  EXPECT_FALSE(container_port(pod, "none"));
  for (const char* number : {"0", "65536", "-1", "\"80\"", "null"}) {
    const std::string text =
        R"({"spec":{"containers":[{"ports":[{"name":"agent","containerPort":)" + std::string{number} + "}]}]}}";
    EXPECT_FALSE(container_port(parse_object(text.c_str()), "agent")) << number;
  }
  EXPECT_FALSE(container_port(parse_object("{}"), "agent"));
}

TEST(Service, TellsItsAddresses) {
  const Object service =
      parse_object(R"({"spec":{"clusterIP":"10.96.0.9","ports":[{"name":"api","port":80,"nodePort":30080},
      {"name":"dev","port":81}]},"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"},{"hostname":"lb.example"}]}}})");
  EXPECT_EQ(cluster_ip(service), "10.96.0.9");
  EXPECT_EQ(load_balancer_addresses(service), (std::vector<std::string>{"192.0.2.1", "lb.example"}));
  EXPECT_EQ(node_port(service, "api"), 30080);
  EXPECT_FALSE(node_port(service, "dev"));
  EXPECT_FALSE(node_port(service, "none"));
}

TEST(Service, ListensAtAddressesOfItsFamilies) {
  const Object one = parse_object(R"({"spec":{"ipFamilies":["IPv6"]}})");
  EXPECT_TRUE(has_family_of(one, "fd00::7"));
  EXPECT_FALSE(has_family_of(one, "192.0.2.1"));
  const Object both = parse_object(R"({"spec":{"ipFamilies":["IPv4","IPv6"]}})");
  for (const char* address : {"fd00::7", "192.0.2.1"}) {
    EXPECT_TRUE(has_family_of(both, address)) << address;
    EXPECT_TRUE(has_family_of(parse_object("{}"), address)) << address;
  }
}

}  // namespace
}  // namespace skiff::kube
