#include "runtime/dialects/python_runtime/execute_request.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace skiff::runtime::dialects::python_runtime {
namespace {

constexpr std::string_view kJson = "application/json";

std::string refusal_of(std::string_view body, std::optional<std::string_view> type = kJson) {
  const auto request = read_execute_request(type, body, 4096);
  if (request) return "taken: " + request->command;
  return std::to_string(request.error().status) + ' ' + request.error().body;
}

std::string unprocessable_of(std::string_view finding) {
  return R"(422 {"detail":[)" + std::string{finding} + "]}";
}

// The bodies are those of FastAPI 0.116 with pydantic 2.11.
TEST(ExecuteRequest, IsRefusedAsFastApiDoes) {
  EXPECT_EQ(refusal_of(""),
            unprocessable_of(R"({"type":"missing","loc":["body"],"msg":"Field required","input":null})"));
  EXPECT_EQ(refusal_of("{}"),
            unprocessable_of(R"({"type":"missing","loc":["body","command"],"msg":"Field required","input":{}})"));
  EXPECT_EQ(refusal_of(R"({"command":5})"),
            unprocessable_of(
                R"({"type":"string_type","loc":["body","command"],"msg":"Input should be a valid string","input":5})"));
  EXPECT_EQ(
      refusal_of("[1]"),
      unprocessable_of(
          R"({"type":"model_attributes_type","loc":["body"],"msg":"Input should be a valid dictionary or object to extract fields from","input":[1]})"));
  EXPECT_EQ(
      refusal_of(R"({"command":"x"})", "text/plain"),
      unprocessable_of(
          R"({"type":"model_attributes_type","loc":["body"],"msg":"Input should be a valid dictionary or object to extract fields from","input":"{\"command\":\"x\"}"})"));
  EXPECT_EQ(
      refusal_of("{bad}"),
      unprocessable_of(
          R"({"type":"json_invalid","loc":["body",1],"msg":"JSON decode error","input":{},"ctx":{"error":"Expecting property name enclosed in double quotes"}})"));
  EXPECT_EQ(
      refusal_of(R"({"timeout_seconds":-1.5})"),
      unprocessable_of(
          R"({"type":"missing","loc":["body","command"],"msg":"Field required","input":{"timeout_seconds":-1.5}},)"
          R"({"type":"greater_than","loc":["body","timeout_seconds"],"msg":"Input should be greater than 0","input":-1.5,"ctx":{"gt":0.0}})"));
  EXPECT_EQ(
      refusal_of(R"({"command":"x","timeout_seconds":"abc"})"),
      unprocessable_of(
          R"({"type":"float_parsing","loc":["body","timeout_seconds"],"msg":"Input should be a valid number, unable to parse string as a number","input":"abc"})"));
  EXPECT_EQ(
      refusal_of(R"({"command":"x","timeout_seconds":[]})"),
      unprocessable_of(
          R"({"type":"float_type","loc":["body","timeout_seconds"],"msg":"Input should be a valid number","input":[]})"));
  EXPECT_EQ(refusal_of("{\"command\":\"\xff\"}"), R"(400 {"detail":"There was an error parsing the body"})");
  EXPECT_EQ(refusal_of(R"({"command":")" + std::string(5000, 'x') + "\"}").substr(0, 4), "413 ");
}

TEST(ExecuteRequest, IsTakenInEveryFormThatFastApiTakes) {
  EXPECT_EQ(refusal_of(R"({"command":"x","other":1})"), "taken: x");
  EXPECT_EQ(refusal_of(R"({"command":"x"})", std::nullopt), "taken: x");
  EXPECT_EQ(refusal_of(R"({"command":"x"})", "Application/VND.a+JSON; charset=utf-8"), "taken: x");
  EXPECT_EQ(refusal_of("\xEF\xBB\xBF{\"command\":\"x\"}"), "taken: x");
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
