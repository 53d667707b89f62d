#include "container/serve/gateway/preview.hpp"

#include <gtest/gtest.h>

#include <string>

#include "protocol/http/parser.hpp"

namespace skiff::container::serve {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kPreviewDomain = "boxes.example.com";
const std::string kPreviewKey(32, 'k');
const WallTime kPreviewNow{std::chrono::seconds{1'800'000'000}};
const WallTime kPreviewEnd = kPreviewNow + 600s;
const Previews::Given kPreviewGiven{.record = "0123456789abcdef", .by = "account"};

/// A request to a port of a sandbox.
struct Asked {
  std::string sandbox = "s01abc";
  std::uint16_t port = 3000;
  std::string method = "GET";
  std::string target = "/";
  std::string fields = {};
  bool secure = true;
  WallTime now = kPreviewNow;
};

Result<std::optional<Previews::Shown>> shown(const Previews& previews, const Asked& asked) {
  const std::string head = asked.method + " " + asked.target +
                           " HTTP/1.1\r\nHost: " + host_of(asked.sandbox, asked.port, kPreviewDomain) + "\r\n" +
                           asked.fields + "\r\n";
  const auto request = protocol::parse_request_head(head, 4000);
  EXPECT_TRUE(request.has_value()) << head;
  const auto destination = destination_of(*request, kPreviewDomain);
  EXPECT_TRUE(destination.has_value() && destination->has_value()) << head;
  return previews.shown(*request, **destination, asked.secure, asked.now);
}

/// "redirect", "cookie", "nothing", or the error's code.
std::string outcome(const Previews& previews, const Asked& asked) {
  const auto found = shown(previews, asked);
  if (!found) return std::string{name(found.error().code)};
  if (!*found) return "nothing";
  return (*found)->redirect ? "redirect" : "cookie";
}

Previews previews_with(std::vector<std::string> keys = {kPreviewKey}) {
  auto made = Previews::create(std::move(keys), "t1");
  EXPECT_TRUE(made.has_value());
  return std::move(*made);
}

std::string link_of(const Previews& previews) {
  return previews.parameter("s01abc", 3000, kPreviewEnd, kPreviewGiven);
}

/// NAME=TOKEN out of Set-Cookie.
std::string cookie_of(const Previews& previews, bool secure = true) {
  const auto found = shown(previews, {.target = "/?" + link_of(previews), .secure = secure});
  EXPECT_TRUE(found && *found && (*found)->redirect);
  const std::string set{(*found)->redirect->headers.get("Set-Cookie")};
  return set.substr(0, set.find(';'));
}

TEST(Previews, NeedAKeyThatNobodyGuesses) {
  EXPECT_FALSE(Previews::create({}, "t1").has_value());
  EXPECT_FALSE(Previews::create({std::string(31, 'k')}, "t1").has_value());
  EXPECT_FALSE(Previews::create({kPreviewKey, ""}, "t1").has_value());
}

TEST(Previews, NameTheirTenantInTheirTokens) {
  const Previews previews = previews_with();
  const std::string cookie = cookie_of(previews);
  for (const std::string& head : {"GET /?" + link_of(previews) + " HTTP/1.1\r\n",
                                  "GET / HTTP/1.1\r\nCookie: __Host-skiff-preview=1.2.3; " + cookie + "\r\n"}) {
    const auto request =
        protocol::parse_request_head(head + "Host: " + host_of("s01abc", 3000, kPreviewDomain) + "\r\n\r\n", 4000);
    ASSERT_TRUE(request.has_value()) << head;
    const auto destination = destination_of(*request, kPreviewDomain);
    ASSERT_TRUE(destination && *destination) << head;
    const auto tokens = Previews::tokens_of(*request, **destination, true);
    ASSERT_TRUE(tokens.has_value()) << head;
    EXPECT_TRUE(tokens->name_tenant("t1")) << head;
    EXPECT_FALSE(tokens->name_tenant("t2")) << head;
    EXPECT_FALSE(tokens->name_tenant("")) << head;
  }
}

TEST(Previews, TurnALinkIntoACookie) {
  const Previews previews = previews_with();
  const auto found = shown(previews, {.target = "/a%2Fb?x=1&" + link_of(previews) + "&y=%20"});
  ASSERT_TRUE(found && *found && (*found)->redirect);
  EXPECT_EQ((*found)->ends, kPreviewEnd);
  EXPECT_EQ((*found)->given.record, kPreviewGiven.record);
  EXPECT_EQ((*found)->given.by, kPreviewGiven.by);
  const protocol::HttpResponse& answer = *(*found)->redirect;
  EXPECT_EQ(answer.status, 302u);
  EXPECT_EQ(answer.headers.get("Location"), "https://3000-s01abc.boxes.example.com/a%2Fb?x=1&y=%20");
  EXPECT_EQ(answer.headers.get("Cache-Control"), "no-store");
  EXPECT_EQ(answer.headers.get("Referrer-Policy"), "no-referrer");
  const std::string set{answer.headers.get("Set-Cookie")};
  EXPECT_TRUE(set.starts_with("__Host-skiff-preview=")) << set;
  for (const char* word : {"; Path=/;", "; HttpOnly", "; SameSite=Lax", "; Secure", "; Max-Age=600;"}) {
    EXPECT_TRUE(set.contains(word)) << set;
  }
  EXPECT_FALSE(set.contains("Domain")) << "of that host alone";
  EXPECT_EQ(outcome(previews, {.fields = "Cookie: a=b; " + cookie_of(previews) + "; c=d\r\n"}), "cookie");
}

TEST(Previews, HaveAPlainCookieWithoutTls) {
  const Previews previews = previews_with();
  const std::string cookie = cookie_of(previews, false);
  EXPECT_TRUE(cookie.starts_with("skiff-preview=")) << cookie;
  EXPECT_EQ(outcome(previews, {.fields = "Cookie: " + cookie + "\r\n", .secure = false}), "cookie");
  EXPECT_EQ(outcome(previews, {.fields = "Cookie: " + cookie + "\r\n"}), "nothing")
      << "another host below the domain could have set it";
}

TEST(Previews, AreGoodForOnePortOfOneSandbox) {
  const Previews previews = previews_with();
  const std::string fields = "Cookie: " + cookie_of(previews) + "\r\n";
  EXPECT_EQ(outcome(previews, {.port = 3001, .target = "/?" + link_of(previews)}), "unauthenticated");
  EXPECT_EQ(outcome(previews, {.sandbox = "s01abd", .target = "/?" + link_of(previews)}), "unauthenticated");
  EXPECT_EQ(outcome(previews, {.port = 3001, .fields = fields}), "nothing");
  EXPECT_EQ(outcome(previews, {.port = 7070, .fields = fields}), "nothing");
  EXPECT_EQ(outcome(previews, {.sandbox = "s01abd", .fields = fields}), "nothing");
  // Where one part ends and the next begins is part of what is signed.
  const std::string moved = previews.parameter("0-s01abc", 300, kPreviewEnd, kPreviewGiven);
  EXPECT_EQ(outcome(previews, {.target = "/?" + moved}), "unauthenticated");
}

TEST(Previews, End) {
  const Previews previews = previews_with();
  const std::string fields = "Cookie: " + cookie_of(previews) + "\r\n";
  EXPECT_EQ(outcome(previews, {.target = "/?" + link_of(previews), .now = kPreviewEnd - 1us}), "redirect");
  EXPECT_EQ(outcome(previews, {.target = "/?" + link_of(previews), .now = kPreviewEnd}), "unauthenticated");
  EXPECT_EQ(outcome(previews, {.fields = fields, .now = kPreviewEnd - 1us}), "cookie");
  EXPECT_EQ(outcome(previews, {.fields = fields, .now = kPreviewEnd}), "nothing");
}

TEST(Previews, CantBeForged) {
  const Previews previews = previews_with();
  const std::string parameter = link_of(previews);
  const std::string token = parameter.substr(parameter.find('=') + 1);
  const std::string end = token.substr(0, token.find('.'));
  const std::string mac = token.substr(token.find('.') + 1);
  std::vector<std::string> forged{"",
                                  ".",
                                  "." + mac,
                                  end,
                                  end + ".",
                                  end + "." + mac.substr(1),
                                  "9" + token,
                                  "9999999999." + mac,
                                  "0" + token,
                                  "+" + token,
                                  "-" + token,
                                  token + "=",
                                  token + "A",
                                  " " + token,
                                  end + "..",
                                  end + "." + std::string(43, 'A'),
                                  std::string(3000, '1')};
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string other = token;
    other[i] = other[i] == 'A' ? 'B' : 'A';
    forged.push_back(other);
  }
  for (const std::string& one : forged) {
    EXPECT_EQ(outcome(previews, {.target = "/?skiff-preview=" + protocol::percent_encode(one)}), "unauthenticated")
        << one;
    EXPECT_EQ(outcome(previews, {.fields = "Cookie: __Host-skiff-preview=" + one + "\r\n"}), "nothing") << one;
  }
  EXPECT_EQ(outcome(previews_with({std::string(32, 'x')}), {.target = "/?" + parameter}), "unauthenticated");
}

TEST(Previews, TellLinksFromCookies) {
  const Previews previews = previews_with();
  const std::string cookie = cookie_of(previews);
  const std::string link_token = link_of(previews).substr(link_of(previews).find('=') + 1);
  const std::string cookie_token = cookie.substr(cookie.find('=') + 1);
  EXPECT_EQ(outcome(previews, {.target = "/?skiff-preview=" + cookie_token}), "unauthenticated");
  EXPECT_EQ(outcome(previews, {.fields = "Cookie: __Host-skiff-preview=" + link_token + "\r\n"}), "nothing");
}

TEST(Previews, KnowTheKeyBefore) {
  const std::string other(40, 'n');
  const std::string parameter = link_of(previews_with());
  EXPECT_EQ(outcome(previews_with({other, kPreviewKey}), {.target = "/?" + parameter}), "redirect");
  EXPECT_NE(link_of(previews_with({other, kPreviewKey})), parameter) << "the first one signs";
}

TEST(Previews, GoWhereTheyWereAndNowhereElse) {
  const Previews previews = previews_with();
  for (const char* path :
       {"//evil.example/", "/\\evil.example/", "/%2F%2Fevil.example", "/@evil.example", "/.//evil"}) {
    const auto found = shown(previews, {.target = path + ("?" + link_of(previews))});
    ASSERT_TRUE(found && *found && (*found)->redirect) << path;
    EXPECT_EQ((*found)->redirect->headers.get("Location"), std::string{"https://3000-s01abc.boxes.example.com"} + path);
  }
  EXPECT_EQ(outcome(previews, {.method = "POST", .target = "/?" + link_of(previews)}), "invalid_request");
  EXPECT_EQ(outcome(previews, {.target = "/?" + link_of(previews) + "&" + link_of(previews)}), "invalid_request");
}

TEST(Previews, ArentForPagesOfOtherOrigins) {
  const Previews previews = previews_with();
  const std::string cookie = "Cookie: " + cookie_of(previews) + "\r\n";
  const auto with = [&](const std::string& fields, const std::string& method = "GET") {
    return outcome(previews, {.method = method, .fields = cookie + fields});
  };
  EXPECT_EQ(with("Origin: https://3000-s01abc.boxes.example.com\r\n", "POST"), "cookie");
  EXPECT_EQ(with("Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: cors\r\n"), "cookie");
  EXPECT_EQ(with("Sec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate\r\n"), "cookie");
  EXPECT_EQ(with("Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n"), "cookie");
  for (const char* site : {"same-site", "cross-site"}) {
    const std::string opens = std::string{"Sec-Fetch-Site: "} + site + "\r\nSec-Fetch-Mode: navigate\r\n";
    EXPECT_EQ(with(opens + "Sec-Fetch-Dest: document\r\n"), "cookie") << "a link to it";
    for (const char* frame : {"iframe", "frame", "embed", "object", "fencedframe"}) {
      EXPECT_EQ(with(opens + "Sec-Fetch-Dest: " + frame + "\r\n"), "nothing") << frame;
    }
  }
  for (const char* origin :
       {"https://3000-s01abd.boxes.example.com", "https://3001-s01abc.boxes.example.com",
        "http://3000-s01abc.boxes.example.com", "https://3000-s01abc.boxes.example.com:8443", "null", ""}) {
    EXPECT_EQ(with("Origin: " + std::string{origin} + "\r\n"), "nothing") << origin;
  }
  EXPECT_EQ(with("Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: no-cors\r\n"), "nothing");
  EXPECT_EQ(with("Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: websocket\r\n"), "nothing");
  EXPECT_EQ(with("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n", "POST"),
            "nothing");
}

TEST(Previews, AreFoundAmongOthersOfTheirName) {
  const Previews previews = previews_with();
  const std::string good = cookie_of(previews);
  EXPECT_EQ(outcome(previews, {.fields = "Cookie: __Host-skiff-preview=x\r\nCookie: " + good + "\r\n"}), "cookie");
  std::string many = "Cookie: ";
  for (int i = 0; i < 100; ++i) many += "__Host-skiff-preview=1." + std::string(43, 'A') + "; ";
  EXPECT_EQ(outcome(previews, {.fields = many.substr(0, 4000) + "; " + good + "\r\n"}), "nothing")
      << "it does not try for ever";
}

TEST(Previews, AreForHostsAlone) {
  const Previews previews = previews_with();
  const std::string head = "GET /s/s01abc/3000/?" + link_of(previews) +
                           " HTTP/1.1\r\nHost: x\r\nCookie: " + cookie_of(previews) + "\r\n\r\n";
  const auto request = protocol::parse_request_head(head, 4000);
  ASSERT_TRUE(request.has_value());
  const auto destination = destination_of(*request, kPreviewDomain);
  ASSERT_TRUE(destination.has_value() && destination->has_value());
  const auto found = previews.shown(*request, **destination, true, kPreviewNow);
  ASSERT_TRUE(found.has_value());
  EXPECT_FALSE(found->has_value()) << "below a path all sandboxes are one origin";
}

TEST(RemovePreviewCookie, LeavesTheOthers) {
  const auto left = [](std::initializer_list<std::pair<std::string_view, std::string_view>> given) {
    protocol::Headers fields{given};
    remove_preview_cookie(fields);
    return std::string{fields.wire()};
  };
  EXPECT_EQ(left({{"Cookie", "a=b; __Host-skiff-preview=t; c=d"}, {"X", "1"}}), "X: 1\r\nCookie: a=b; c=d\r\n");
  EXPECT_EQ(left({{"cookie", "skiff-preview=t"}}), "");
  EXPECT_EQ(left({{"Cookie", " skiff-preview = t;;a=b"}, {"Cookie", "__Host-skiff-preview"}}), "Cookie: a=b\r\n");
  EXPECT_EQ(left({{"Cookie", "a=b;c=d ;"}}), "Cookie: a=b;c=d ;\r\n") << "what holds none stays byte for byte";
  EXPECT_EQ(left({{"Cookie", "xskiff-preview=t; skiff-previewx=t"}}), "Cookie: xskiff-preview=t; skiff-previewx=t\r\n");
}

TEST(WithoutPreview, LeavesTheRestByteForByte) {
  EXPECT_EQ(without_preview("/a?b=%20&&c"), "/a?b=%20&&c");
  EXPECT_EQ(without_preview("/a"), "/a");
  EXPECT_EQ(without_preview("/a?"), "/a?");
  EXPECT_EQ(without_preview("/a?skiff-preview=t"), "/a");
  EXPECT_EQ(without_preview("/a?skiff-preview=t&b"), "/a?b");
  EXPECT_EQ(without_preview("/a?b&skiff-preview=t&c=%20"), "/a?b&c=%20");
  EXPECT_EQ(without_preview("/a?skiff-preview&%73kiff-preview=t&b"), "/a?b");
  EXPECT_EQ(without_preview("/skiff-preview=t?xskiff-preview=t"), "/skiff-preview=t?xskiff-preview=t");
}

}  // namespace
}  // namespace skiff::container::serve
