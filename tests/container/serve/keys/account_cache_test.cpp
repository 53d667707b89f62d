#include "container/serve/keys/account_cache.hpp"

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <nlohmann/json.hpp>

#include "base/async/deadline.hpp"
#include "base/async/task_group.hpp"
#include "protocol/json/base64.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container::serve {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

/// Knows one account, and may take its time.
class OneAccount final : public TokenReviewer {
 public:
  explicit OneAccount(Executor executor) : let_go{executor} {}
  Task<Result<std::optional<Account>>> review(std::string token) override {
    ++reviews;
    if (holds && token.contains(held)) co_await let_go.wait();
    if (is_away) co_return fail(Errc::permission_denied, "User \"server\" cannot create resource \"tokenreviews\"");
    if (token.ends_with(".wrong")) co_return std::nullopt;
    co_return Account{.namespace_name = "team", .name = "runner"};
  }

  int reviews = 0;
  bool holds = false;
  std::string held = {};  ///< those that hold this
  bool is_away = false;
  Event let_go;
};

std::int64_t in_seconds(std::chrono::seconds from_now) {
  return std::chrono::floor<std::chrono::seconds>((wall_now() + from_now).time_since_epoch()).count();
}

json good_claims() {
  return {{"aud", {"skiff"}}, {"sub", "system:serviceaccount:team:runner"}, {"exp", in_seconds(1h)}};
}

std::string token_of(const json& claims, const std::string& signature = "signature") {
  return protocol::encode_base64url(R"({"alg":"RS256"})") + "." + protocol::encode_base64url(claims.dump()) + "." +
         signature;
}

CO_TEST(AccountCache, TakesAnAccountForItsNamespaceUntilTheTokenEnds) {
  OneAccount cluster{executor};
  AccountCache cache{executor, &cluster};
  const json claims = good_claims();
  auto key = co_await cache.find(token_of(claims), "here");
  CO_ASSERT_TRUE(key.has_value()) << key.error().message;
  EXPECT_EQ(key->name, "system:serviceaccount:team:runner");
  EXPECT_EQ(key->tenant, "team");
  EXPECT_TRUE(key->allows(KeyScope::create) && key->allows(KeyScope::use));
  EXPECT_FALSE(key->allows(KeyScope::admin));
  EXPECT_EQ(key->expires_ms, claims.at("exp").get<std::int64_t>() * 1000);
  EXPECT_EQ(cache.tenants(), std::set<std::string>{"team"});
}

CO_TEST(AccountCache, BelievesTheClusterForAWhile) {
  OneAccount cluster{executor};
  AccountCache cache{executor, &cluster};
  const std::string good = token_of(good_claims());
  const std::string wrong = token_of(good_claims(), "wrong");
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) EXPECT_TRUE((co_await cache.find(good, "here")).has_value());
  for (int i = 0; i < 10; ++i) EXPECT_EQ((co_await cache.find(wrong, "here")).error().code, Errc::unauthenticated);
  const auto whiles = (std::chrono::steady_clock::now() - begun) / AccountCache::kFresh;
  EXPECT_LE(cluster.reviews, 2 * (1 + whiles)) << "each once a while";
}

CO_TEST(AccountCache, IsNotMadeToAskByWhatSaysItselfThatItIsWorthNothing) {
  OneAccount cluster{executor};
  AccountCache cache{executor, &cluster};
  std::vector<std::string> tokens{"",
                                  "..",
                                  "a.b.c",
                                  "a.b",
                                  "a.b.c.d",
                                  token_of("text"),
                                  token_of(json::array()),
                                  "a." + std::string(100'000, 'x') + ".c"};
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, json>>{{"aud", "other"},
                                                           {"aud", json::array({"https://kubernetes.default.svc"})},
                                                           {"aud", json{{"skiff", 1}}},
                                                           {"aud", nullptr},
                                                           {"sub", "system:node:node0"},
                                                           {"sub", 7},
                                                           {"exp", in_seconds(-1s)},
                                                           {"exp", in_seconds(0s)},
                                                           {"exp", "soon"},
                                                           {"exp", nullptr},
                                                           {"exp", -1},
                                                           {"exp", 1e300},
                                                           {"exp", 18'446'744'073'709'551'615ULL}}) {
    json claims = good_claims();
    claims[name] = value;
    tokens.push_back(token_of(claims));
  }
  for (const std::string& token : tokens) {
    const auto refused = co_await cache.find(token, "here");
    EXPECT_FALSE(refused) << token;
    if (!refused) EXPECT_EQ(refused.error().code, Errc::unauthenticated) << token;
  }
  EXPECT_EQ(cluster.reviews, 0);
}

Task<> count_found(AccountCache* cache, std::string token, int* found, int* turned_away) {
  auto key = co_await cache->find(std::move(token), "here");
  if (key) ++*found;
  if (!key && key.error().code == Errc::resource_exhausted) ++*turned_away;
}

CO_TEST(AccountCache, AsksOnceForManyWhoShowTheSameAtOnce) {
  OneAccount cluster{executor};
  cluster.holds = true;
  AccountCache cache{executor, &cluster};
  TaskGroup clients{executor};
  int found = 0;
  int turned_away = 0;
  // All clients show one text: a new one may end a second later.
  const std::string token = token_of(good_claims());
  for (int i = 0; i < 500; ++i) clients.spawn("client", count_found(&cache, token, &found, &turned_away));
  while (!cluster.let_go.awaited()) co_await boost::asio::post(executor, use_task);
  cluster.let_go.notify_all();
  co_await clients.join();
  EXPECT_EQ(found, 500);
  EXPECT_EQ(cluster.reviews, 1);
}

/// Each would ask the cluster again, one after the other, when an answer comes late or not at all.
CO_TEST(AccountCache, WhoWaitsForAReviewTakesWhateverItSays) {
  OneAccount cluster{executor};
  cluster.holds = true;
  cluster.is_away = true;
  AccountCache cache{executor, &cluster};
  TaskGroup clients{executor};
  int found = 0;
  int turned_away = 0;
  const std::string token = token_of(good_claims());
  for (int i = 0; i < 500; ++i) clients.spawn("client", count_found(&cache, token, &found, &turned_away));
  while (!cluster.let_go.awaited()) co_await boost::asio::post(executor, use_task);
  cluster.holds = false;
  cluster.let_go.notify_all();
  co_await clients.join();
  EXPECT_EQ(found, 0);
  EXPECT_EQ(cluster.reviews, 1);
  cluster.is_away = false;
  EXPECT_TRUE((co_await cache.find(token, "here")).has_value()) << "what went wrong is not remembered";
}

CO_TEST(AccountCache, LooksAtSoManyStrangersAndTurnsTheOthersAway) {
  OneAccount cluster{executor};
  cluster.holds = true;
  AccountCache cache{executor, &cluster};
  TaskGroup strangers{executor};
  int found = 0;
  int turned_away = 0;
  for (int i = 0; i < 1000; ++i) {
    strangers.spawn("stranger", count_found(&cache, token_of(good_claims(), std::to_string(i)), &found, &turned_away));
  }
  for (int turns = 0; turns < 100; ++turns) co_await boost::asio::post(executor, use_task);
  EXPECT_EQ(cluster.reviews, static_cast<int>(AccountCache::kAtOnce / 2)) << "of one source";
  EXPECT_EQ(turned_away, 1000 - static_cast<int>(AccountCache::kMostWaiting / 2));
  cluster.holds = false;
  cluster.let_go.notify_all();
  co_await strangers.join();
}

CO_TEST(AccountCache, LetsNoStrangerKeepOthersOut) {
  OneAccount cluster{executor};
  AccountCache cache{executor, &cluster};
  const std::string token = token_of(good_claims(), "known");
  CO_ASSERT_TRUE((co_await cache.find(token, "here")).has_value());
  cluster.holds = true;
  cluster.held = ".junk";
  TaskGroup strangers{executor};
  int found = 0;
  int turned_away = 0;
  for (int i = 0; i < 500; ++i) {
    strangers.spawn("stranger",
                    count_found(&cache, token_of(good_claims(), "junk" + std::to_string(i)), &found, &turned_away));
  }
  EXPECT_TRUE((co_await cache.find(token_of(good_claims(), "new"), "elsewhere")).has_value());
  co_await pause(AccountCache::kFresh);
  EXPECT_TRUE((co_await cache.find(token, "here")).has_value()) << "it was good before";
  EXPECT_GT(turned_away, 0);
  cluster.holds = false;
  cluster.let_go.notify_all();
  co_await strangers.join();
}

CO_TEST(AccountCache, TellsStrangersNothingOfTheCluster) {
  OneAccount cluster{executor};
  cluster.is_away = true;
  AccountCache cache{executor, &cluster};
  const auto away = co_await cache.find(token_of(good_claims()), "here");
  CO_ASSERT_TRUE(!away);
  EXPECT_EQ(away.error().code, Errc::cluster_unavailable) << "try again";
  EXPECT_FALSE(away.error().message.contains("server")) << away.error().message;
  cluster.is_away = false;
  EXPECT_TRUE((co_await cache.find(token_of(good_claims()), "here")).has_value())
      << "what went wrong is not remembered";
}

}  // namespace
}  // namespace skiff::container::serve
