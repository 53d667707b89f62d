#include "protocol/http/traceparent.hpp"

#include <gtest/gtest.h>

namespace skiff::protocol {
namespace {

constexpr std::string_view kGoodParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(Traceparent, KeepsAValidOne) {
  EXPECT_EQ(valid_traceparent(kGoodParent), kGoodParent);
  EXPECT_EQ(valid_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00").substr(53), "00");
}

TEST(Traceparent, DropsForbiddenValues) {
  for (const std::string_view bad : {
           "",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",      // short
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",   // version 00 has no more
           "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",     // upper case
           "00-00000000000000000000000000000000-00f067aa0ba902b7-01",     // no trace
           "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",     // no parent
           "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",     // the version that can't be
           "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",     // another mark
           "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",     // no hex
           "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01more"  // goes on without a mark
       }) {
    EXPECT_EQ(valid_traceparent(bad), "") << bad;
  }
}

TEST(Traceparent, KeepsTheKnownPartOfANewerVersion) {
  EXPECT_EQ(valid_traceparent("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0f-what-else"), kGoodParent);
  EXPECT_EQ(valid_traceparent("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-02"),
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00");
}

}  // namespace
}  // namespace skiff::protocol
