#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "runtime/api/openapi/event_schemas.hpp"
#include "runtime/api/route.hpp"
#include "runtime/api/sockets/messages.hpp"
#include "tests/runtime/api/openapi/schema_page.hpp"

namespace skiff::runtime::api {
namespace {

/// Calls `visit` with each reference in the document.
void each_reference(const Json& value, const std::function<void(const std::string&)>& visit) {
  for (const auto& [key, inner] : value.items()) {
    if (key == "$ref" && inner.is_string()) visit(inner.get<std::string>());
    if (inner.is_structured()) each_reference(inner, visit);
  }
}

TEST(AsyncApi, HasAChannelForEveryWebSocketAndAMessageForEverySchema) {
  const Json document = Json::parse(asyncapi_document());
  for (const Route& route : routes()) {
    const Json& channels = document["channels"];
    if (!route.websocket) continue;
    ASSERT_TRUE(channels.contains(std::string{route.operation_id})) << route.operation_id;
    const Json& channel = channels[std::string{route.operation_id}];
    EXPECT_EQ(channel["address"], route.path);
    EXPECT_EQ(channel["bindings"]["ws"]["query"]["properties"].size(), route.query.size()) << route.operation_id;
  }
  const auto carries = [&](const char* operation, const Schemas& schemas) {
    std::vector<std::string> names;
    for (const Json& one : document["operations"][operation]["messages"]) names.push_back(component_of(one));
    for (const protocol::SchemaRef& schema : schemas) {
      EXPECT_TRUE(std::ranges::find(names, schema.name) != names.end()) << operation << " lacks " << schema.name;
      EXPECT_EQ(document["components"]["messages"][schema.name]["payload"]["$ref"],
                "#/components/schemas/" + schema.name);
      const Json components = document["components"]["schemas"];
      EXPECT_EQ(components[schema.name].value("required", Json{}), Json::parse(schema.json).value("required", Json{}));
      EXPECT_EQ(components[schema.name]["properties"].size(), Json::parse(schema.json)["properties"].size());
    }
  };
  carries("connectSend", server_messages());
  carries("connectReceive", client_messages());
  carries("openShellReceive", {terminal_message()});
  carries("readOutputSend", stream_events());
  carries("watchFilesSend", watch_events());
  carries("globFilesSend", glob_records());
  carries("grepFilesSend", grep_records());
  EXPECT_EQ(document["operations"]["connectSend"]["action"], "send");
  each_reference(document, [&](const std::string& reference) {
    EXPECT_TRUE(document.contains(Json::json_pointer{reference.substr(1)})) << reference;
  });
}

TEST(AsyncApi, ListsTheQueryParametersOfWebSockets) {
  const Json channel = Json::parse(asyncapi_document())["channels"]["runAttached"];
  const Json& query = channel["bindings"]["ws"]["query"];
  EXPECT_EQ(query["required"], Json::array({"command"}));
  EXPECT_FALSE(channel["parameters"]["sid"].empty());
  EXPECT_EQ(channel["servers"], Json::array({{{"$ref", "#/servers/ws"}}}));
}

TEST(AsyncApi, HasNoUnusedMessage) {
  const Json document = Json::parse(asyncapi_document());
  for (const auto& [name, message] : document["components"]["messages"].items()) {
    const bool carried =
        std::ranges::any_of(document["channels"], [&](const Json& one) { return one["messages"].contains(name); });
    EXPECT_TRUE(carried) << name;
  }
}

}  // namespace
}  // namespace skiff::runtime::api
