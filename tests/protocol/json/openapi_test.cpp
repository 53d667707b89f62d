#include "protocol/json/openapi.hpp"

#include <gtest/gtest.h>

#include <span>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace skiff::protocol {
namespace {

nlohmann::json document() {
  const SchemaRef session{"Session", R"({"type":"object","properties":{"id":{"type":"string"}}})"};
  std::vector<ApiOperation> operations(3);
  operations[0].method = "POST";
  operations[0].path = "/v1/sessions";
  operations[0].operation_id = "createSession";
  operations[0].summary = "Create a session";
  operations[0].tag = "sessions";
  operations[0].scope = "exec";
  operations[0].request = {{"application/json", session}};
  operations[0].responses = {{.status = 201,
                              .description = "Created",
                              .bodies = {{"application/json", session}},
                              .headers = {{"Location", "Where it is"}}}};
  operations[1].method = "GET";
  operations[1].path = "/v1/sessions/{sid}/files/{path...}";
  operations[1].operation_id = "readFile";
  operations[1].scope = "read";
  operations[1].parameters = {{.name = "sid", .in = ApiParameter::In::path, .help = "The session"},
                              {.name = "lines", .help = "A range"},
                              {.name = "label", .repeated = true}};
  operations[1].problems = {404, 401};
  operations[1].responses = {{.status = 200, .description = "Bytes", .bodies = {{"application/octet-stream", {}}}}};
  operations[2].method = "GET";
  operations[2].path = "/healthz";
  operations[2].operation_id = "health";
  operations[2].responses = {{.status = 200, .description = "Alive"}};
  operations[2].websocket = true;
  return nlohmann::json::parse(openapi_json({"skiff", "1.2.3", "About"}, operations));
}

TEST(OpenApi, ListsEachOperationUnderItsPathAndMethod) {
  const auto api = document();
  EXPECT_EQ(api["openapi"], "3.0.3");
  EXPECT_EQ(api["info"]["version"], "1.2.3");
  const auto& create = api["paths"]["/v1/sessions"]["post"];
  EXPECT_EQ(create["operationId"], "createSession");
  EXPECT_EQ(create["tags"][0], "sessions");
  EXPECT_EQ(create["requestBody"]["content"]["application/json"]["schema"]["$ref"], "#/components/schemas/Session");
  EXPECT_EQ(create["responses"]["201"]["headers"]["Location"]["description"], "Where it is");
  EXPECT_TRUE(api["components"]["schemas"]["Session"]["properties"].contains("id"));
}

TEST(OpenApi, DescribesErrorsOfAForeignApi) {
  ApiOperation operation{.method = "GET", .path = "/sandboxes", .operation_id = "list", .scope = "read"};
  operation.error = {"application/json", {"TheirError", R"({"type":"object"})"}};
  const auto api = nlohmann::json::parse(openapi_json({"skiff", "1.2.3", "About"}, std::span{&operation, 1}));
  const auto& responses = api["paths"]["/sandboxes"]["get"]["responses"];
  for (const char* status : {"401", "403", "default"}) {
    EXPECT_EQ(responses[status]["content"]["application/json"]["schema"]["$ref"], "#/components/schemas/TheirError");
  }
}

TEST(OpenApi, DeclaresEveryPathParameterOnce) {
  const auto api = document();
  const auto& parameters = api["paths"]["/v1/sessions/{sid}/files/{path}"]["get"]["parameters"];
  ASSERT_EQ(parameters.size(), 4U);
  EXPECT_EQ(parameters[0]["name"], "sid");
  EXPECT_EQ(parameters[0]["required"], true);
  EXPECT_EQ(parameters[1]["in"], "query");
  EXPECT_FALSE(parameters[1].contains("required"));
  EXPECT_EQ(parameters[2]["schema"]["type"], "array");
  EXPECT_EQ(parameters[3]["name"], "path");
}

TEST(OpenApi, HasNoDefaultAnswerBesideLines) {
  std::vector<ApiOperation> operations(1);
  operations[0].method = "GET";
  operations[0].path = "/lines";
  operations[0].responses = {{.status = 200, .description = "Lines", .bodies = {{"application/x-ndjson", {}}}}};
  operations[0].problems = {404};
  const auto api = nlohmann::json::parse(openapi_json({"skiff", "1.2.3", "About"}, operations));
  const auto& responses = api["paths"]["/lines"]["get"]["responses"];
  EXPECT_TRUE(responses.contains("404"));
  EXPECT_FALSE(responses.contains("default"));
}

TEST(OpenApi, ListsEveryErrorCodeAndTheWaysToAuthenticate) {
  const auto api = document();
  EXPECT_EQ(api["components"]["schemas"]["Problem"]["properties"]["code"]["x-extensible-enum"].size(),
            error_code_count());
  EXPECT_EQ(api["components"]["securitySchemes"]["token"]["name"], "X-Skiff-Token");
  const auto& read = api["paths"]["/v1/sessions/{sid}/files/{path}"]["get"];
  EXPECT_EQ(read["security"].size(), 2U);
  EXPECT_EQ(read["x-scope"], "read");
  EXPECT_TRUE(read["responses"].contains("401"));
  EXPECT_EQ(read["responses"]["404"]["$ref"], "#/components/responses/Problem");
  EXPECT_TRUE(read["responses"].contains("default"));
  const auto& health = api["paths"]["/healthz"]["get"];
  EXPECT_TRUE(health["security"].empty());
  EXPECT_FALSE(health.contains("x-scope"));
  EXPECT_FALSE(health["responses"].contains("401"));
  EXPECT_TRUE(health["responses"].contains("101"));
}

TEST(OpenApi, HasComponentsThatNoOperationNames) {
  const std::vector<SchemaRef> further{{"Event", R"({"type":"array","items":{"$ref":"#/components/schemas/Gap"}})"},
                                       {"Gap", R"({"type":"object"})"}};
  const auto api = nlohmann::json::parse(openapi_json({"skiff", "1.2.3", "About"}, {}, further));
  EXPECT_EQ(api["components"]["schemas"]["Event"]["items"]["$ref"], "#/components/schemas/Gap");
  EXPECT_EQ(api["components"]["schemas"]["Gap"]["type"], "object");
}

}  // namespace
}  // namespace skiff::protocol
