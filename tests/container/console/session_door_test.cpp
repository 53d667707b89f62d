#include "container/console/session_door.hpp"

#include <chrono>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "base/async/event.hpp"
#include "base/async/task_group.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container::console {
namespace {

using Fields = std::initializer_list<std::pair<std::string_view, std::string_view>>;
using std::chrono::hours;

/// The keys of a server, which can be away.
class Store final : public serve::KeyStore {
 public:
  explicit Store(Executor executor) : back_{executor} {
    ring.keys = {{.name = "me",
                  .sha256 = serve::sha256_hex(key),
                  .tenant = "t",
                  .scopes = {serve::KeyScope::use},
                  .created_at = {},
                  .expires_ms = {}}};
  }
  [[nodiscard]] std::string place() const override { return "here"; }
  Task<Result<serve::KeyRing>> read() override {
    while (is_away) co_await back_.wait();
    co_return ring;
  }
  Task<Result<>> change(std::function<Result<>(serve::KeyRing&)> edit) override { co_return edit(ring); }
  void come_back() {
    is_away = false;
    back_.notify_all();
  }

  std::string key = serve::new_api_key();
  serve::KeyRing ring{.token_secret = serve::new_token_secret(), .keys = {}};
  bool is_away = false;

 private:
  Event back_;
};

protocol::HttpRequest request_with(std::string_view host, Fields fields) {
  protocol::HttpRequest request;
  request.host = host;
  request.headers = fields;
  return request;
}

std::string pair_of(std::string_view set_cookie) {
  return std::string{set_cookie.substr(0, set_cookie.find(';'))};
}

TEST(SessionDoor, KnowsItsHosts) {
  EXPECT_TRUE(SessionDoor::check_host(request_with("localhost:7080", {}), false));
  EXPECT_TRUE(SessionDoor::check_host(request_with("any.example", {}), true));
  const auto refused = SessionDoor::check_host(request_with("any.example", {}), false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::host_not_allowed);
}

TEST(SessionDoor, SignsNobodyInForAnotherPage) {
  const std::string_view host = "localhost:1";
  for (const Fields fields : {Fields{{"Origin", "http://localhost:1"}},
                              Fields{{"Origin", "http://localhost:1"}, {"Sec-Fetch-Site", "same-origin"}}}) {
    EXPECT_TRUE(SessionDoor::check_own_form(request_with(host, fields), false));
    EXPECT_FALSE(SessionDoor::check_own_form(request_with(host, fields), true));
  }
  for (const Fields fields : {Fields{}, Fields{{"Sec-Fetch-Site", "same-origin"}}, Fields{{"Origin", "null"}},
                              Fields{{"Origin", "http://localhost:2"}},
                              Fields{{"Origin", "http://localhost:1"}, {"Sec-Fetch-Site", "cross-site"}}}) {
    EXPECT_FALSE(SessionDoor::check_own_form(request_with(host, fields), false));
  }
}

CO_TEST(SessionDoor, OpensForItsKeyAlone) {
  Store store{executor};
  serve::KeyCache keys{&store};
  SessionDoor door{&keys};
  EXPECT_EQ((co_await door.sign_in("", "a", false)).error().code, Errc::unauthenticated);
  EXPECT_EQ((co_await door.sign_in(serve::new_api_key(), "a", false)).error().code, Errc::unauthenticated);
  // A service account's token has this form.
  EXPECT_EQ((co_await door.sign_in("a.b.c", "a", false)).error().code, Errc::unauthenticated);
  auto plain = co_await door.sign_in(store.key, "a", false);
  auto secure = co_await door.sign_in(store.key, "a", true);
  CO_ASSERT_TRUE(plain && secure);
  EXPECT_EQ(plain->key.name, "me");
  EXPECT_TRUE(plain->set_cookie.starts_with("skiff-session=") &&
              plain->set_cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"));
  EXPECT_TRUE(secure->set_cookie.starts_with("__Host-skiff-session=") &&
              secure->set_cookie.ends_with("; SameSite=Strict; Secure"));
  const std::string cookie = pair_of(plain->set_cookie);
  const auto request = request_with("localhost", {{"Cookie", "skiff-session=tossed; " + cookie}});
  const auto session = co_await door.session_of(&request, "a", false);
  CO_ASSERT_TRUE(session.has_value());
  EXPECT_EQ(session->key, store.key);
  EXPECT_TRUE(session->ends > wall_now() + hours{11} && session->ends <= wall_now() + SessionDoor::kLongest);
  // Over https the other name counts.
  EXPECT_FALSE(SessionDoor::shows_session(request, true));
  EXPECT_EQ((co_await door.session_of(&request, "a", true)).error().code, Errc::unauthenticated);
  co_await keys.stop();
}

CO_TEST(SessionDoor, EndsWithTheKey) {
  Store store{executor};
  store.ring.keys.front().expires_ms =
      std::chrono::floor<std::chrono::milliseconds>((wall_now() + hours{1}).time_since_epoch()).count();
  serve::KeyCache keys{&store};
  SessionDoor door{&keys};
  auto signed_in = co_await door.sign_in(store.key, "a", false);
  CO_ASSERT_TRUE(signed_in.has_value());
  const auto request = request_with("localhost", {{"Cookie", pair_of(signed_in->set_cookie)}});
  const auto session = co_await door.session_of(&request, "a", false);
  CO_ASSERT_TRUE(session.has_value());
  EXPECT_LE(session->ends, wall_now() + hours{1});
  store.ring.keys.clear();
  serve::KeyCache of_another_replica{&store};
  EXPECT_EQ((co_await SessionDoor{&of_another_replica}.session_of(&request, "a", false)).error().code,
            Errc::unauthenticated);
  co_await of_another_replica.stop();
  co_await keys.stop();
}

CO_TEST(SessionDoor, LeavesRoomBesideASourceThatTriesKeys) {
  Store store{executor};
  store.is_away = true;
  serve::KeyCache keys{&store};
  SessionDoor door{&keys};
  TaskGroup guesses{executor};
  std::size_t refused = 0;
  for (std::size_t i = 0; i < 2 * SessionDoor::kSigningIn; ++i) {
    guesses.spawn("guess", [](SessionDoor* at, std::size_t* count) -> Task<> {
      const auto answer = co_await at->sign_in(serve::new_api_key(), "one", false);
      if (answer.error().code == Errc::resource_exhausted) ++*count;
    }(&door, &refused));
  }
  bool is_in = false;
  guesses.spawn("another", [](SessionDoor* at, std::string key, bool* entered) -> Task<> {
    *entered = (co_await at->sign_in(std::move(key), "another", false)).has_value();
  }(&door, store.key, &is_in));
  guesses.spawn("return", [](Store* away) -> Task<> {
    away->come_back();
    co_return;
  }(&store));
  co_await guesses.join();
  EXPECT_EQ(refused, 2 * SessionDoor::kSigningIn - SessionDoor::kSigningIn / 2);
  EXPECT_TRUE(is_in);
  co_await keys.stop();
}

TEST(SessionDoor, RemovesItsCookie) {
  EXPECT_EQ(SessionDoor::signed_out(false), "skiff-session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
  EXPECT_EQ(SessionDoor::signed_out(true),
            "__Host-skiff-session=; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=0");
}

}  // namespace
}  // namespace skiff::container::console
