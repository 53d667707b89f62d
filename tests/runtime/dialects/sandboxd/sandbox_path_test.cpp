#include "runtime/dialects/sandboxd/sandbox_path.hpp"

#include <gtest/gtest.h>

namespace skiff::runtime::dialects::sandboxd {
namespace {

TEST(SandboxPath, IsRelativeToTheRoot) {
  for (const auto& [path, below] : {std::pair{"a/b.txt", "a/b.txt"},
                                    {"", "."},
                                    {".", "."},
                                    {"/", "."},
                                    {"//", "."},
                                    {"./a//b/", "a/b"},
                                    {"a/../b", "b"},
                                    {"a/..", "."},
                                    {"/etc/passwd", "etc/passwd"},
                                    {"/../etc", "etc"},
                                    {"/srv/box", "."},
                                    {"/srv/box/a", "a"},
                                    {"/srv/boxes/a", "srv/boxes/a"},
                                    {"/srv/box/../a", "srv/a"},
                                    {"srv/box/a", "srv/box/a"}}) {
    EXPECT_EQ(sandbox_path(path, "/srv/box"), below) << path;
  }
  EXPECT_EQ(sandbox_path("/etc", "/"), "etc");
}

TEST(SandboxPath, NeverLeavesIt) {
  for (const char* path : {"..", "../x", "a/../../x", "./..", "a/b/../../.."}) {
    EXPECT_EQ(sandbox_path(path, "/srv/box").error().code, Errc::path_escapes_root) << path;
  }
}

}  // namespace
}  // namespace skiff::runtime::dialects::sandboxd
