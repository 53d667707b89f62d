#include "container/kube/objects/yaml.hpp"

#include <gtest/gtest.h>

#include <string>

#include <nlohmann/json.hpp>

namespace skiff::kube {
namespace {

using Json = nlohmann::json;

std::string yaml_problem(std::string_view yaml) {
  const auto parsed = parse_yaml(yaml);
  return parsed ? "no problem: " + parsed->dump() : parsed.error().message;
}

TEST(Yaml, GivesPlainScalarsTheirTypes) {
  EXPECT_EQ(
      parse_yaml("[a, 1, -2, 0x10, 0o10, 1.5, 2e3, true, False, ~, null, , '1', \"true\", 1.2.3, 12:30, 1e]").value(),
      Json::parse(R"(["a",1,-2,16,8,1.5,2000.0,true,false,null,null,null,"1","true","1.2.3","12:30","1e"])"));
  EXPECT_EQ(parse_yaml("18446744073709551615").value(), Json(18446744073709551615U));
  EXPECT_EQ(parse_yaml("99999999999999999999999").value().type(), Json::value_t::number_float);
  EXPECT_EQ(parse_yaml("!!str 5").value(), Json("5"));
}

TEST(Yaml, ReadsBlocksFlowsAndAliases) {
  EXPECT_EQ(parse_yaml("a: &x {b: |\n    two\n    lines\n  , c: >-\n    one\n    line}\nd: *x\n").has_value(), false)
      << "a block scalar doesn't stand in a flow";
  EXPECT_EQ(parse_yaml("a: &x\n  b: |\n    two\n    lines\n  c: [1, {d: e}]\nf: *x\n").value(),
            Json::parse(R"({"a":{"b":"two\nlines\n","c":[1,{"d":"e"}]},"f":{"b":"two\nlines\n","c":[1,{"d":"e"}]}})"));
  EXPECT_EQ(parse_yaml(R"({"a": [1, "b"]})").value(), Json::parse(R"({"a":[1,"b"]})"));
}

TEST(Yaml, OfNothingIsNull) {
  for (const char* text : {"", "\n", "# only a comment\n", "---\n"})
    EXPECT_TRUE(parse_yaml(text).value().is_null()) << text;
}

TEST(Yaml, SaysWhereItIsBroken) {
  EXPECT_NE(yaml_problem("a: b\nc: [1, 2\n").find("line "), std::string::npos) << yaml_problem("a: b\nc: [1, 2\n");
  EXPECT_EQ(yaml_problem("a: 1\nb: 2\na: 3\n").find("line 3, column 1: the key \"a\" is repeated"), 0u);
  EXPECT_NE(yaml_problem("? [a]\n: b\n").find("a key must be"), std::string::npos);
  EXPECT_NE(yaml_problem("a: *nobody\n").find("line 1"), std::string::npos);
  EXPECT_EQ(yaml_problem("a: 1\n---\nb: 2\n").find("line 2, column 1: something that is not part"), 0u)
      << yaml_problem("a: 1\n---\nb: 2\n");
  EXPECT_NE(yaml_problem(", [x").find("line 1"), std::string::npos) << "yaml-cpp's LoadAll never ends on it";
  EXPECT_NE(yaml_problem("a: \"\xff\"").find("UTF-8"), std::string::npos);
}

TEST(Yaml, StaysWithinItsLimits) {
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + below;
    for (int j = 0; j < 9; ++j) laughs += ", " + below;
    laughs += "]\n";
  }
  EXPECT_NE(yaml_problem(laughs).find("100000 values"), std::string::npos);
  EXPECT_NE(yaml_problem(std::string(100, '[') + std::string(100, ']')).find("levels"), std::string::npos);
  EXPECT_FALSE(parse_yaml(std::string(100'000, '[')).has_value());
  EXPECT_EQ(parse_yaml(std::string(5 * 1024 * 1024, ' ')).error().code, Errc::payload_too_large);
}

}  // namespace
}  // namespace skiff::kube
