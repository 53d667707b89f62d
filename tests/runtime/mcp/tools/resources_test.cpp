#include "runtime/mcp/tools/resources.hpp"

#include <gtest/gtest.h>

namespace skiff::runtime::mcp {
namespace {

TEST(McpResources, AUriNamesAFileOrALogAndBack) {
  for (const char* uri :
       {"skiff://default/files/a/b%20c.txt", "skiff://s.1/logs/c-1", "skiff://default/files/%2Fabs"}) {
    const auto name = ResourceName::parse(uri);
    ASSERT_TRUE(name) << uri;
    EXPECT_EQ(ResourceName::parse(name->uri())->rest, name->rest);
  }
  const auto file = ResourceName::parse("skiff://default/files/a/n%C3%A4h%23");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->rest, "a/näh#");
  EXPECT_EQ(file->uri(), "skiff://default/files/a/n%C3%A4h%23");
  EXPECT_EQ(ResourceName::parse("skiff://default/logs/x")->kind, ResourceName::Kind::log);
}

TEST(McpResources, EverythingElseIsRefused) {
  for (const char* uri :
       {"", "file:///etc/passwd", "skiff://", "skiff://default", "skiff://default/files/", "skiff:///files/x",
        "skiff://a b/files/x", "skiff://default/other/x", "skiff://default/logs/a/b", "skiff://default/logs/",
        "skiff://default/files/%00", "skiff://default/files/%zz", "skiff://default/files/%ff"}) {
    EXPECT_FALSE(ResourceName::parse(uri)) << uri;
  }
}

}  // namespace
}  // namespace skiff::runtime::mcp
