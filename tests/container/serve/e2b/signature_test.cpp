#include "container/serve/e2b/signature.hpp"

#include <chrono>

#include <gtest/gtest.h>

namespace skiff::container::serve::e2b {
namespace {

using namespace std::chrono_literals;

protocol::HttpRequest request_of(const std::string& method, const std::string& target) {
  protocol::HttpRequest request;
  request.method = method;
  request.target = protocol::Target::parse(target).value();
  return request;
}

// printf %s '/a b:read:user:secret' | openssl dgst -sha256 -binary | base64
constexpr const char* kRead =
    "/files?path=/a%20b&username=user&signature=v1_PEA%2Ficv%2Bz%2BJO9bsZ7QQJfW5MQV9ADdOES2Wk1FxeiFU";

TEST(Signature, IsThatOfTheSdks) {
  EXPECT_TRUE(is_signed(request_of("GET", kRead), "secret", wall_now()));
  EXPECT_TRUE(is_signed(request_of("HEAD", kRead), "secret", wall_now()));
  EXPECT_FALSE(is_signed(request_of("POST", kRead), "secret", wall_now()));
  EXPECT_FALSE(is_signed(request_of("GET", kRead), "other", wall_now()));
  EXPECT_FALSE(is_signed(request_of("GET", std::string{kRead} + "x"), "secret", wall_now()));
  EXPECT_FALSE(is_signed(request_of("GET", "/files?path=/a%20b&username=user"), "secret", wall_now()));
}

TEST(Signature, IsForFilesAlone) {
  std::string target{kRead};
  target.replace(0, 6, "/envss");
  EXPECT_FALSE(is_signed(request_of("GET", target), "secret", wall_now()));
}

TEST(Signature, EndsWhenItSays) {
  // The signature of the test above, for a path that ends at 1000 s.
  const std::string target =
      "/files?path=/"
      "a%20b&username=user&signature_expiration=1000&signature=v1_%2Blz06KRi37Fysg2D687gwOiibMk48EBujhy%2B2H97e2M";
  EXPECT_TRUE(is_signed(request_of("GET", target), "secret", WallTime{1000s}));
  EXPECT_FALSE(is_signed(request_of("GET", target), "secret", WallTime{1001s}));
}

}  // namespace
}  // namespace skiff::container::serve::e2b
