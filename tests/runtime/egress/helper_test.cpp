#include "runtime/egress/helper.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "protocol/http/client.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::runtime::egress {
namespace {

using namespace std::chrono_literals;
using protocol::Address;
using protocol::Listener;
using protocol::Stream;

TEST(EgressHelper, SetsVariablesThatAreNotSet) {
  sessions::Variables variables{{"https_proxy", "http://other:1"}};
  set_variables(variables);
  EXPECT_EQ(variables["https_proxy"], "http://other:1");
  EXPECT_EQ(variables["HTTPS_PROXY"], "http://127.0.0.1:3128");
  EXPECT_EQ(variables["ALL_PROXY"], "http://127.0.0.1:3128");
  EXPECT_EQ(variables["no_proxy"], "localhost,127.0.0.1,::1");
  EXPECT_EQ(variables["NODE_USE_ENV_PROXY"], "1");
}

TEST(EgressHelper, TakesTokensOfOneWord) {
  EXPECT_TRUE(Helper::is_token("eyJ.e30.x-_"));
  EXPECT_TRUE(Helper::is_token(std::string(2000, 'a')));
  for (const std::string& text : {std::string{}, std::string(2001, 'a'), std::string{"a b"}, std::string{"a\r\nb"},
                                  std::string{"\xC3\xBC"}, std::string{"a\0b", 3}}) {
    EXPECT_FALSE(Helper::is_token(text)) << text;
  }
}

/// A helper, and a proxy that answers each connection with what it has read up to an exclamation mark.
struct HelperAndProxy {
  explicit HelperAndProxy(Executor on)
      : executor{on},
        own{Listener::open(on, Address::parse("127.0.0.1:0").value()).value()},
        proxy{Listener::open(on, Address::parse("127.0.0.1:0").value()).value()},
        helper{on, proxy->address(), {.stall = 20s, .silent = 20s}},
        tasks{on} {
    helper.listen(own);
    tasks.spawn("proxy", accept(this));
  }
  static Task<> accept(HelperAndProxy* self) {
    co_await self->proxy->accept_all([self](UniqueFd socket, const Address&) {
      self->tasks.spawn("connection", repeat(Stream{self->executor, std::move(socket), "helper"}));
    });
  }
  static Task<> repeat(Stream stream) {
    std::string all;
    std::array<char, 1000> block{};
    while (!all.ends_with('!')) {
      auto got = co_await stream.read_some(block);
      if (!got || *got == 0) co_return;
      all.append(block.data(), *got);
    }
    const std::array<std::string_view, 1> parts{all};
    (void)co_await stream.write(parts);
  }
  /// Sends this as a client, and returns all that comes back.
  static Task<std::string> say(HelperAndProxy* self, std::string_view text) {
    auto client = co_await protocol::connect(self->own->address(), 10s, self->executor);
    const std::array<std::string_view, 1> parts{text};
    (void)co_await client->write(parts);
    std::string all;
    std::array<char, 1000> block{};
    for (;;) {
      auto got = co_await client->read_some(block, 20s);
      if (!got || *got == 0) co_return all;
      all.append(block.data(), *got);
    }
  }
  Task<> stop() {
    co_await helper.stop();
    proxy->close();
    co_await tasks.join();
  }

  Executor executor;
  std::shared_ptr<Listener> own;
  std::shared_ptr<Listener> proxy;
  Helper helper;
  TaskGroup tasks;
};

CO_TEST(EgressHelper, ShowsItsTokenFirst, HelperAndProxy& on) {
  on.helper.use_token("secret");
  EXPECT_EQ(co_await HelperAndProxy::say(&on, "CONNECT x!"), "SKIFF-EGRESS/1 secret\r\nCONNECT x!");
  on.helper.use_token("other");
  EXPECT_EQ(co_await HelperAndProxy::say(&on, "\x05!"), "SKIFF-EGRESS/1 other\r\n\x05!");
}

CO_TEST(EgressHelper, PassesNothingWithoutAToken, HelperAndProxy& on) {
  EXPECT_TRUE((co_await HelperAndProxy::say(&on, "CONNECT x!")).contains("\r\nX-Skiff-Egress: no_proxy\r\n"));
}

}  // namespace
}  // namespace skiff::runtime::egress
