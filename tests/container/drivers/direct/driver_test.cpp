#include "container/drivers/direct/driver.hpp"

#include <string>

#include <gtest/gtest.h>

#include "tests/container/kube/canned_server.hpp"
#include "tests/support/reactor_test.hpp"
#include "tests/support/temporary_directory.hpp"

namespace skiff::container {
namespace {

using test::answer;
using test::CannedServer;

std::string url_of(const CannedServer& server) {
  return "http://127.0.0.1:" + std::to_string(server.access().server.port);
}

CO_TEST(DirectDriver, IsNotOpenedWithoutWhatItNeeds) {
  const auto refused = [executor](DirectOptions options) {
    const auto opened = DirectDriver::open(executor, std::move(options));
    return opened ? std::string{} : opened.error().message;
  };
  EXPECT_NE(refused({}).find("--url http://HOST:7070"), std::string::npos);
  EXPECT_NE(refused({.url = "host:7070"}).find("http://HOST:PORT"), std::string::npos);
  EXPECT_NE(refused({.url = "unix:here"}).find("unix:///PATH"), std::string::npos);
  EXPECT_FALSE(refused({.url = "ftp://host"}).empty());
  EXPECT_NE(refused({.url = "http://host", .key_file = "/no/such/file"}).find("--key-file"), std::string::npos);
  EXPECT_NE(refused({.url = "https://host", .agent_certificate_authority = "/no/such/file"})
                .find("--agent-certificate-authority"),
            std::string::npos);
  const test::TemporaryDirectory directory;
  EXPECT_NE(refused({.url = "http://host", .key_file = directory.write("key", "none")}).find("not an Ed25519"),
            std::string::npos);
  for (const char* url : {"http://host", "https://host:1/path", "http://[::1]:7070", "unix:///run/a", "unix:/run/a"}) {
    EXPECT_EQ(refused({.url = url}), "") << url;
  }
  co_return;
}

CO_TEST(DirectDriver, BelievesNoTypesOfAnAgent) {
  const std::string odd = R"({"version":7,"sandbox_id":["a"],"labels":{"a":1,"b":"c"}})";
  const std::string idle = R"({"lease":{"expires_at":12},"last_used_at":null})";
  CannedServer server{executor, {{answer("200 OK", odd)}, {answer("200 OK", idle)}}};
  auto driver = DirectDriver::open(executor, {.url = url_of(server), .token = "secret"});
  CO_ASSERT_TRUE(driver.has_value());
  auto sandbox = co_await (*driver)->get("any");
  CO_ASSERT_TRUE(sandbox.has_value()) << sandbox.error().message;
  EXPECT_EQ(sandbox->name, "any");
  EXPECT_EQ(sandbox->id, "");
  EXPECT_EQ(sandbox->labels, (std::map<std::string, std::string>{{"b", "c"}}));
  EXPECT_FALSE(sandbox->expires_at.has_value());
  EXPECT_NE(server.requests().front().find("X-Skiff-Token: secret\r\n"), std::string::npos);
  co_await server.stop();
}

CO_TEST(DirectDriver, SendsNoTokenWhereNoneIsGiven) {
  CannedServer server{executor, {{answer("200 OK", R"({"version":"1"})")}}};
  auto driver = DirectDriver::open(executor, {.url = url_of(server)});
  CO_ASSERT_TRUE(driver.has_value());
  const std::vector<Check> checks = co_await (*driver)->examine();
  CO_ASSERT_TRUE(checks.size() == 2U);
  EXPECT_TRUE(checks[0].passed && checks[1].passed);
  EXPECT_NE(checks[1].detail.find("none"), std::string::npos);
  EXPECT_EQ(server.requests().front().find("X-Skiff-Token"), std::string::npos);
  co_await server.stop();
}

CO_TEST(DirectDriver, IsContentWithATokenThatMayNotAskForTheVersion) {
  CannedServer server{executor,
                      {{answer("403 Forbidden", R"({"code":"insufficient_scope","detail":"not of this session"})",
                               "Content-Type: application/problem+json\r\n")}}};
  auto driver = DirectDriver::open(executor, {.url = url_of(server), .token = "bound"});
  CO_ASSERT_TRUE(driver.has_value());
  auto endpoint = co_await (*driver)->endpoint("any", {});
  CO_ASSERT_TRUE(endpoint.has_value()) << endpoint.error().message;
  EXPECT_EQ(endpoint->token().value(), "bound");
  co_await server.stop();
}

CO_TEST(DirectDriver, TellsWhatIsNoSkiffd) {
  CannedServer server{executor, {{answer("404 Not Found", "<html>", "Content-Type: text/html\r\n")}}};
  auto driver = DirectDriver::open(executor, {.url = url_of(server), .token = "secret"});
  CO_ASSERT_TRUE(driver.has_value());
  auto endpoint = co_await (*driver)->endpoint("any", {});
  CO_ASSERT_TRUE(!endpoint.has_value());
  EXPECT_NE(endpoint.error().message.find(url_of(server)), std::string::npos) << endpoint.error().message;
  EXPECT_EQ(endpoint.error().message.find("secret"), std::string::npos);
  co_await server.stop();
}

}  // namespace
}  // namespace skiff::container
