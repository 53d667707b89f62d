#include "runtime/dialects/python_runtime/json_fault.hpp"

#include <string>

#include <gtest/gtest.h>

namespace skiff::runtime::dialects::python_runtime {
namespace {

std::string fault_in(std::string_view text) {
  const JsonFault fault = find_json_fault(text);
  return std::to_string(fault.position) + ' ' + std::string{fault.text};
}

// Positions and words are those of json.loads of Python 3.13.
TEST(JsonFault, IsWherePythonFindsIt) {
  EXPECT_EQ(fault_in("not json"), "0 Expecting value");
  EXPECT_EQ(fault_in(" "), "1 Expecting value");
  EXPECT_EQ(fault_in("-"), "0 Expecting value");
  EXPECT_EQ(fault_in("01"), "1 Extra data");
  EXPECT_EQ(fault_in("1."), "1 Extra data");
  EXPECT_EQ(fault_in("1.5e+3x"), "6 Extra data");
  EXPECT_EQ(fault_in("1e"), "1 Extra data");
  EXPECT_EQ(fault_in("["), "1 Expecting value");
  EXPECT_EQ(fault_in("{"), "1 Expecting property name enclosed in double quotes");
  EXPECT_EQ(fault_in("{bad}"), "1 Expecting property name enclosed in double quotes");
  EXPECT_EQ(fault_in(R"({"command": })"), "12 Expecting value");
  EXPECT_EQ(fault_in("{\"\xc3\xa9\":}"), "5 Expecting value");
  EXPECT_EQ(fault_in(R"({"a":tru})"), "5 Expecting value");
  EXPECT_EQ(fault_in(R"({"command": "x")"), "15 Expecting ',' delimiter");
  EXPECT_EQ(fault_in("[1 2]"), "3 Expecting ',' delimiter");
  EXPECT_EQ(fault_in(R"({"command" "x"})"), "11 Expecting ':' delimiter");
  EXPECT_EQ(fault_in(R"({"command":"x"} y)"), "16 Extra data");
  EXPECT_EQ(fault_in(R"({"command":"x)"), "11 Unterminated string starting at");
  EXPECT_EQ(fault_in(R"({"command":"x\)"), "11 Unterminated string starting at");
  EXPECT_EQ(fault_in("{\"command\":\"\n\"}"), "12 Invalid control character at");
  EXPECT_EQ(fault_in(R"({"command":"\q"})"), "12 Invalid \\escape");
  EXPECT_EQ(fault_in(R"({"command":"\u12"})"), "13 Invalid \\uXXXX escape");
  EXPECT_EQ(fault_in(R"({"command":"x",})"), "14 Illegal trailing comma before end of object");
  EXPECT_EQ(fault_in("[1,]"), "2 Illegal trailing comma before end of array");
  EXPECT_EQ(fault_in(R"([{"a": [], "b": {}, "c": [[1], {"d": null}]}, )"), "46 Expecting value");
}

TEST(JsonFault, IsAtTheStartWherePythonFindsNone) {
  EXPECT_EQ(fault_in(R"({"a": 1, "a": [NaN, -Infinity, 1e9999, {}]})"), "0 Expecting value");
}

TEST(JsonFault, NestingIsNoRecursion) {
  EXPECT_EQ(fault_in(std::string(1'000'000, '[')), "1000000 Expecting value");
}

}  // namespace
}  // namespace skiff::runtime::dialects::python_runtime
