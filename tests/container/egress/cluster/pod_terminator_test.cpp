#include "container/egress/cluster/pod_terminator.hpp"

#include <string>

#include <gtest/gtest.h>

#include "tests/container/egress/cluster/kept_secret.hpp"

namespace skiff::container::egress {
namespace {

using fakes::kept_secret;

const Target kGithub{.host = "github.com", .port = 443};
const Target kEvil{.host = "evil.org", .port = 443};

TEST(PodTerminator, SendsASecretToItsOwnHostsWhateverThePodSays) {
  SeenSecrets seen;
  seen.put(kept_secret("github", {"github.com"}));
  PodTerminator pod{&seen};
  ASSERT_TRUE(pod.use(R"({"github": ["github.com", "evil.org"], "model": ["api.example.com"]})"));
  EXPECT_TRUE(pod.secret(kGithub));
  EXPECT_TRUE(pod.server(kGithub));
  EXPECT_TRUE(pod.terminates(kEvil));
  EXPECT_EQ(pod.secret(kEvil).error().code, Errc::not_found);
  EXPECT_EQ(pod.server(kEvil).error().code, Errc::not_found);
  // The TLS to its hosts ends here also without the secret: it is no open tunnel then.
  const Target model{.host = "api.example.com", .port = 443};
  EXPECT_TRUE(pod.terminates(model));
  EXPECT_FALSE(pod.server(model));
  EXPECT_FALSE(pod.terminates({.host = "github.com", .port = 8443}));
  // A secret that is named for another one's host is not for it.
  ASSERT_TRUE(pod.use(R"({"model": ["github.com"]})"));
  EXPECT_FALSE(pod.secret(kGithub));
  ASSERT_TRUE(pod.use(""));
  EXPECT_FALSE(pod.terminates(kGithub));
  EXPECT_FALSE(pod.secret(kGithub));
}

TEST(PodTerminator, ReadsNothingIntoWhatItCannotRead) {
  SeenSecrets seen;
  PodTerminator pod{&seen};
  for (const char* const text : {"no JSON", "[]", "1", R"({"a": "github.com"})", R"({"a": [1]})", R"({"a": ["*"]})",
                                 R"({"a": ["github.com"], "b": ["github.com:443"]})"}) {
    EXPECT_FALSE(pod.use(text)) << text;
    EXPECT_FALSE(pod.terminates(kGithub)) << text;
  }
  EXPECT_FALSE(pod.use(R"({"a": [")" + std::string(20'000, 'a') + R"("]})"));
}

}  // namespace
}  // namespace skiff::container::egress
