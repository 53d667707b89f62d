#include "protocol/json/openapi.hpp"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "protocol/json/openapi_schema.hpp"
#include "protocol/json/problem.hpp"

namespace skiff::protocol {
namespace {

// Ordered, so that the document has the order of the declarations and is reproducible.
using OrderedJson = nlohmann::ordered_json;

OrderedJson parsed(std::string_view schema) {
  OrderedJson value = OrderedJson::parse(schema, nullptr, false);
  return value.is_discarded() ? OrderedJson::object() : value;
}

class Document {
 public:
  explicit Document(const ApiInfo& info) : key_field_{info.key_field} {
    document_["openapi"] = "3.0.3";
    document_["info"] = {{"title", info.title}, {"version", info.version}};
    if (!info.description.empty()) document_["info"]["description"] = info.description;
    if (!info.server.empty()) document_["servers"] = {{{"url", info.server}}};
    document_["paths"] = OrderedJson::object();
    add_component("Problem", problem_schema());
  }

  void add(const ApiOperation& operation) {
    std::string path = operation.path;
    if (path.ends_with("...}")) path.replace(path.size() - 4, 3, "");
    std::string method = operation.method;
    std::ranges::transform(method, method.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });

    OrderedJson entry;
    entry["operationId"] = operation.operation_id;
    if (!operation.summary.empty()) entry["summary"] = operation.summary;
    if (!operation.description.empty()) entry["description"] = operation.description;
    if (!operation.tag.empty()) {
      entry["tags"] = OrderedJson::array({operation.tag});
      tags_.insert(operation.tag);
    }
    if (OrderedJson list = parameters(operation, path); !list.empty()) entry["parameters"] = std::move(list);
    if (!operation.request.empty()) {
      entry["requestBody"] = {{"required", operation.request_required}, {"content", content(operation.request)}};
    }
    entry["responses"] = responses(operation);
    if (operation.scope.empty()) {
      entry["security"] = OrderedJson::array();
    } else {
      // OpenAPI 3.0.3 (Security Requirement Object) allows scopes only for OAuth schemes.
      entry["security"] = {{{"bearer", OrderedJson::array()}}, {{"token", OrderedJson::array()}}};
      entry["x-scope"] = operation.scope;
    }
    document_["paths"][path][method] = std::move(entry);
  }

  void add(const SchemaRef& component) { add_component(component.name, parsed(component.json)); }

  std::string text() {
    if (!tags_.empty()) {
      for (const std::string& tag : tags_) document_["tags"].push_back({{"name", tag}});
    }
    OrderedJson schemas = OrderedJson::object();
    for (auto& [name, schema] : schemas_) {
      to_openapi_3_0(schema);
      schemas[name] = std::move(schema);
    }
    document_["components"]["schemas"] = std::move(schemas);
    document_["components"]["responses"]["Problem"] = {
        {"description", "What went wrong (RFC 9457). Branch on `code`."},
        {"content",
         {{std::string{kProblemType}, {{"schema", {{"$ref", std::string{kComponentPrefix} + "Problem"}}}}}}}};
    document_["components"]["securitySchemes"] = {
        {"bearer", {{"type", "http"}, {"scheme", "bearer"}}},
        {"token", {{"type", "apiKey"}, {"in", "header"}, {"name", key_field_}}}};
    return document_.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  }

 private:
  static OrderedJson problem_schema() {
    OrderedJson codes = OrderedJson::array();
    for (std::size_t i = 0; i < error_code_count(); ++i) codes.push_back(name(static_cast<Errc>(i)));
    const auto text = [](std::string_view help) { return OrderedJson{{"type", "string"}, {"description", help}}; };
    OrderedJson schema{{"type", "object"}};
    OrderedJson& members = schema["properties"];
    members["type"] = text("A URN of the code");
    members["title"] = text("The same sentence for every problem of this code");
    members["status"] = {{"type", "integer"}};
    members["detail"] = text("The operation and its object");
    members["instance"] = text("The request's id");
    members["code"] = {
        {"type", "string"}, {"description", "Stable; codes are only ever added"}, {"x-extensible-enum", codes}};
    members["field"] = text("A JSON pointer to the input, or a parameter's name");
    schema["required"] = {"type", "title", "status", "detail", "code"};
    return schema;
  }

  void add_component(const std::string& name, OrderedJson schema) {
    name_inner_schemas(schema, schemas_);
    schemas_.try_emplace(name, std::move(schema));
  }

  /// Returns an inline schema; named schemas inside of it become components.
  OrderedJson inline_schema(std::string_view json) {
    OrderedJson holder{{"items", parsed(json)}};
    name_inner_schemas(holder, schemas_);
    to_openapi_3_0(holder["items"]);
    return std::move(holder["items"]);
  }

  OrderedJson schema(const SchemaRef& ref) {
    if (ref.name.empty()) return ref.json.empty() ? OrderedJson::object() : inline_schema(ref.json);
    if (!ref.json.empty()) add(ref);
    return {{"$ref", std::string{kComponentPrefix} + ref.name}};
  }

  OrderedJson content(const std::vector<ApiBody>& bodies) {
    OrderedJson out = OrderedJson::object();
    for (const ApiBody& body : bodies) {
      OrderedJson media = OrderedJson::object();
      if (!body.schema.name.empty() || !body.schema.json.empty()) media["schema"] = schema(body.schema);
      out[body.content_type] = std::move(media);
    }
    return out;
  }

  OrderedJson parameters(const ApiOperation& operation, std::string_view path) {
    OrderedJson out = OrderedJson::array();
    std::set<std::string, std::less<>> declared;
    for (const ApiParameter& parameter : operation.parameters) {
      const bool in_path = parameter.in == ApiParameter::In::path;
      if (in_path) declared.insert(parameter.name);
      OrderedJson entry{{"name", parameter.name},
                        {"in", in_path                                   ? "path"
                               : parameter.in == ApiParameter::In::query ? "query"
                                                                         : "header"}};
      if (!parameter.help.empty()) entry["description"] = parameter.help;
      if (in_path || parameter.required) entry["required"] = true;
      OrderedJson one = inline_schema(parameter.schema);
      entry["schema"] = parameter.repeated ? OrderedJson{{"type", "array"}, {"items", std::move(one)}} : std::move(one);
      out.push_back(std::move(entry));
    }
    for (std::size_t at = path.find('{'); at != std::string_view::npos; at = path.find('{', at + 1)) {
      const std::string_view name = path.substr(at + 1, path.find('}', at) - at - 1);
      if (declared.contains(name)) continue;
      out.push_back({{"name", name}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}});
    }
    return out;
  }

  OrderedJson responses(const ApiOperation& operation) {
    OrderedJson out = OrderedJson::object();
    if (operation.websocket) out["101"] = {{"description", "The connection is a WebSocket now"}};
    for (const ApiResponse& response : operation.responses) {
      OrderedJson entry{{"description", response.description}};
      for (const ApiHeader& header : response.headers) {
        entry["headers"][header.name] = {{"description", header.help}, {"schema", {{"type", "string"}}}};
      }
      if (!response.bodies.empty()) entry["content"] = content(response.bodies);
      out[std::to_string(response.status)] = std::move(entry);
    }
    OrderedJson problem{{"$ref", "#/components/responses/Problem"}};
    if (!operation.error.content_type.empty()) {
      problem = {{"description", "What went wrong"}, {"content", content({operation.error})}};
    }
    if (!operation.scope.empty()) {
      out.emplace("401", OrderedJson(problem));
      out.emplace("403", OrderedJson(problem));
    }
    if (operation.websocket) out.emplace("426", OrderedJson(problem));
    auto statuses = operation.problems;
    std::ranges::sort(statuses);
    for (const unsigned status : statuses) out.emplace(std::to_string(status), OrderedJson(problem));
    // A generator for Go takes every content type with "json" in its name for the problem of a default response.
    const auto has_lines = [](const ApiResponse& response) {
      return std::ranges::any_of(response.bodies,
                                 [](const ApiBody& body) { return body.content_type == "application/x-ndjson"; });
    };
    if (std::ranges::none_of(operation.responses, has_lines)) out["default"] = problem;
    return out;
  }

  std::string key_field_;
  OrderedJson document_;
  Components schemas_;
  std::set<std::string> tags_;
};

}  // namespace

std::string openapi_json(const ApiInfo& info, std::span<const ApiOperation> operations,
                         std::span<const SchemaRef> components) {
  Document document{info};
  for (const ApiOperation& operation : operations) document.add(operation);
  for (const SchemaRef& component : components) document.add(component);
  return document.text();
}

}  // namespace skiff::protocol
