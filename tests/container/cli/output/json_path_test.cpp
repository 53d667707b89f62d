#include "container/cli/output/json_path.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace skiff::container {
namespace {

const nlohmann::json kList{{"items",
                            {{{"name", "one"}, {"labels", {{"a.b", "x"}}}, {"count", 1}},
                             {{"name", "two"}, {"labels", nlohmann::json::object()}, {"count", 2}}}}};

std::string filled(std::string_view text) {
  auto done = format_json_path(text, kList);
  return done ? *done : "error: " + done.error().message;
}

TEST(JsonPath, GivesWhatKubectlGives) {
  EXPECT_EQ(filled("{.items[*].name}"), "one two");
  EXPECT_EQ(filled("{.items[0].name} and {.items[-1].count}"), "one and 2");
  EXPECT_EQ(filled("{range .items[*]}{.name}={.count}{\"\\n\"}{end}!"), "one=1\ntwo=2\n!");
  EXPECT_EQ(filled("{.items[0].labels['a.b']}{.items[0].labels.a\\.b}"), "xx");
  EXPECT_EQ(filled("{.items[1].labels}"), "{}");
  EXPECT_EQ(filled("{.nothing}{.items[7].name}{range .nothing[*]}x{end}"), "");
  EXPECT_EQ(filled(".items[1].name"), "two");
  EXPECT_EQ(filled("{range .items[*]}{$.items[0].name}{end}"), "oneone");
  EXPECT_EQ(filled("just words"), "just words");
  EXPECT_EQ(filled("{'a}b'}"), "a}b");
}

TEST(JsonPath, SaysWhatIsWrong) {
  for (const char* text : {"{.items[0}", "{.items", "{range .items[*]}x", "{end}", "{.items[x]}", "{items}", "{\"x}"}) {
    EXPECT_TRUE(filled(text).starts_with("error: jsonpath ")) << text << ": " << filled(text);
  }
}

TEST(JsonPath, TellsWhatThereIs) {
  EXPECT_EQ(known_paths(kList), ".items[*].count, .items[*].labels, .items[*].name");
  EXPECT_EQ(known_paths(kList["items"][0]), ".count, .labels, .name");
  EXPECT_EQ(known_paths({{"items", nlohmann::json::array()}}), "") << "of nothing there is nothing to tell";
  for (const char* other : {"{}", "[]", "7", "null", R"({"items":[1]})"}) {
    EXPECT_EQ(known_paths(nlohmann::json::parse(other)), "") << other;
  }
  EXPECT_EQ(known_paths({{"items", 1}}), ".items") << "a field that is called so";
}

TEST(JsonPath, FindsValuesByAPathAlone) {
  EXPECT_EQ(find_json_path("items[1].count", kList)->at(0), 2);
  EXPECT_EQ(find_json_path(".items[*].name", kList)->size(), 2U);
  EXPECT_TRUE(find_json_path("none", kList)->empty());
  EXPECT_FALSE(find_json_path(".items[", kList));
}

}  // namespace
}  // namespace skiff::container
