#include "protocol/grpc/message.hpp"

#include <gtest/gtest.h>

namespace skiff::protocol {
namespace {

std::string framed(const std::string& message) {
  return grpc_prefix(message.size()) + message;
}

TEST(GrpcMessages, PrefixIsFiveBytes) {
  EXPECT_EQ(grpc_prefix(0), std::string(5, '\0'));
  EXPECT_EQ(grpc_prefix(0x01020304), std::string("\0\x01\x02\x03\x04", 5));
}

TEST(GrpcMessages, AreParsedHoweverTheyAreSplit) {
  const std::string bytes = framed("one") + framed("") + framed("three");
  for (std::size_t step = 1; step <= bytes.size(); ++step) {
    GrpcMessages messages{16};
    std::vector<std::string> found;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      messages.feed(bytes.substr(at, step));
      for (;;) {
        auto next = messages.next();
        ASSERT_TRUE(next);
        if (!*next) break;
        found.push_back(**next);
      }
    }
    EXPECT_EQ(found, (std::vector<std::string>{"one", "", "three"})) << step;
    EXPECT_EQ(messages.held(), 0U);
  }
}

TEST(GrpcMessages, RefuseALargeMessageByItsPrefix) {
  GrpcMessages messages{3};
  messages.feed(framed("abc") + grpc_prefix(4));
  EXPECT_EQ(**messages.next(), "abc");
  EXPECT_EQ(messages.next().error().code, Errc::payload_too_large);
}

TEST(GrpcMessages, RefusesCompressedOnes) {
  GrpcMessages messages{100};
  messages.feed(std::string("\x01\0\0\0\0", 5));
  EXPECT_EQ(messages.next().error().code, Errc::not_supported);
}

}  // namespace
}  // namespace skiff::protocol
