#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "container/serve/gateway/gateway.hpp"
#include "tests/protocol/http/raw_client.hpp"

/// A gateway between a client that sees bytes and a server in the place of an agent.
namespace skiff::container::serve {

inline constexpr std::string_view kGatewayDomain = "boxes.localhost";

/// A request that came to the agent.
struct CameToAgent {
  std::string method;
  std::string target;
  protocol::Headers fields;
  std::string body;
};

/// A sandbox with a server in the place of its agent.
class FakeSandboxes final : public Sandboxes {
 public:
  explicit FakeSandboxes(Executor executor) : executor_{executor} {}

  Task<Result<std::string>> run_of(SandboxRef of) override {
    if (of.sandbox != "box") co_return fail(Errc::sandbox_not_found, "there is none");
    if (!running) co_return fail(Errc::sandbox_not_running, "it was stopped");
    co_return run;
  }
  Task<Result<Endpoint>> agent(SandboxRef of, TokenGrant grant, Look look) override {
    asked.push_back(of.tenant + "/" + of.sandbox + " " + grant.scope);
    looks.push_back(look);
    lifetime = grant.lifetime;
    Endpoint endpoint;
    endpoint.client = {.host = "127.0.0.1", .port = port};
    endpoint.path_prefix = prefix;
    endpoint.headers = headers;
    endpoint.token = [] { return Result<std::string>{"short-token"}; };
    co_return endpoint;
  }
  Task<Result<protocol::Stream>> dial(SandboxRef of, std::uint16_t to) override {
    asked.push_back(of.tenant + "/" + of.sandbox + " dial " + std::to_string(to));
    co_return co_await protocol::connect(*protocol::Address::ip("127.0.0.1", port), std::chrono::seconds{5}, executor_);
  }
  Task<Result<>> start(SandboxRef) override {
    ++starts;
    if (!may_start) co_return fail(Errc::sandbox_not_running, "its owner wants it to stay so");
    running = true;
    co_return Result<>{};
  }

  std::uint16_t port = 0;
  std::string prefix = {};
  protocol::Headers headers = {};
  bool running = true;
  bool may_start = true;
  int starts = 0;
  std::string run = "first";
  std::vector<std::string> asked = {};
  std::vector<Look> looks = {};
  std::chrono::seconds lifetime{};

 private:
  Executor executor_;
};

/// Client, gateway and agent. `stop` it at the end.
struct GatewayScene {
  explicit GatewayScene(Executor executor_in, std::function<Task<>(protocol::HttpExchange&)> handler = {},
                        GatewayOptions options = {})
      : executor{executor_in},
        sandboxes{executor},
        agent{executor,
              handler ? std::move(handler) : [this](protocol::HttpExchange& http) { return record(this, http); }},
        gateway{executor, sandboxes, with_name(std::move(options))},
        front{executor, [this](protocol::HttpExchange& http) { return answer(this, http); }} {
    sandboxes.port = agent.address.port();
  }
  static GatewayOptions with_name(GatewayOptions options) {
    options.name = "gateway-1";
    return options;
  }
  static Task<> record(GatewayScene* self, protocol::HttpExchange& http) {
    auto body = co_await http.read_body(1 << 20);
    self->came.push_back(
        {http.request().method, http.request().target_text, http.request().headers, body ? *body : "error"});
    auto sent = co_await http.respond({.status = 201, .headers = {{"X-Own", "1"}}, .body = "made"});
    EXPECT_TRUE(sent.has_value());
  }
  static Task<> answer(GatewayScene* self, protocol::HttpExchange& http) {
    EXPECT_TRUE(http.mark_authenticated().has_value());
    auto destination = destination_of(http.request(), kGatewayDomain);
    EXPECT_TRUE(destination.has_value() && destination->has_value()) << http.request().host;
    if (!destination || !*destination) co_return;
    auto passed = co_await self->gateway.pass(http, **destination, self->permission);
    self->outcome = passed ? "passed" : std::string{name(passed.error().code)};
    if (passed || http.status() != 0) co_return;
    (void)co_await http.respond({.status = 599, .body = self->outcome});
  }
  Task<> stop() {
    co_await front.server.stop();
    co_await gateway.stop();
    co_await agent.server.stop();
  }

  /// The whole answer to a request, of a client that closes.
  static Task<test::RawResponse> ask(GatewayScene* self, std::string line, std::string fields, std::string body) {
    test::RawClient client = co_await test::dial(self->executor, self->front.address);
    std::string request = line + " HTTP/1.1\r\nConnection: close\r\n" + fields;
    if (!body.empty()) request += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    EXPECT_TRUE(co_await client.send(request + "\r\n" + body));
    co_return co_await client.response();
  }

  Executor executor;
  FakeSandboxes sandboxes;
  test::TestServer agent;
  Gateway gateway;
  test::TestServer front;
  Permission permission{.tenant = "team", .scope = "read exec ports"};
  std::vector<CameToAgent> came = {};
  std::string outcome = {};
};

inline constexpr const char* kServerHost = "Host: 3000-box.boxes.localhost\r\n";
inline constexpr const char* kAgentHost = "Host: 7070-box.boxes.localhost\r\n";
inline constexpr const char* kDialectHost = "Host: 49983-box.boxes.localhost\r\n";

}  // namespace skiff::container::serve
