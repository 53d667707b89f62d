#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "runtime/api/route.hpp"
#include "tests/runtime/api/openapi/schema_page.hpp"

namespace skiff::runtime::api {
namespace {

using test::code;
using test::MarkdownTable;

constexpr std::string_view kRoutesIntroduction =
    "# Routes of skiffd\n\n"
    "`/v1/commands...` and `/v1/files...` mean the session `default`. HEAD works wherever GET does. Scope `exec` "
    "includes `read`, `admin`\nincludes all scopes; `ports` is separate. A field or parameter marked `?` is optional. "
    "`/openapi.json` has the schemas of the\nanswers, [events.md](events.md) the events and WebSocket messages, "
    "[errors.md](errors.md) the error codes.\n\n"
    "Any route may answer 400, 421, 431 and 503; routes with a scope also 401 and 403; with an id or a path 404; with "
    "a "
    "JSON body 413 and 415; a\nWebSocket 426. The column Errors lists the others.\n\n"
    "This page is generated from the route table (`runtime/api/routes.cpp`, `code_route_table.cpp` and "
    "`file_routes.cpp` "
    "there): run\n`runtime_tests` with `SKIFF_UPDATE_DOCS=1` after a change.\n";

/// The sections in the order of the page.
constexpr std::array kSections{std::pair{"front door", "Front door"},
                               std::pair{"sessions", "Sessions"},
                               std::pair{"commands", "Commands"},
                               std::pair{"code", "Code"},
                               std::pair{"files", "Files"},
                               std::pair{"mcp", "Model Context Protocol"},
                               std::pair{"ports", "Servers on ports"},
                               std::pair{"agent", "The agent itself"}};

struct Operation {
  std::string route;  ///< "GET /healthz"
  Json what;
};

std::vector<Operation> operations(const Json& document) {
  std::vector<Operation> all;
  for (const auto& [path, methods] : document["paths"].items()) {
    for (const auto& [method, operation] : methods.items()) {
      std::string route = method;
      std::ranges::transform(route, route.begin(), [](char c) { return static_cast<char>(c - 'a' + 'A'); });
      route.append(" ").append(path);
      all.push_back({.route = std::move(route), .what = operation});
    }
  }
  return all;
}

/// A link to the fields of a request's body, further down the page.
std::string link_to(const std::string& component) {
  std::string anchor = component;
  std::ranges::transform(anchor, anchor.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return "[" + component + "](#" + anchor + ")";
}

std::string bare_type(const std::string& content_type) {
  for (const std::string_view usual : {"application/", "text/"}) {
    if (content_type.starts_with(usual)) return content_type.substr(usual.size());
  }
  return content_type;
}

std::string takes(const Json& operation, std::set<std::string>& bodies) {
  std::string text;
  if (!operation.contains("requestBody")) return text;
  for (const auto& [type, media] : operation["requestBody"]["content"].items()) {
    if (!text.empty()) text += ", ";
    const std::string component = component_of(media["schema"]);
    if (!component.empty()) bodies.insert(component);
    text += component.empty() ? bare_type(type) : link_to(component);
    if (!component.empty() && type != "application/json") text += " as " + bare_type(type);
  }
  return text;
}

std::string answers(const Json& operation) {
  std::string text;
  for (const auto& [status, response] : operation["responses"].items()) {
    if (status == "default" || status >= "4") continue;
    if (!text.empty()) text += "; ";
    text += status;
    std::string forms;
    const Json content = response.value("content", Json::object());
    for (const auto& [type, media] : content.items()) {
      const std::string component = component_of(media["schema"]);
      forms += forms.empty() ? " " : ", ";
      if (type != "application/json") forms += bare_type(type) + (component.empty() ? "" : " of ");
      forms += component.empty() ? (type == "application/json" ? "json" : "") : component;
    }
    text += forms;
  }
  return text;
}

std::string scope_of(const Json& operation) {
  return operation.value("x-scope", "");
}

/// The errors that the introduction does not name.
std::string further_errors(const Json& operation) {
  std::set<std::string> usual{"400", "421", "431", "503", "default"};
  if (!operation["security"].empty()) usual.insert({"401", "403"});
  if (operation["responses"].contains("101")) usual.insert("426");
  for (const Json& parameter : operation.value("parameters", Json::array())) {
    if (parameter["in"] == "path") usual.insert("404");
  }
  if (operation.contains("requestBody") && operation["requestBody"]["content"].contains("application/json")) {
    usual.insert({"413", "415"});
  }
  std::string text;
  for (const auto& [status, response] : operation["responses"].items()) {
    if (status >= "4" && !usual.contains(status)) text += (text.empty() ? "" : " ") + status;
  }
  return text;
}

void add_parameters(MarkdownTable& table, const Operation& operation, const Json& components) {
  std::string route = code(operation.route);
  for (const Json& parameter : operation.what.value("parameters", Json::array())) {
    if (parameter["in"] != "query") continue;
    const bool repeated = parameter["schema"].value("type", Json{}) == "array";
    const Json schema = inlined(repeated ? parameter["schema"]["items"] : parameter["schema"], components);
    const bool required = parameter.value("required", false);
    table.add({std::exchange(route, ""), code(parameter["name"].get<std::string>() + (required ? "" : "?")),
               type_in_words(schema) + (repeated ? ", repeatable" : ""), parameter.value("description", "")});
  }
}

std::string page() {
  const Json document = Json::parse(openapi_document());
  const Json& components = document["components"]["schemas"];
  std::string text{kRoutesIntroduction};
  std::set<std::string> bodies;
  std::size_t shown = 0;
  const auto all = operations(document);
  for (const auto& [tag, heading] : kSections) {
    MarkdownTable routes{{"Route", "Scope", "What it does", "Takes", "Answers", "Errors"}};
    MarkdownTable parameters{{"Route", "Query", "Type", "Meaning"}};
    for (const Operation& operation : all) {
      if (operation.what["tags"][0] != tag) continue;
      ++shown;
      routes.add({code(operation.route), scope_of(operation.what), operation.what["summary"],
                  takes(operation.what, bodies), answers(operation.what), further_errors(operation.what)});
      add_parameters(parameters, operation, components);
    }
    text += "\n## " + std::string{heading} + "\n\n" + routes.text();
    if (!parameters.empty()) text += "\n" + parameters.text();
  }
  EXPECT_EQ(shown, all.size()) << "a tag has no section";
  text += "\n## Bodies of requests\n";
  for (const std::string& name : bodies) {
    text += "\n### " + name + "\n\n" + members_table(inlined(components[name], components));
  }
  return text;
}

TEST(Routes, AreDocumentedAsTheyAre) {
  test::expect_page("routes.md", page());
}

}  // namespace
}  // namespace skiff::runtime::api
