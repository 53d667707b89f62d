#include "runtime/dialects/python_runtime/execute_request.hpp"

#include <limits>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace skiff::runtime::dialects::python_runtime {
namespace {

constexpr std::string_view kJson = "application/json";

struct Refused {
  Errc code = Errc::internal;
  std::string field = {};
  bool operator==(const Refused&) const = default;
};

std::optional<Refused> refusal_of(std::string_view body, std::optional<std::string_view> type = kJson) {
  const auto request = read_execute_request(type, body, 4096);
  if (request) return std::nullopt;
  return Refused{request.error().code, request.error().field};
}

TEST(ExecuteRequest, IsRefusedWithTheFieldThatIsWrong) {
  EXPECT_EQ(refusal_of(""), Refused{Errc::malformed_json});
  EXPECT_EQ(refusal_of("{bad}"), Refused{Errc::malformed_json});
  EXPECT_EQ(refusal_of("{\"command\":\"\xff\"}"), Refused{Errc::malformed_json});
  EXPECT_EQ(refusal_of("null"), Refused{Errc::invalid_field});
  EXPECT_EQ(refusal_of("[1]"), Refused{Errc::invalid_field});
  EXPECT_EQ(refusal_of(R"({"command":"x"})", "text/plain"), Refused{Errc::invalid_field});
  EXPECT_EQ(refusal_of("{}"), (Refused{Errc::missing_field, "command"}));
  EXPECT_EQ(refusal_of(R"({"command":5})"), (Refused{Errc::invalid_field, "command"}));
  for (const char* timeout : {"-1.5", "0", "\"abc\"", "\"\"", "[]", "{}"}) {
    EXPECT_EQ(refusal_of(R"({"command":"x","timeout_seconds":)" + std::string{timeout} + '}'),
              (Refused{Errc::invalid_field, "timeout_seconds"}))
        << timeout;
  }
  EXPECT_EQ(refusal_of(R"({"command":")" + std::string(5000, 'x') + "\"}"), Refused{Errc::payload_too_large});
}

TEST(ExecuteRequest, IsTakenInEveryFormThatFastApiTakes) {
  EXPECT_EQ(refusal_of(R"({"command":"x","other":1})"), std::nullopt);
  EXPECT_EQ(refusal_of(R"({"command":"x"})", std::nullopt), std::nullopt);
  EXPECT_EQ(refusal_of(R"({"command":"x"})", "Application/VND.a+JSON; charset=utf-8"), std::nullopt);
  EXPECT_EQ(refusal_of("\xEF\xBB\xBF{\"command\":\"x\"}"), std::nullopt);
}

TEST(ExecuteRequest, TimeoutIsReadLeniently) {
  const auto timeout = [](std::string_view value) {
    const auto request =
        read_execute_request(kJson, R"({"command":"x","timeout_seconds":)" + std::string{value} + '}', 4096);
    EXPECT_TRUE(request && request->knows_timeouts) << value;
    return request ? request->timeout_seconds : std::nullopt;
  };
  EXPECT_EQ(timeout("1.5"), 1.5);
  EXPECT_EQ(timeout("3"), 3.0);
  EXPECT_EQ(timeout("\" 5 \""), 5.0);
  EXPECT_EQ(timeout("true"), 1.0);
  EXPECT_EQ(timeout("null"), std::nullopt);
  EXPECT_EQ(timeout("\"inf\""), std::numeric_limits<double>::infinity());
  EXPECT_FALSE(read_execute_request(kJson, R"({"command":"x"})", 4096)->knows_timeouts);
}

}  // namespace
}  // namespace skiff::runtime::dialects::python_runtime
