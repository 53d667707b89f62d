#include "container/egress/cluster/seen_secrets.hpp"

#include <gtest/gtest.h>

#include "protocol/json/base64.hpp"
#include "tests/container/egress/cluster/kept_secret.hpp"

namespace skiff::container::egress {
namespace {

using fakes::kept_secret;

const Target kSeenHost{.host = "github.com", .port = 443};

TEST(SeenSecrets, AreForTheirOwnHostsAlone) {
  SeenSecrets seen;
  EXPECT_EQ(seen.secret("github", kSeenHost).error().code, Errc::not_found);
  seen.put(kept_secret("github", {"github.com"}));
  EXPECT_EQ(seen.secret("github", kSeenHost)->value, "0123456789");
  EXPECT_TRUE(seen.server("github", kSeenHost));
  EXPECT_EQ(seen.secret("github", {.host = "evil.org", .port = 443}).error().code, Errc::not_found);
  EXPECT_EQ(seen.server("github", {.host = "evil.org", .port = 443}).error().code, Errc::not_found);
  EXPECT_EQ(seen.server("github", {.host = "github.com", .port = 8443}).error().code, Errc::not_found);
  EXPECT_EQ(seen.secret("other", kSeenHost).error().code, Errc::not_found);
}

TEST(SeenSecrets, KeepTheirCertificatesAsLongAsTheirAuthority) {
  SeenSecrets seen;
  auto object = kept_secret("github", {"github.com"});
  seen.put(object);
  const auto first = seen.server("github", kSeenHost).value();
  auto other = kept_secret("github", {"github.com"}, "another-value");
  object.json["data"]["secret.json"] = other.json["data"]["secret.json"];
  seen.put(object);
  EXPECT_EQ(seen.secret("github", kSeenHost)->value, "another-value");
  EXPECT_EQ(seen.server("github", kSeenHost).value(), first);
  seen.put(other);
  EXPECT_NE(seen.server("github", kSeenHost).value(), first);
}

TEST(SeenSecrets, AreSoManyAtMost) {
  SeenSecrets seen;
  EgressSecret one = read_egress_secret(kept_secret("n0", {"github.com"})).value();
  for (std::size_t i = 0; i <= SecretStore::kMost; ++i) {
    one.secret.name = "n" + std::to_string(i);
    seen.put(egress_secret_object(one, "team-a"));
  }
  EXPECT_EQ(seen.size(), SecretStore::kMost);
  EXPECT_FALSE(seen.secret("n" + std::to_string(SecretStore::kMost), kSeenHost));
  // A known one takes a new value, and an erased one makes room.
  seen.put(kept_secret("n7", {"github.com"}));
  EXPECT_TRUE(seen.secret("n7", kSeenHost));
  seen.erase("skiff-secret.n8");
  seen.put(kept_secret("other", {"github.com"}));
  EXPECT_TRUE(seen.secret("other", kSeenHost));
}

TEST(SeenSecrets, GoWithTheirObjects) {
  SeenSecrets seen;
  seen.put(kept_secret("github", {"github.com"}));
  seen.put(kept_secret("model", {"api.example.com"}));
  seen.erase("skiff-secret.github");
  EXPECT_FALSE(seen.secret("github", kSeenHost));
  EXPECT_EQ(seen.size(), 1U);
  seen.keep({"skiff-secret.other"});
  EXPECT_EQ(seen.size(), 0U);
  // A damaged one is none, also in the place of a good one.
  auto damaged = kept_secret("github", {"github.com"});
  seen.put(damaged);
  damaged.json["data"]["ca.key"] = protocol::encode_base64("no key");
  seen.put(damaged);
  EXPECT_FALSE(seen.secret("github", kSeenHost));
}

}  // namespace
}  // namespace skiff::container::egress
