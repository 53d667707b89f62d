#include "container/serve/gateway/destination.hpp"

#include <gtest/gtest.h>

#include <string>

#include "protocol/http/parser.hpp"

namespace skiff::container::serve {
namespace {

constexpr std::string_view kPlaceDomain = "boxes.example.com";

protocol::HttpRequest request_of(const std::string& host, const std::string& target, const std::string& fields) {
  const std::string head = "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n" + fields + "\r\n";
  auto request = protocol::parse_request_head(head, 1000);
  EXPECT_TRUE(request.has_value()) << head;
  return request ? std::move(*request) : protocol::HttpRequest{};
}

/// "SANDBOX:PORT", with "/NAMESPACE" if there is one; "-" for a request to the server itself; else the error's code.
std::string destination(const std::string& host, const std::string& target = "/", const std::string& fields = {},
                        std::string_view domain = kPlaceDomain) {
  const auto request = request_of(host, target, fields);
  const auto found = destination_of(request, domain);
  if (!found) return std::string{name(found.error().code)};
  if (!*found) return "-";
  const Destination& at = **found;
  return at.sandbox + ":" + std::to_string(at.port) + (at.namespace_name.empty() ? "" : "/" + at.namespace_name);
}

std::string by_host_name(const std::string& host) {
  return destination(host);
}

TEST(Place, IsByTheHost) {
  EXPECT_EQ(by_host_name("3000-s01abc.boxes.example.com"), "s01abc:3000");
  EXPECT_EQ(by_host_name("3000-s01abc.boxes.example.com:8443"), "s01abc:3000");
  EXPECT_EQ(by_host_name("65535-A-B-c.Boxes.EXAMPLE.com"), "a-b-c:65535") << "names know no case";
  EXPECT_EQ(by_host_name("80-" + std::string(60, 'a') + ".boxes.example.com"), std::string(60, 'a') + ":80");
}

TEST(Place, LeavesOtherHostsToTheServer) {
  for (const char* host :
       {"boxes.example.com", "api.boxes.example.com", "sandbox.boxes.example.com", "3000.boxes.example.com",
        "example.com", "3000-s01abc.other.com", "3000-s01abcboxes.example.com", "127.0.0.1:80", "[::1]:80", "",
        "3000-s01abc.boxes.example.com."}) {
    EXPECT_EQ(by_host_name(host), "-") << host;
  }
  EXPECT_EQ(destination("3000-s01abc.boxes.example.com", "/", {}, ""), "-") << "without a domain";
}

TEST(Place, HasOneFormOfEachHost) {
  for (const char* host : {"0-a", "03000-a", "65536-a", "99999999999-a", "3000--a", "3000-a-", "3000-"}) {
    const std::string said = by_host_name(std::string{host} + ".boxes.example.com");
    EXPECT_TRUE(said == "invalid_field" || said == "host_not_allowed") << host << " is " << said;
  }
  for (const char* host :
       {"x.3000-a", "3000-a.b", ".3000-a", "-", "_x", "3000-a_b", "%41", "", "3000-a%2eb", "a,b", "3000-(a)"}) {
    EXPECT_EQ(by_host_name(std::string{host} + ".boxes.example.com"), "host_not_allowed") << host;
  }
  EXPECT_EQ(by_host_name("3000-a.boxes.example.com:80:90"), "host_not_allowed");
  EXPECT_EQ(by_host_name("3000-a.boxes.example.com:http"), "host_not_allowed");
  EXPECT_EQ(by_host_name("80-" + std::string(61, 'a') + ".boxes.example.com"), "host_not_allowed") << "a label's size";
}

TEST(Place, IsByThePath) {
  EXPECT_EQ(destination("x", "/s/s01abc/3000/a/b?c"), "s01abc:3000");
  EXPECT_EQ(destination("x", "/s/s01abc/3000"), "s01abc:3000");
  EXPECT_EQ(destination("x", "/s/s01abc/3000/"), "s01abc:3000");
  for (const char* target :
       {"/s", "/s/", "/s/s01abc", "/s/s01abc/", "/S/s01abc/80", "/%73/s01abc/80", "//s/a/80", "*"}) {
    EXPECT_EQ(destination("x", target), "-") << target;
  }
  for (const char* target : {"/s//80/", "/s/a/0/", "/s/a/080/", "/s/a/8%30/", "/s/%61/80/", "/s/A/80/", "/s/../80/",
                             "/s/a/80a/", "/s/a//x", "/s/a%2f80/80/"}) {
    EXPECT_EQ(destination("x", target), "invalid_field") << target;
  }
}

TEST(Place, IsByTheFieldsOfE2b) {
  EXPECT_EQ(destination("x", "/files", "E2b-Sandbox-Id: s01abc\r\nE2b-Sandbox-Port: 49983\r\n"), "s01abc:49983");
  EXPECT_EQ(destination("x", "/", "E2b-Sandbox-Id: s01abc\r\n"), "invalid_request");
  EXPECT_EQ(destination("x", "/", "E2b-Sandbox-Port: 80\r\n"), "invalid_request");
  EXPECT_EQ(destination("x", "/", "E2b-Sandbox-Id: a\r\nE2b-Sandbox-Id: a\r\nE2b-Sandbox-Port: 80\r\n"),
            "invalid_request");
  EXPECT_EQ(destination("x", "/", "E2b-Sandbox-Id: a\r\nE2b-Sandbox-Port: 80\r\ne2b-sandbox-port: 81\r\n"),
            "invalid_request");
  for (const char* id : {"", "A", "a.b", "a/b", "..", "a b", "-a", "a:80", "10.0.0.1", "a%2e"}) {
    EXPECT_EQ(destination("x", "/", "E2b-Sandbox-Id: " + std::string{id} + "\r\nE2b-Sandbox-Port: 80\r\n"),
              "invalid_field")
        << id;
  }
  for (const char* port : {"", "0", "65536", "+80", "-80", "0x50", "80 80", "8e1", "080"}) {
    EXPECT_EQ(destination("x", "/", "E2b-Sandbox-Id: a\r\nE2b-Sandbox-Port: " + std::string{port} + "\r\n"),
              "invalid_field")
        << port;
  }
}

TEST(Place, IsByTheFieldsOfAgentSandbox) {
  EXPECT_EQ(
      destination("x", "/execute", "X-Sandbox-ID: box-1\r\nX-Sandbox-Namespace: team-a\r\nX-Sandbox-Port: 8080\r\n"),
      "box-1:8080/team-a");
  EXPECT_EQ(destination("x", "/execute", "X-Sandbox-ID: box-1\r\n"), "box-1:8888");
  EXPECT_EQ(destination("x", "/", "X-Sandbox-Namespace: team-a\r\n"), "invalid_request");
  EXPECT_EQ(destination("x", "/", "X-Sandbox-ID: a\r\nX-Sandbox-Namespace: a/b\r\n"), "invalid_field");
  EXPECT_EQ(destination("x", "/", "X-Sandbox-ID: a\r\nX-Sandbox-ID: b\r\n"), "invalid_request");
  EXPECT_EQ(destination("x", "/", "X-Sandbox-Pod-IP: 10.0.0.1\r\nX-Sandbox-Timeout: 5\r\n"), "-")
      << "an address is no place";
}

TEST(Place, CantBeTwo) {
  const std::string host = "3000-a.boxes.example.com";
  EXPECT_EQ(destination(host, "/", "E2b-Sandbox-Id: a\r\nE2b-Sandbox-Port: 3000\r\n"), "a:3000")
      << "the same once more";
  EXPECT_EQ(destination(host, "/", "E2b-Sandbox-Id: b\r\nE2b-Sandbox-Port: 3000\r\n"), "invalid_request");
  EXPECT_EQ(destination(host, "/", "E2b-Sandbox-Id: a\r\nE2b-Sandbox-Port: 3001\r\n"), "invalid_request");
  EXPECT_EQ(destination(host, "/", "X-Sandbox-ID: b\r\nX-Sandbox-Port: 3000\r\n"), "invalid_request");
  EXPECT_EQ(
      destination("x", "/", "E2b-Sandbox-Id: a\r\nE2b-Sandbox-Port: 80\r\nX-Sandbox-ID: b\r\nX-Sandbox-Port: 80\r\n"),
      "invalid_request");
  EXPECT_EQ(destination("x", "/s/a/80/", "E2b-Sandbox-Id: b\r\nE2b-Sandbox-Port: 80\r\n"), "invalid_request");
  EXPECT_EQ(destination("x", "/s/a/80/", "E2b-Sandbox-Id: a\r\nE2b-Sandbox-Port: 80\r\n"), "invalid_request")
      << "whose is the path then?";
  EXPECT_EQ(destination(host, "/s/b/80/"), "a:3000") << "below a host of its own every path is the sandbox's";
  EXPECT_EQ(destination(host, "http://" + host + "/s/b/80/"), "a:3000");
}

std::string asked(const std::string& host, const std::string& target) {
  const auto request = request_of(host, target, {});
  const auto found = destination_of(request, kPlaceDomain);
  if (!found || !*found) return "not placed";
  const auto at = target_at(request, **found);
  return at ? prefix_of(**found) + " " + *at : std::string{name(at.error().code)};
}

TEST(TargetAt, IsByteForByteAsItWasSent) {
  EXPECT_EQ(asked("x", "/s/a/80/b%2Fc//d/../e?f=%20&g"), "/s/a/80 /b%2Fc//d/../e?f=%20&g");
  EXPECT_EQ(asked("x", "/s/a/80"), "/s/a/80 /");
  EXPECT_EQ(asked("x", "/s/a/80?b"), "/s/a/80 /?b");
  EXPECT_EQ(asked("80-a.boxes.example.com", "/s/b/81//c?d"), " /s/b/81//c?d");
  EXPECT_EQ(asked("80-a.boxes.example.com", "*"), "invalid_request");
}

TEST(ParseDomain, TakesTwoNamesOrMore) {
  EXPECT_EQ(parse_domain("boxes.localhost"), "boxes.localhost");
  EXPECT_EQ(parse_domain("Boxes.Example.COM"), "boxes.example.com");
  for (const char* text : {"", "localhost", ".a.b", "a.b.", "a..b", "a_b.c", "a.b:80", "*.a.b", "a b.c", "-a.b"}) {
    EXPECT_FALSE(parse_domain(text).has_value()) << text;
  }
  EXPECT_FALSE(parse_domain(std::string(63, 'a') + "." + std::string(63, 'b') + "." + std::string(63, 'c')).has_value())
      << "no room is left for a sandbox";
}

TEST(HostOf, IsWhatPlaceReads) {
  EXPECT_EQ(by_host_name(host_of("s01abc", 3000, kPlaceDomain)), "s01abc:3000");
}

}  // namespace
}  // namespace skiff::container::serve
