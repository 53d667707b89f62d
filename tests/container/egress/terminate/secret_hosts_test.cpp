#include "container/egress/terminate/secret_hosts.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace skiff::container::egress {
namespace {

TEST(SecretHosts, KnowsOneSecretForEachServer) {
  SecretHosts hosts;
  ASSERT_TRUE(hosts.add("github", {"GitHub.com", "git.example.com:8443"}));
  ASSERT_TRUE(hosts.add("model", {"api.example.com", "git.example.com"}));
  EXPECT_EQ(*hosts.find({.host = "github.com", .port = 443}), "github");
  EXPECT_EQ(*hosts.find({.host = "git.example.com", .port = 8443}), "github");
  EXPECT_EQ(*hosts.find({.host = "git.example.com", .port = 443}), "model");
  EXPECT_EQ(hosts.find({.host = "github.com", .port = 8443}), nullptr);
  EXPECT_EQ(hosts.find({.host = "github.com", .port = 443, .is_plain = true}), nullptr);
  const auto refused = hosts.add("other", {"api.example.com:443"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "--egress-secret: model and other are both for api.example.com:443: name one of them");
  EXPECT_FALSE(SecretHosts{}.add("one", {"*.example.com"}));
  EXPECT_FALSE(SecretHosts{}.add("one", {"10.0.0.1"}));
}

TEST(SecretHosts, AreFew) {
  SecretHosts hosts;
  for (std::size_t i = 0; i < SecretHosts::kMost; ++i) {
    const std::string name = "s" + std::to_string(i);
    EXPECT_TRUE(hosts.add(name, {name + ".example.com"}));
  }
  EXPECT_TRUE(hosts.add("s0", {"more.example.com"}));
  EXPECT_EQ(hosts.add("s", {"s.example.com"}).error().code, Errc::invalid_field);
}

TEST(SecretHosts, GivesRulesAndNames) {
  SecretHosts hosts;
  ASSERT_TRUE(hosts.add("one", {"b.org:8443", "a.org", "B.org"}));
  EXPECT_EQ(hosts.rules(), (std::vector<std::string>{"a.org:443", "b.org:443", "b.org:8443"}));
  EXPECT_EQ(names_of(hosts.rules()), (std::vector<std::string>{"a.org", "b.org"}));
}

}  // namespace
}  // namespace skiff::container::egress
