#include <algorithm>
#include <array>
#include <string>

#include <nlohmann/json.hpp>

#include "protocol/json/openapi_schema.hpp"
#include "runtime/api/openapi/event_schemas.hpp"
#include "runtime/api/route.hpp"
#include "runtime/api/sockets/messages.hpp"

/// The AsyncAPI document: a channel for each route with messages, from the tables that also write the messages.
namespace skiff::runtime::api {
namespace {

using OrderedJson = nlohmann::ordered_json;
using protocol::SchemaRef;

Schemas nothing() {
  return {};
}

/// The WebSocket of one command takes no messages that start or attach to a command.
Schemas messages_to_one_command() {
  Schemas messages = client_messages();
  std::erase_if(messages,
                [](const SchemaRef& one) { return one.name == "StartMessage" || one.name == "AttachMessage"; });
  return messages;
}

Schemas terminal_messages() {
  return {terminal_message()};
}

/// The messages of a route, from the agent and to it. `frames` names binary messages in both directions.
struct Conversation {
  std::string_view operation_id;
  Schemas (*sends)();
  Schemas (*receives)();
  std::string_view frames = {};
};

constexpr std::string_view kBinaryFrame = "BinaryFrame";
constexpr std::string_view kTerminalBytes = "TerminalBytes";
constexpr std::string_view kPortBytes = "PortBytes";

std::string_view about_parameter(std::string_view name) {
  if (name == "sid") return "Id of the session";
  return name == "port" ? "Port that the server listens on" : "Id of the command";
}

constexpr std::array kConversations{
    Conversation{"connect", server_messages, client_messages, kBinaryFrame},
    Conversation{"attach", server_messages, messages_to_one_command, kBinaryFrame},
    Conversation{"runAttached", server_messages, messages_to_one_command, kBinaryFrame},
    Conversation{"openShell", nothing, terminal_messages, kTerminalBytes},
    Conversation{"openPort", nothing, nothing, kPortBytes},
    Conversation{"watchFiles", watch_events, nothing},
    Conversation{"readOutput", stream_events, nothing},
    Conversation{"globFiles", glob_records, nothing},
    Conversation{"grepFiles", grep_records, nothing},
};

OrderedJson reference(std::string path) {
  return {{"$ref", "#/" + std::move(path)}};
}

class AsyncDocument {
 public:
  AsyncDocument() {
    document_ = {{"asyncapi", "3.0.0"},
                 {"info",
                  {{"title", "skiffd"},
                   {"version", "1"},
                   {"description",
                    "The WebSockets and event streams of skiffd. Its requests and answers are in /openapi.json. Fields "
                    "and messages are only ever added."}}},
                 {"defaultContentType", "application/json"}};
    const OrderedJson security = OrderedJson::array(
        {reference("components/securitySchemes/bearer"), reference("components/securitySchemes/token")});
    for (const char* protocol : {"ws", "http"}) {
      document_["servers"][protocol] = {{"host", kDefaultHost}, {"protocol", protocol}, {"security", security}};
    }
    document_["servers"]["ws"]["security"].push_back(reference("components/securitySchemes/subprotocol"));
    add_bytes(kBinaryFrame, "With skiff.v1.binary: a header of 24 bytes, then bytes of one stream.");
    add_bytes(kTerminalBytes, "Bytes that the client types, and bytes that the terminal shows.");
    add_bytes(kPortBytes,
              "Bytes of the connection; the boundaries of messages have no meaning. With skiff.v1.tcp an empty text "
              "message closes its sender's direction.");
  }

  void add(const Route& route, const Conversation& conversation) {
    const std::string id{route.operation_id};
    OrderedJson channel{{"address", route.path}, {"summary", route.summary}};
    channel["servers"] = OrderedJson::array({reference(route.websocket ? "servers/ws" : "servers/http")});
    for (std::size_t at = route.path.find('{'); at != std::string_view::npos; at = route.path.find('{', at + 1)) {
      const std::string_view name = route.path.substr(at + 1, route.path.find('}', at) - at - 1);
      channel["parameters"][std::string{name}] = {{"description", about_parameter(name)}};
    }
    if (route.websocket) {
      channel["bindings"]["ws"] = {{"method", route.method}, {"query", query_of(route)}};
    }
    OrderedJson& messages = channel["messages"] = OrderedJson::object();
    const OrderedJson sent = list(id, messages, conversation.sends(), conversation.frames);
    const OrderedJson taken = list(id, messages, conversation.receives(), conversation.frames);
    document_["channels"][id] = std::move(channel);
    add_operation(route, "send", sent);
    add_operation(route, "receive", taken);
  }

  std::string text() {
    for (auto& [name, schema] : schemas_) document_["components"]["schemas"][name] = std::move(schema);
    document_["components"]["messages"] = std::move(messages_);
    document_["components"]["securitySchemes"] = {
        {"bearer", {{"type", "http"}, {"scheme", "bearer"}}},
        {"token", {{"type", "httpApiKey"}, {"in", "header"}, {"name", "X-Skiff-Token"}}},
        {"subprotocol",
         {{"type", "httpApiKey"},
          {"in", "header"},
          {"name", "Sec-WebSocket-Protocol"},
          {"description",
           "For pages in browsers: skiff.bearer.TOKEN, with the token in base64url without padding, and beside it "
           "skiff.v1.json, skiff.v1.binary or skiff.v1.tcp, which the server answers with."}}}};
    return document_.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  }

 private:
  static OrderedJson query_of(const Route& route) {
    OrderedJson query{{"type", "object"}, {"properties", OrderedJson::object()}};
    for (const QueryParameter& parameter : route.query) {
      OrderedJson schema = OrderedJson::parse(parameter.schema);
      schema.erase("title");
      schema["description"] = parameter.help;
      query["properties"][std::string{parameter.name}] = std::move(schema);
      if (parameter.required) query["required"].push_back(parameter.name);
    }
    return query;
  }

  void add_bytes(std::string_view name, std::string_view help) {
    messages_[std::string{name}] = {{"name", name},
                                    {"summary", help},
                                    {"contentType", "application/octet-stream"},
                                    {"payload", {{"type", "string"}, {"format", "binary"}}}};
  }

  /// Adds the components as messages to a channel; returns the references for an operation.
  OrderedJson list(const std::string& channel, OrderedJson& into, const Schemas& components, std::string_view frames) {
    OrderedJson references = OrderedJson::array();
    const auto refer = [&](const std::string& name) {
      into[name] = reference("components/messages/" + name);
      references.push_back(reference("channels/" + channel + "/messages/" + name));
    };
    for (const SchemaRef& component : components) {
      OrderedJson schema = OrderedJson::parse(component.json);
      protocol::name_inner_schemas(schema, schemas_);
      schemas_.try_emplace(component.name, std::move(schema));
      messages_[component.name] = {{"name", component.name},
                                   {"payload", reference("components/schemas/" + component.name)}};
      refer(component.name);
    }
    if (!frames.empty()) refer(std::string{frames});
    return references;
  }

  void add_operation(const Route& route, std::string_view action, const OrderedJson& messages) {
    if (messages.empty()) return;
    const std::string id{route.operation_id};
    document_["operations"][id + (action == "send" ? "Send" : "Receive")] = {{"action", action},
                                                                             {"channel", reference("channels/" + id)},
                                                                             {"summary", route.summary},
                                                                             {"messages", messages}};
  }

  OrderedJson document_;
  OrderedJson messages_;
  protocol::Components schemas_;
};

}  // namespace

const std::string& asyncapi_document() {
  static const std::string document = [] {
    AsyncDocument made;
    for (const Conversation& conversation : kConversations) {
      const auto route = std::ranges::find(routes(), conversation.operation_id, &Route::operation_id);
      made.add(*route, conversation);
    }
    return made.text();
  }();
  return document;
}

}  // namespace skiff::runtime::api
