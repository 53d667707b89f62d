#include "runtime/egress/fence.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "protocol/net/listener.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::runtime::egress {
namespace {

using namespace std::chrono_literals;
using protocol::Address;
using protocol::Listener;
using State = Fence::State;

/// A port of the proxy that can be closed and opened again.
struct Port {
  explicit Port(Executor on) : executor{on}, tasks{on} { open(); }
  void open() {
    listener = Listener::open(executor, address).value();
    address = listener->address();
    tasks.spawn("port", [](std::shared_ptr<Listener> one) -> Task<> {
      co_await one->accept_all([](const UniqueFd&, const Address&) {});
    }(listener));
  }
  Task<> close() {
    listener->close();
    co_await tasks.join();
    listener.reset();
  }

  Executor executor;
  Address address = Address::parse("127.0.0.1:0").value();
  std::shared_ptr<Listener> listener;
  TaskGroup tasks;
};

/// A fence that looks often.
struct QuickFence {
  explicit QuickFence(Executor on)
      : proxy{on},
        canary{on},
        fence{on,
              {.proxy = proxy.address,
               .canary = canary.address,
               .between = 1ms,
               .again = 1ms,
               .connect = 10s,
               .patience = 0ms}} {}
  Task<> stop() {
    co_await fence.stop();
    if (proxy.listener) co_await proxy.close();
    if (canary.listener) co_await canary.close();
  }

  Port proxy;
  Port canary;
  Fence fence;
};

Task<> until_said(Fence* fence, std::string_view text) {
  while (!fence->why().contains(text)) co_await fence->changed();
}

CO_TEST(Fence, WaitsUntilTheCanaryIsClosed, QuickFence& on) {
  EXPECT_EQ(on.fence.state(), State::waiting);
  on.fence.start();
  co_await until_said(&on.fence, "the canary " + on.canary.address.text());
  EXPECT_EQ(on.fence.word(), "waiting");
  co_await on.canary.close();
  co_await on.fence.until(State::fenced);
  EXPECT_EQ(on.fence.why(), "");
}

CO_TEST(Fence, WaitsUntilTheProxyAnswers, QuickFence& on) {
  co_await on.canary.close();
  co_await on.proxy.close();
  on.fence.start();
  co_await until_said(&on.fence, "the egress proxy " + on.proxy.address.text() + " does not answer");
  EXPECT_EQ(on.fence.state(), State::waiting);
  on.proxy.open();
  co_await on.fence.until(State::fenced);
}

CO_TEST(Fence, IsLostWhenTheCanaryAnswersLater, QuickFence& on) {
  co_await on.canary.close();
  on.fence.start();
  co_await on.fence.until(State::fenced);
  on.canary.open();
  co_await on.fence.until(State::lost);
  EXPECT_TRUE(on.fence.why().contains("the canary")) << on.fence.why();
  co_await on.canary.close();
  co_await on.fence.until(State::fenced);
}

CO_TEST(Fence, IsLostWithoutTheProxy, QuickFence& on) {
  co_await on.canary.close();
  on.fence.start();
  co_await on.fence.until(State::fenced);
  co_await on.proxy.close();
  co_await on.fence.until(State::lost);
  EXPECT_TRUE(on.fence.why().contains("does not answer")) << on.fence.why();
  on.proxy.open();
  co_await on.fence.until(State::fenced);
}

}  // namespace
}  // namespace skiff::runtime::egress
