#include "protocol/http/date.hpp"

#include <gtest/gtest.h>

namespace skiff::protocol {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_days;

TEST(HttpDate, ReadsValidDates) {
  EXPECT_EQ(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), sys_days{1994y / 11 / 6} + 8h + 49min + 37s);
  EXPECT_EQ(parse_http_date("Thu, 31 Dec 2026 23:59:60 GMT"), sys_days{2027y / 1 / 1} + 0s);
  EXPECT_EQ(parse_http_date("Thu, 01 Jan 1970 00:00:00 GMT"), std::chrono::sys_seconds{});
  EXPECT_TRUE(parse_http_date("Sat, 29 Feb 2024 00:00:00 GMT"));
}

TEST(HttpDate, RefusesOtherTexts) {
  for (const char* other :
       {"", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 06 nov 1994 08:49:37 GMT",
        "Sun, 06 ov D1994 08:49:37 GMT", "Sun, 06 an  1994 08:49:37 GMT", "Sun, 31 Feb 1994 08:49:37 GMT",
        "Sun, 29 Feb 2023 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Nov 1994 08:49:37 GMT ",
        "Sun, 06 Nov +994 08:49:37 GMT", "Sun, 6  Nov 1994 08:49:37 GMT"}) {
    EXPECT_FALSE(parse_http_date(other)) << other;
  }
}

TEST(HttpDate, WritesWhatItReads) {
  for (const char* text : {"Sun, 06 Nov 1994 08:49:37 GMT", "Thu, 01 Jan 1970 00:00:00 GMT",
                           "Sat, 29 Feb 2020 23:59:59 GMT", "Wed, 31 Dec 1969 23:59:59 GMT"}) {
    EXPECT_EQ(http_date(parse_http_date(text).value()), text);
  }
}

TEST(HttpDate, IsFixedLengthAndTrue) {
  const std::string text{http_date_now()};
  ASSERT_EQ(text.size(), 29u) << text;
  std::tm parts{};
  const char* end = strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  ASSERT_NE(end, nullptr) << text;
  EXPECT_NEAR(static_cast<double>(timegm(&parts)), static_cast<double>(std::time(nullptr)), 2.0);
}

}  // namespace
}  // namespace skiff::protocol
