#include "runtime/dialects/python_runtime/base_path.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.hpp"

namespace skiff::runtime::dialects::python_runtime {
namespace {

TEST(BasePath, PathsAreBelowTheRootHoweverTheyAreWritten) {
  EXPECT_EQ(below_base("a/b"), "a/b");
  EXPECT_EQ(below_base("///a/b//"), "a/b");
  EXPECT_EQ(below_base("/"), "");
  EXPECT_EQ(below_base(""), "");
  EXPECT_EQ(below_base("/../a"), "../a") << "it is for the tree to refuse";
}

TEST(BasePath, WhatAShellPrintsIsFoundWhereNothingElseIs) {
  const test::TemporaryDirectory directory;
  directory.write("file", "x");
  auto tree = fs::Tree::open({.path = directory.path()});
  ASSERT_TRUE(tree);
  const std::string real = tree->main_path();
  const Base base{.tree = std::make_shared<const fs::Tree>(std::move(*tree)), .root = directory.path()};
  EXPECT_EQ(as_printed(base, real.substr(1) + "/file"), real + "/file");
  EXPECT_EQ(as_printed(base, real.substr(1)), real);
  EXPECT_EQ(as_printed(base, real.substr(1) + "x/file"), "");
  EXPECT_EQ(as_printed(base, "file"), "");

  std::vector<std::string> asked;
  const auto open = [&](const std::string& path) -> Result<int> {
    asked.push_back(path);
    if (path.starts_with('/')) return 1;
    return fail(Errc::path_not_found, "no");
  };
  EXPECT_TRUE(open_at(base, real.substr(1) + "/file", open));
  EXPECT_FALSE(open_at(base, "file", open));
  EXPECT_EQ(asked, (std::vector<std::string>{real.substr(1) + "/file", real + "/file", "file"}));
}

}  // namespace
}  // namespace skiff::runtime::dialects::python_runtime
