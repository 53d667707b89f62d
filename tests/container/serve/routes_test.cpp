#include <set>
#include <string>

#include <gtest/gtest.h>

#include "container/serve/route.hpp"

namespace skiff::container::serve {
namespace {

TEST(Routes, HaveEachMethodAndPathOnce) {
  std::set<std::string> seen;
  for (const Route& route : routes()) {
    EXPECT_TRUE(seen.insert(std::string{route.method} + " " + std::string{route.path}).second) << route.path;
    EXPECT_NE(route.handler, nullptr);
    EXPECT_FALSE(route.summary.empty() || route.summary.ends_with('.')) << route.path;
  }
}

TEST(Routes, OfASandboxNeedAKey) {
  for (const Route& route : routes()) EXPECT_TRUE(route.scope || !route.path.contains("sandboxes")) << route.path;
}

TEST(Routes, AreMatchedByTheirParts) {
  const auto find = [](std::string method, std::string_view path) {
    protocol::HttpRequest request;
    request.method = std::move(method);
    request.target = *protocol::Target::parse(path);
    return find_route(request);
  };
  const auto found = find("POST", "/v1/sandboxes/s1/stop");
  ASSERT_TRUE(found.is_found());
  EXPECT_EQ(routes()[found.route].path, "/v1/sandboxes/{id}/stop");
  EXPECT_EQ(found.parameters, std::vector<std::string>{"s1"});
  for (const char* path : {"/v1/sandboxes/", "/v1/sandboxes/a/b/c", "/"}) EXPECT_FALSE(find("GET", path).is_found());
  EXPECT_EQ(find("PATCH", "/sandboxes/s1").allow, "GET, DELETE");
  EXPECT_FALSE(find("HEAD", "/sandboxes/s1").is_found());
}

}  // namespace
}  // namespace skiff::container::serve
