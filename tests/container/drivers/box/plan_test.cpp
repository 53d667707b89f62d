#include "container/drivers/box/plan.hpp"

#include <algorithm>
#include <array>
#include <ranges>

#include <gtest/gtest.h>

namespace skiff::container::box {
namespace {

Machine usual_machine() {
  return {.directories = {"/usr", "/opt"},
          .links = {{.path = "/bin", .target = "usr/bin"}},
          .etc = {"ssl/certs", "localtime"},
          .has_cpu_list = true};
}

HostRecord boxed(std::optional<HostMount> mount = {}) {
  HostRecord record;
  record.name = "demo";
  record.id = "s-1";
  record.user = 1234;
  record.group = 5678;
  record.mount = std::move(mount);
  return record;
}

Plan plan_of(const HostRecord& record, const std::vector<const char*>& ours = {}) {
  std::vector<const char*> variables = ours;
  variables.push_back(nullptr);
  auto plan =
      create_plan(record, usual_machine(), "/state/box/demo/root", "/opt/skiff/skiffd", "PEM", variables.data());
  EXPECT_TRUE(plan.has_value());
  return std::move(*plan);
}

const Bind* bind_at(const Plan& plan, std::string_view target) {
  const auto found = std::ranges::find(plan.binds, target, &Bind::target);
  return found == plan.binds.end() ? nullptr : &*found;
}

bool has_variable(const Plan& plan, std::string_view entry) {
  return std::ranges::count(plan.environment, entry) == 1;
}

TEST(BoxPlan, ShowsAllowedDirectoriesReadOnlyAndTheBoxsOwnWritable) {
  const Plan plan = plan_of(boxed());
  for (const Bind& bind : plan.binds) {
    EXPECT_EQ(bind.writable, bind.source.starts_with("/state/")) << bind.target;
  }
  ASSERT_NE(bind_at(plan, "/usr"), nullptr);
  ASSERT_NE(bind_at(plan, "/etc/ssl/certs"), nullptr);
  for (const char* own : {"/home/user", "/workspace", "/tmp", "/var/tmp"}) {
    ASSERT_NE(bind_at(plan, own), nullptr) << own;
    EXPECT_TRUE(bind_at(plan, own)->writable);
  }
  for (const char* absent : {"/", "/home", "/root", "/run", "/var", "/etc", "/proc", "/sys", "/dev", "/boot", "/mnt"}) {
    EXPECT_EQ(bind_at(plan, absent), nullptr) << absent;
  }
  EXPECT_EQ(plan.user, 1234U);
  EXPECT_EQ(plan.group, 5678U);
  EXPECT_EQ(plan.hostname, "demo");
}

TEST(BoxPlan, GetsTheSocketOfAProxyIfItHasEgressByName) {
  HostRecord record = boxed();
  EXPECT_FALSE(plan_of(record).egress);
  record.egress = {"pypi.org"};
  record.is_fenced = true;
  const Plan plan = plan_of(record);
  EXPECT_TRUE(plan.egress);
  const std::vector<std::string> last{plan.argv.end() - 2, plan.argv.end()};
  EXPECT_EQ(last, (std::vector<std::string>{"--egress", "127.0.0.1:3128"}));
}

TEST(BoxPlan, NamesItsAgentAsNameServerIfItHasEgressByName) {
  HostRecord record = boxed();
  const auto servers = [](const Plan& plan) {
    return std::ranges::find(plan.texts, "/etc/resolv.conf", &Text::path)->content;
  };
  EXPECT_FALSE(servers(plan_of(record)).contains("nameserver"));
  record.egress = {"pypi.org"};
  record.is_fenced = true;
  EXPECT_EQ(servers(plan_of(record)), "nameserver 127.0.0.1\noptions ndots:1\n");
}

TEST(BoxPlan, TrustsItsProxyIfItHasSecrets) {
  HostRecord record = boxed();
  EXPECT_EQ(bind_at(plan_of(record), "/.skiff/ca.pem"), nullptr);
  record.is_fenced = true;
  record.egress_secrets = {"git"};
  const Plan plan = plan_of(record);
  for (const char* file : {"/.skiff/ca.pem", "/.skiff/ca-bundle.pem", "/.skiff/trust.p12", "/.skiff/chromium.json"}) {
    ASSERT_NE(bind_at(plan, file), nullptr) << file;
    EXPECT_FALSE(bind_at(plan, file)->writable);
  }
  const auto policy = std::ranges::find(plan.links, "/etc/chromium/policies/managed/skiff.json", &Link::path);
  ASSERT_NE(policy, plan.links.end());
  EXPECT_EQ(policy->target, "/.skiff/chromium.json");
  EXPECT_TRUE(has_variable(plan, "MAVEN_OPTS=-Djavax.net.ssl.trustStore=/.skiff/trust.p12"));
}

TEST(BoxPlan, RunsSkiffdOnInheritedSockets) {
  HostRecord record = boxed();
  record.dialects = {"e2b", "sandboxd"};
  const Plan plan = plan_of(record);
  ASSERT_NE(bind_at(plan, kAgentPath), nullptr);
  EXPECT_EQ(bind_at(plan, kAgentPath)->source, "/opt/skiff/skiffd");
  EXPECT_EQ(plan.argv.front(), kAgentPath);
  const auto has = [&](std::string_view flag, std::string_view value) {
    return std::ranges::any_of(std::views::iota(std::size_t{1}, plan.argv.size()),
                               [&](std::size_t i) { return plan.argv[i - 1] == flag && plan.argv[i] == value; });
  };
  EXPECT_TRUE(has("--listen", "fd:3"));
  EXPECT_TRUE(has("--root", "/workspace"));
  EXPECT_TRUE(has("--sandbox-id", "s-1"));
  EXPECT_TRUE(has("--dialect", "e2b=fd:4"));
  EXPECT_TRUE(has("--e2b-home", "/home/user"));
  EXPECT_TRUE(has("--dialect", "sandboxd=fd:5,fd:6"));
}

TEST(BoxPlan, TakesFewVariablesFromOurs) {
  HostRecord record = boxed();
  record.env = {{"WHO", "me"}};
  const Plan plan = plan_of(record, {"HOME=/home/me", "AWS_SECRET_ACCESS_KEY=x", "LC_ALL=C", "SKIFF_TOKEN=x",
                                     "SSH_AUTH_SOCK=/x", "PATH=/home/me/bin:/usr/bin:.:/bin:/usr/../home/x"});
  EXPECT_TRUE(has_variable(plan, "HOME=/home/user"));
  EXPECT_TRUE(has_variable(plan, "USER=user"));
  EXPECT_TRUE(has_variable(plan, "LC_ALL=C"));
  EXPECT_TRUE(has_variable(plan, "WHO=me"));
  EXPECT_TRUE(has_variable(plan, "PATH=/usr/bin:/bin"));
  EXPECT_TRUE(has_variable(plan, "SANDBOX_ID=s-1"));
  EXPECT_TRUE(has_variable(plan, "SKIFF_PUBLIC_KEY=PEM"));
  for (const std::string& entry : plan.environment) {
    EXPECT_FALSE(entry.starts_with("AWS_") || entry.starts_with("SSH_") || entry.starts_with("SKIFF_TOKEN")) << entry;
  }
}

TEST(BoxPlan, WritesOverAMountedDirectory) {
  const HostMount mount{.path = "/home/me/project", .read_only = false, .device = 3, .inode = 4};
  const Plan plan = plan_of(boxed(mount));
  ASSERT_EQ(plan.overlays.size(), 1U);
  EXPECT_EQ(plan.overlays[0].source, "/home/me/project");
  EXPECT_EQ(plan.overlays[0].layer, "/state/box/demo/root/changes");
  EXPECT_EQ(plan.overlays[0].target, "/workspace");
  EXPECT_EQ(plan.overlays[0].device, 3U);
  EXPECT_EQ(plan.overlays[0].inode, 4U);
  EXPECT_EQ(bind_at(plan, "/workspace"), nullptr);
}

TEST(BoxPlan, HasNoLayerForAReadOnlyMount) {
  const Plan plan = plan_of(boxed(HostMount{.path = "/p", .read_only = true, .device = 3, .inode = 4}));
  ASSERT_EQ(plan.overlays.size(), 1U);
  EXPECT_EQ(plan.overlays[0].layer, "");
}

TEST(BoxPlan, ShowsAnExposedDirectoryAtItsOwnPathAndFindsItsPrograms) {
  HostRecord record = boxed();
  record.exposed = {{.path = "/home/me/.cargo", .read_only = true, .device = 3, .inode = 4}};
  const Plan plan = plan_of(record, {"PATH=/home/me/.cargo/bin:/home/me/bin:/usr/bin"});
  ASSERT_EQ(plan.overlays.size(), 1U);
  EXPECT_EQ(plan.overlays[0].source, "/home/me/.cargo");
  EXPECT_EQ(plan.overlays[0].target, "/home/me/.cargo");
  EXPECT_EQ(plan.overlays[0].layer, "");
  EXPECT_TRUE(has_variable(plan, "PATH=/home/me/.cargo/bin:/usr/bin"));
}

TEST(BoxPlan, IsRefusedForAnUnknownDialect) {
  HostRecord record = boxed();
  record.dialects = {"klingon"};
  const std::array<const char*, 1> none{nullptr};
  EXPECT_FALSE(create_plan(record, usual_machine(), "/r", "/s", "PEM", none.data()).has_value());
}

TEST(BoxPlan, OfATrialHasNoAgent) {
  const Plan plan = create_trial(usual_machine(), 1, 2);
  EXPECT_TRUE(plan.argv.empty());
  EXPECT_NE(bind_at(plan, "/usr"), nullptr);
}

TEST(BoxPlan, GoesThroughJson) {
  const Plan plan =
      plan_of(boxed(HostMount{.path = "/p", .read_only = false, .device = ~std::uint64_t{0}, .inode = 4}));
  const auto read = protocol::decode<Plan>(protocol::to_json(plan));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(protocol::to_json(*read), protocol::to_json(plan));
}

TEST(BoxMachine, HasTheProgramsOfThisMachineAndNobodysFiles) {
  const Machine machine = look_at_machine({});
  EXPECT_EQ(std::ranges::count(machine.directories, "/usr"), 1);
  for (const std::string& directory : machine.directories) {
    for (const std::string_view bad : {"/home", "/root", "/etc", "/var", "/run", "/proc", "/sys", "/dev", "/tmp"}) {
      EXPECT_FALSE(directory == "/" || directory.starts_with(bad)) << directory;
    }
  }
  for (const std::string_view secret : {"shadow", "gshadow", "ssh", "sudoers", "ssl", "ssl/private", "machine-id",
                                        "NetworkManager", "kubernetes", "passwd", "environment", "gitconfig"}) {
    EXPECT_EQ(std::ranges::count(machine.etc, secret), 0) << secret;
  }
}

TEST(BoxPlan, ShowsNoDirectoryOfAUserThatASystemDirectoryLinksTo) {
  const std::vector<std::filesystem::path> own{"/data/users/me", "/state/skiff"};
  EXPECT_TRUE(is_of_the_system("/var/opt", own));
  EXPECT_TRUE(is_of_the_system("/data/programs", own));
  for (const char* one : {"/", "/home", "/home/x", "/root/y", "/data", "/data/users", "/data/users/me",
                          "/data/users/me/opt", "/state", "/state/skiff/box"}) {
    EXPECT_FALSE(is_of_the_system(one, own)) << one;
  }
}

TEST(BoxPlan, TakesTheLimitOfProcessesFromTheRecord) {
  EXPECT_EQ(plan_of(boxed()).processes, 4096U);
  HostRecord record = boxed();
  record.limits.processes = 64;
  EXPECT_EQ(plan_of(record).processes, 64U);
}

}  // namespace
}  // namespace skiff::container::box
