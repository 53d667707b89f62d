#include "container/console/door.hpp"

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

namespace skiff::container::console {
namespace {

using Fields = std::initializer_list<std::pair<std::string_view, std::string_view>>;

std::string host_with_port(const Door& door) {
  return door.host() + ":1234";
}

protocol::HttpRequest request_to(const std::string& host, const std::string& cookie, Fields fields) {
  protocol::HttpRequest request;
  request.method = "GET";
  request.host = host;
  request.headers = fields;
  if (!cookie.empty()) request.headers.add("Cookie", cookie);
  return request;
}

/// The pair of a Set-Cookie field.
std::string opened(Door* door) {
  auto set = door->open(door->secret());
  EXPECT_TRUE(set);
  return set ? set->substr(0, set->find(';')) : std::string{};
}

Errc refusal(const Door& door, const std::string& cookie, Fields fields) {
  const auto admitted = door.admit(request_to(host_with_port(door), cookie, fields));
  EXPECT_FALSE(admitted);
  return admitted ? Errc::internal : admitted.error().code;
}

TEST(ConsoleDoor, OpensOnce) {
  Door door;
  EXPECT_FALSE(door.open(""));
  EXPECT_FALSE(door.open(door.secret() + "0"));
  const auto first = door.open(door.secret());
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->ends_with("; Path=/; HttpOnly; SameSite=Strict")) << *first;
  const auto second = door.open(door.secret());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::unauthenticated);
}

TEST(ConsoleDoor, KnowsItsHosts) {
  const Door door;
  for (const std::string& host : {host_with_port(door), door.host(), std::string{"localhost:80"},
                                  std::string{"127.0.0.1"}, std::string{"[::1]:7"}, std::string{"LocalHost"}}) {
    EXPECT_TRUE(door.check_host(request_to(host, {}, {}))) << host;
  }
  for (const std::string& host :
       {std::string{}, std::string{"evil.example"}, "evil." + door.host(), door.host() + ".evil.example",
        std::string{"localhost.evil.example"}, std::string{"127.0.0.2"}, std::string{"[::2]"}, std::string{"[::1"}}) {
    EXPECT_FALSE(door.check_host(request_to(host, {}, {}))) << host;
  }
}

TEST(ConsoleDoor, AdmitsScriptsOfItsPageAlone) {
  Door door;
  const std::string cookie = opened(&door);
  const std::string origin = "http://" + host_with_port(door);
  for (const Fields fields :
       {Fields{{"Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Dest", "empty"}}, Fields{{"Origin", origin}},
        Fields{{"Origin", origin}, {"Sec-Fetch-Dest", "websocket"}}}) {
    EXPECT_TRUE(door.admit(request_to(host_with_port(door), cookie, fields)));
    EXPECT_TRUE(door.admit(request_to(host_with_port(door), "a=b; skiff-console=tossed;" + cookie, fields)));
    EXPECT_EQ(refusal(door, "skiff-console=other", fields), Errc::unauthenticated);
    EXPECT_EQ(refusal(door, {}, fields), Errc::unauthenticated);
  }
  for (const Fields fields :
       {Fields{}, Fields{{"Sec-Fetch-Site", "same-origin"}}, Fields{{"Sec-Fetch-Dest", "empty"}},
        Fields{{"Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Dest", "document"}},
        Fields{{"Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Dest", "script"}},
        Fields{{"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Dest", "empty"}},
        Fields{{"Sec-Fetch-Site", "none"}, {"Sec-Fetch-Dest", "document"}}, Fields{{"Origin", "null"}},
        Fields{{"Origin", "http://evil.example"}}, Fields{{"Origin", origin}, {"Sec-Fetch-Dest", "document"}}}) {
    EXPECT_EQ(refusal(door, cookie, fields), Errc::origin_not_allowed);
  }
}

TEST(ConsoleDoor, IsOfOneProcess) {
  Door door;
  Door other;
  EXPECT_NE(door.host(), other.host());
  EXPECT_NE(door.secret(), other.secret());
  EXPECT_FALSE(other.open(door.secret()));
  EXPECT_EQ(refusal(other, opened(&door), {{"Origin", "http://" + host_with_port(other)}}), Errc::unauthenticated);
}

}  // namespace
}  // namespace skiff::container::console
