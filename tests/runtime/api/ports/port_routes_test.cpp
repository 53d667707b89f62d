#include "runtime/api/ports/port_routes.hpp"

#include <gtest/gtest.h>

#include <string>

#include "protocol/http/parser.hpp"

namespace skiff::runtime::api {
namespace {

std::string behind(const std::string& target) {
  const auto request = protocol::parse_request_head("GET " + target + " HTTP/1.0\r\n\r\n", 1000);
  EXPECT_TRUE(request.has_value()) << target;
  return request ? target_behind_port(*request) : std::string{};
}

TEST(ParsePort, TakesNumbersOfPortsAlone) {
  EXPECT_EQ(parse_port("1"), 1);
  EXPECT_EQ(parse_port("65535"), 65'535);
  for (const char* text : {"", "0", "65536", "4294967297", "-1", "+1", " 1", "1 ", "0x10", "80a", "127.0.0.1:80"}) {
    const auto port = parse_port(text);
    ASSERT_FALSE(port.has_value()) << text;
    EXPECT_EQ(port.error().code, Errc::invalid_field);
    EXPECT_EQ(port.error().field, "port");
  }
}

TEST(TargetBehindPort, IsByteForByteAsItWasSent) {
  EXPECT_EQ(behind("/v1/ports/80/"), "/");
  EXPECT_EQ(behind("/v1/ports/80/a%2Fb//c/../d;e?x=%20+&y?z"), "/a%2Fb//c/../d;e?x=%20+&y?z");
  EXPECT_EQ(behind("/v1/ports/80/?"), "/?");
  EXPECT_EQ(behind("/%76%31/ports/%38%30/x?/y"), "/x?/y");
  EXPECT_EQ(behind("http://elsewhere:1/v1/ports/80/x?y"), "/x?y");
}

}  // namespace
}  // namespace skiff::runtime::api
