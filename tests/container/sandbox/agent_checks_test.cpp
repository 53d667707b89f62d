#include "container/sandbox/agent_checks.hpp"

#include <gtest/gtest.h>

#include "container/agent/client.hpp"
#include "protocol/http/client.hpp"
#include "tests/container/kube/canned_server.hpp"
#include "tests/container/sandbox/refusing_driver.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using test::answer;
using test::CannedServer;

/// Knows running sandboxes, all of which lead to one canned agent: the real one has no other version than ours.
class OneAgent : public fakes::RefusingDriver {
 public:
  OneAgent(Executor executor, const CannedServer& server, std::vector<std::string> names)
      : executor_{executor}, port_{server.access().server.port}, names_{std::move(names)} {}

  Task<Result<SandboxPage>> list(SandboxFilter filter) override {
    EXPECT_EQ(filter.state, SandboxState::running);
    SandboxPage page;
    for (const std::string& name : names_) page.items.emplace_back().name = name;
    co_return page;
  }
  Task<Result<Endpoint>> endpoint(std::string, TokenGrant grant) override {
    EXPECT_EQ(grant.scope, "read");
    const auto address = protocol::Address::ip("127.0.0.1", port_).value();
    Endpoint endpoint{.token = [] { return "token"; }};
    endpoint.client.host = "agent";
    endpoint.client.dial = [executor = executor_, address](auto limit) {
      return protocol::connect(address, limit, executor);
    };
    co_return endpoint;
  }

 private:
  Executor executor_;
  std::uint16_t port_;
  std::vector<std::string> names_;
};

/// Can't even say which there are.
class Unlisted final : public OneAgent {
 public:
  using OneAgent::OneAgent;
  Task<Result<SandboxPage>> list(SandboxFilter) override { co_return fail(Errc::permission_denied, "not you"); }
};

CO_TEST(AgentChecks, LeaveToPsWhatIsWrongWithTheList) {
  CannedServer server{executor, {}};
  Unlisted driver{executor, server, {}};
  const Check check = co_await examine_agents(&driver, "me");
  EXPECT_FALSE(check.passed);
  EXPECT_EQ(check.detail, "not you");
  EXPECT_EQ(check.remedy, "look at the output of `skiff ps`");
  co_await server.stop();
}

CO_TEST(AgentChecks, PassWhenAllAreOfThisVersion) {
  const std::string ours = answer("200 OK", R"({"name":"skiffd","version":")" SKIFF_VERSION "\"}");
  CannedServer server{executor, {{ours}, {ours}}};
  OneAgent driver{executor, server, {"a", "b"}};
  const Check check = co_await examine_agents(&driver, "me");
  EXPECT_TRUE(check.passed) << check.detail;
  EXPECT_TRUE(check.detail.starts_with("2 asked")) << check.detail;
  co_await server.stop();
}

CO_TEST(AgentChecks, TellWhoHasAnotherVersionAndHowToRenewIt) {
  CannedServer server{executor, {{answer("200 OK", R"({"name":"skiffd","version":"0.0.9"})")}}};
  OneAgent driver{executor, server, {"old"}};
  const Check check = co_await examine_agents(&driver, "me");
  EXPECT_FALSE(check.passed);
  EXPECT_EQ(check.detail, "old: version 0.0.9");
  EXPECT_NE(check.remedy.find("`skiff stop old && skiff start old`"), std::string::npos) << check.remedy;
  co_await server.stop();
}

CO_TEST(AgentChecks, TellWhoDoesNotAnswerAsAnAgentDoes) {
  CannedServer server{
      executor,
      {{answer("502 Bad Gateway", "<html>", "")}, {answer("200 OK", "[1]")}, {answer("200 OK", R"({"version":1})")}}};
  OneAgent driver{executor, server, {"lost", "odd", "vague"}};
  const Check check = co_await examine_agents(&driver, "me");
  EXPECT_FALSE(check.passed);
  EXPECT_NE(check.detail.find("lost: what answers there is not skiffd"), std::string::npos) << check.detail;
  EXPECT_NE(check.detail.find("odd: what answers there is not skiffd"), std::string::npos) << check.detail;
  EXPECT_NE(check.detail.find("vague: version unknown"), std::string::npos) << check.detail;
  co_await server.stop();
}

CO_TEST(AgentChecks, TellWhoseClockIsAnother) {
  const std::string old = answer("200 OK", R"({"name":"skiffd","version":")" SKIFF_VERSION "\"}",
                                 "Content-Type: application/json\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
  CannedServer server{executor, {{old}}};
  OneAgent driver{executor, server, {"late"}};
  const Check check = co_await examine_agents(&driver, "me");
  EXPECT_FALSE(check.passed);
  EXPECT_TRUE(check.detail.starts_with("late: its clock is ")) << check.detail;
  EXPECT_TRUE(check.detail.ends_with(" s behind this machine's")) << check.detail;
  EXPECT_NE(check.remedy.find("NTP"), std::string::npos) << check.remedy;
  co_await server.stop();
}

}  // namespace
}  // namespace skiff::container
