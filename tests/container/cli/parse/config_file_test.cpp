#include "container/cli/parse/config_file.hpp"

#include <gtest/gtest.h>

namespace skiff::container {
namespace {

TEST(ConfigFile, HoldsScalarsAndLists) {
  const auto config = parse_config("output: json\nttl: 1h\nlabel:\n  - a=b\n  - c=d\n", "file");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->values.at("output"), std::vector<std::string>{"json"});
  EXPECT_EQ(config->values.at("label"), (std::vector<std::string>{"a=b", "c=d"}));
  EXPECT_TRUE(parse_config("", "file")->values.empty());
  EXPECT_TRUE(parse_config("# nothing\n", "file")->values.empty());
}

TEST(ConfigFile, IsToldWithItsLineWhenItIsWrong) {
  for (const char* text : {"output: json\nx: {a: b}\n", "output: json\nx: [[1]]\n", "output: json\n\t: bad\n"}) {
    const auto config = parse_config(text, "file.yaml");
    ASSERT_FALSE(config) << text;
    EXPECT_TRUE(config.error().message.starts_with("file.yaml:2: ")) << config.error().message;
  }
  EXPECT_FALSE(parse_config("- a\n", "file"));
}

TEST(ConfigFile, MustBeThereWhenItIsAskedFor) {
  EXPECT_EQ(read_config("/no/such/file").error().code, Errc::path_not_found);
}

}  // namespace
}  // namespace skiff::container
