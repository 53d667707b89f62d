#include "protocol/json/openapi_schema.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace skiff::protocol {
namespace {

using Json = nlohmann::ordered_json;

Json lowered(const char* text) {
  Json schema = Json::parse(text);
  to_openapi_3_0(schema);
  return schema;
}

TEST(OpenApiSchema, SaysNullAsNullable) {
  EXPECT_EQ(lowered(R"({"anyOf":[{"type":"string"},{"type":"null"}],"description":"x"})"),
            Json::parse(R"({"type":"string","description":"x","nullable":true})"));
  EXPECT_EQ(lowered(R"({"type":"object","additionalProperties":{"type":["string","null"]}})"),
            Json::parse(R"({"type":"object","additionalProperties":{"type":"string","nullable":true}})"));
  EXPECT_EQ(lowered(R"({"anyOf":[{"$ref":"#/components/schemas/A"},{"type":"null"}]})"),
            Json::parse(R"({"allOf":[{"$ref":"#/components/schemas/A"}],"nullable":true})"));
}

TEST(OpenApiSchema, GivesIntegersTheFormatThatHoldsThem) {
  EXPECT_EQ(lowered(R"({"type":"integer","maximum":2147483647})")["format"], "int32");
  EXPECT_EQ(lowered(R"({"type":"integer","maximum":2147483648})")["format"], "int64");
  EXPECT_EQ(lowered(R"({"type":"integer"})")["format"], "int64");
  EXPECT_EQ(lowered(R"({"type":"integer","maximum":9223372036854775807})")["maximum"], 9223372036854775807);
  EXPECT_FALSE(lowered(R"({"type":"integer","maximum":18446744073709551615})").contains("maximum"));
}

TEST(OpenApiSchema, RemovesWhatGeneratorsDoNotSupport) {
  EXPECT_EQ(lowered(R"({"type":"object","properties":{"a":{"type":"string","pattern":"^[^\\u0000]*$"}},
                        "propertyNames":{"pattern":"x"},"oneOf":[{"required":["a"]}]})"),
            Json::parse(R"({"type":"object","properties":{"a":{"type":"string",
                            "x-json-schema":{"pattern":"^[^\\u0000]*$"}}},
                            "x-json-schema":{"propertyNames":{"pattern":"x"},"oneOf":[{"required":["a"]}]}})"));
  EXPECT_EQ(lowered(R"({"type":["object","array"]})"), Json::parse(R"({"x-json-schema":{"type":["object","array"]}})"));
  EXPECT_EQ(lowered(R"({"type":"boolean","default":true})"),
            Json::parse(R"({"type":"boolean","x-json-schema":{"default":true}})"));
  EXPECT_EQ(lowered(R"({"type":"string","pattern":"^[a-z]+$"})"),
            Json::parse(R"({"type":"string","pattern":"^[a-z]+$"})"));
}

TEST(OpenApiSchema, MakesComponentsOfWhatHasAName) {
  Json schema = Json::parse(R"({"title":"Outer","type":"object","properties":{
      "title":{"type":"string"},
      "one":{"title":"Inner","type":"object","properties":{"word":{"title":"Word","type":"string","enum":["a"]}},
             "description":"of this place","default":"a"},
      "many":{"type":"array","items":{"title":"Word","type":"string","enum":["a"]}}}})");
  Components components;
  name_inner_schemas(schema, components);
  EXPECT_EQ(schema, Json::parse(R"({"type":"object","properties":{
      "title":{"type":"string"},
      "one":{"$ref":"#/components/schemas/Inner","description":"of this place","default":"a"},
      "many":{"type":"array","items":{"$ref":"#/components/schemas/Word"}}}})"));
  ASSERT_EQ(components.size(), 2U);
  EXPECT_EQ(components["Inner"],
            Json::parse(R"({"type":"object","properties":{"word":{"$ref":"#/components/schemas/Word"}}})"));
  EXPECT_EQ(components["Word"], Json::parse(R"({"type":"string","enum":["a"]})"));
}

}  // namespace
}  // namespace skiff::protocol
