#include "runtime/api/ports/port_routes.hpp"

#include <gtest/gtest.h>

namespace skiff::runtime::api {
namespace {

TEST(ParsePort, AcceptsOnlyPortNumbers) {
  EXPECT_EQ(parse_port("1"), 1);
  EXPECT_EQ(parse_port("65535"), 65'535);
  for (const char* text : {"", "0", "65536", "4294967297", "-1", "+1", " 1", "1 ", "0x10", "80a", "127.0.0.1:80"}) {
    const auto port = parse_port(text);
    ASSERT_FALSE(port.has_value()) << text;
    EXPECT_EQ(port.error().code, Errc::invalid_field);
    EXPECT_EQ(port.error().field, "port");
  }
}

}  // namespace
}  // namespace skiff::runtime::api
