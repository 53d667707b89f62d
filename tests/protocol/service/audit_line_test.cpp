#include "protocol/service/audit_line.hpp"

#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace skiff::protocol::service {
namespace {

TEST(AuditLine, IsAJsonObjectWithoutEmptyMembers) {
  const std::vector<std::string> words{"a \"b\"", "\xff"};
  AuditLine line{"request"};
  line.text("who", "me").text("sandbox", "").text("route", "a\xffz").texts("argv", words).number("status", 200);
  line.duration(std::chrono::microseconds{1'999});
  const auto json = nlohmann::json::parse(line.done());
  EXPECT_EQ(json.size(), 7U) << json;
  EXPECT_EQ(json.at("event"), "request");
  EXPECT_EQ(json.at("time").get<std::string>().back(), 'Z');
  EXPECT_EQ(json.at("route"), "a\xef\xbf\xbdz");
  EXPECT_EQ(json.at("argv"), nlohmann::json({"a \"b\"", "\xef\xbf\xbd"}));
  EXPECT_EQ(json.at("duration_ms"), 1);
}

}  // namespace
}  // namespace skiff::protocol::service
