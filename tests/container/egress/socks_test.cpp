#include "container/egress/socks.hpp"

#include <gtest/gtest.h>

#include <string>

namespace skiff::container::egress {
namespace {

using namespace std::string_literals;

std::string request_for(const std::string& host, const std::string& port) {
  return "\x05\x01\0\x03"s + static_cast<char>(host.size()) + host + port;
}

TEST(Socks, GreetingOffersNoLogin) {
  EXPECT_EQ(read_socks_greeting("\x05\x01\0"s), 3U);
  EXPECT_EQ(read_socks_greeting("\x05\x02\x02\0more"s), 4U);
  for (const std::string& start : {"\x05"s, "\x05\x01"s, "\x05\x02\0"s}) EXPECT_EQ(read_socks_greeting(start), 0U);
  for (const std::string& other : {"\x05\0"s, "\x05\x01\x02"s, "\x05\x01\x02\0"s}) {
    EXPECT_FALSE(read_socks_greeting(other)) << other;
  }
}

TEST(Socks, RequestNamesAHost) {
  const std::string bytes = request_for("PyPI.org", "\x20\xFB"s);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(read_socks_request(bytes.substr(0, size)).value().size, 0U) << size;
  }
  const auto found = read_socks_request(bytes + "more").value();
  EXPECT_EQ(found.size, bytes.size());
  EXPECT_EQ(found.target.text(), "pypi.org:8443");
}

TEST(Socks, RefusesAllElse) {
  const auto code_of = [](const std::string& bytes) {
    const auto found = read_socks_request(bytes);
    return found ? std::string{} : std::string{found.error().code};
  };
  EXPECT_EQ(code_of("\x05\x01\0\x01\x0B\x07\x07\x07\x01\xBB"s), "bad_target");  // IPv4
  EXPECT_EQ(code_of("\x05\x01\0\x04"s), "bad_target");                          // IPv6
  EXPECT_EQ(code_of("\x05\x02\0\x03"s), "method_not_allowed");                  // BIND
  EXPECT_EQ(code_of("\x05\x03\0\x03"s), "method_not_allowed");                  // UDP
  EXPECT_EQ(code_of("\x04\x01"s), "bad_request");
  EXPECT_EQ(code_of("\x05\x01\x01\x03"s), "bad_request");
  for (const std::string& host : {""s, "11.7.7.7"s, "a\0b.org"s, "a.org:443"s, "::1"s, "x@a.org"s}) {
    EXPECT_EQ(code_of(request_for(host, "\x01\xBB"s)), "bad_target") << host;
  }
  EXPECT_EQ(code_of(request_for("a.org", "\0\0"s)), "bad_target");
}

TEST(Socks, SaysWhyInOneByte) {
  const auto reply = [](unsigned status, std::string_view code) {
    const std::string text = socks_refusal({status, code, {}});
    EXPECT_EQ(text.size(), kSocksConnected.size());
    return text.at(1);
  };
  EXPECT_EQ(reply(403, "not_allowed"), 2);
  EXPECT_EQ(reply(400, "bad_target"), 2);
  EXPECT_EQ(reply(502, "dns"), 4);
  EXPECT_EQ(reply(502, "connect"), 5);
  EXPECT_EQ(reply(504, "timeout"), 6);
  EXPECT_EQ(reply(405, "method_not_allowed"), 7);
  EXPECT_EQ(reply(503, "audit_failed"), 1);
}

}  // namespace
}  // namespace skiff::container::egress
