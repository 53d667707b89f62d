#include "container/serve/keys/access_token.hpp"

#include <gtest/gtest.h>

#include "container/sandbox/dialects.hpp"
#include "tests/container/kube/canned_server.hpp"
#include "tests/container/sandbox/refusing_driver.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container::serve {
namespace {

/// A driver whose sandboxes are all one server.
class DialDriver final : public fakes::RefusingDriver {
 public:
  DialDriver(Executor executor, std::uint16_t port) : executor_{executor}, port_{port} {}
  Task<Result<protocol::Stream>> dial(std::string name, std::uint16_t port) override {
    EXPECT_EQ(name, "sbox");
    EXPECT_EQ(port, kE2bPort);
    const auto address = protocol::Address::ip("127.0.0.1", port_).value();
    co_return co_await protocol::connect(address, std::chrono::seconds{5}, executor_);
  }

 private:
  Executor executor_;
  std::uint16_t port_;
};

CO_TEST(AccessToken, IsToldToTheDialect) {
  test::CannedServer server{executor, {{std::string{"HTTP/1.1 204 No Content\r\n\r\n"}}}};
  DialDriver driver{executor, server.access().server.port};
  auto told = co_await tell_access_token(&driver, "sbox", "the-token");
  EXPECT_TRUE(told) << told.error().message;
  CO_ASSERT_TRUE(server.requests().size() == 1u);
  EXPECT_TRUE(server.requests().front().starts_with("POST /init ")) << server.requests().front();
  EXPECT_TRUE(server.requests().front().ends_with(R"({"accessToken":"the-token"})")) << server.requests().front();
  co_await server.stop();
}

CO_TEST(AccessToken, IsNotTakenForOneThatAnotherHasClosed) {
  test::CannedServer server{executor, {{std::string{"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"}}}};
  DialDriver driver{executor, server.access().server.port};
  const auto told = co_await tell_access_token(&driver, "sbox", "the-token");
  CO_ASSERT_TRUE(!told);
  EXPECT_EQ(told.error().code, Errc::bad_gateway);
  EXPECT_FALSE(told.error().message.contains("the-token"));
  co_await server.stop();
}

}  // namespace
}  // namespace skiff::container::serve
