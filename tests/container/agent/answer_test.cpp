#include "container/agent/answer.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace skiff::container {
namespace {

using nlohmann::json;

const json kSaid = json::parse(R"({"text":"a","number":5,"flag":true,"list":["x","y"],"none":null,"negative":-1,
    "mixed":["x",1],"inner":{"number":7},"out_base64":"/wA=","odd_base64":"?","fraction":1.5})");

TEST(AgentAnswer, ReadsWhatIsThere) {
  AgentAnswer answer{kSaid, "a thing"};
  EXPECT_EQ(answer.text("text"), "a");
  EXPECT_EQ(answer.number("number"), 5u);
  EXPECT_TRUE(answer.flag("flag"));
  EXPECT_EQ(answer.texts("list"), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(answer.number("inner/number"), 7u);
  EXPECT_EQ(answer.bytes("text"), "a");
  EXPECT_EQ(answer.bytes("out"), (std::string{"\xff\0", 2}));
  EXPECT_TRUE(answer.check());
}

TEST(AgentAnswer, IsEmptyWhereThereIsNothing) {
  AgentAnswer answer{kSaid, "a thing"};
  EXPECT_EQ(answer.text("absent"), "");
  EXPECT_EQ(answer.text("none"), "");
  EXPECT_EQ(answer.number("absent"), std::nullopt);
  EXPECT_EQ(answer.number("absent/number"), std::nullopt);
  EXPECT_FALSE(answer.flag("absent"));
  EXPECT_TRUE(answer.list("absent").empty());
  EXPECT_TRUE(answer.check());
}

template <class Read>
std::string error_of_reading(const json& said, const Read& read) {
  AgentAnswer answer{said, "a thing"};
  read(answer);
  const auto fits = answer.check();
  return fits ? "" : fits.error().message;
}

TEST(AgentAnswer, NamesTheFirstFieldOfAnotherType) {
  const std::string lie = "what answers there is not skiffd: ";
  const auto text = [](const char* key) { return [key](AgentAnswer& answer) { (void)answer.text(key); }; };
  const auto number = [](const char* key) { return [key](AgentAnswer& answer) { (void)answer.number(key); }; };
  EXPECT_EQ(error_of_reading(kSaid, text("number")), lie + "\"number\" of a thing is not a text");
  EXPECT_EQ(error_of_reading(kSaid, number("text")), lie + "\"text\" of a thing is not a number from 0 on");
  EXPECT_EQ(error_of_reading(kSaid, number("negative")), lie + "\"negative\" of a thing is not a number from 0 on");
  EXPECT_EQ(error_of_reading(kSaid, number("fraction")), lie + "\"fraction\" of a thing is not a number from 0 on");
  EXPECT_EQ(error_of_reading(kSaid, number("text/number")), lie + "\"text\" of a thing is not an object");
  EXPECT_EQ(error_of_reading(kSaid, [](AgentAnswer& answer) { (void)answer.flag("text"); }),
            lie + "\"text\" of a thing is not true or false");
  EXPECT_EQ(error_of_reading(kSaid, [](AgentAnswer& answer) { (void)answer.texts("mixed"); }),
            lie + "\"mixed\" of a thing is not a list of texts");
  EXPECT_EQ(error_of_reading(kSaid, [](AgentAnswer& answer) { (void)answer.list("inner"); }),
            lie + "\"inner\" of a thing is not a list");
  EXPECT_EQ(error_of_reading(kSaid, [](AgentAnswer& answer) { (void)answer.bytes("odd"); }),
            lie + "\"odd_base64\" of a thing is not base64");
  EXPECT_EQ(error_of_reading(json(7), text("text")), lie + "a thing is not an object");
  EXPECT_EQ(error_of_reading(kSaid,
                             [](AgentAnswer& answer) {
                               (void)answer.text("number");
                               (void)answer.flag("text");
                             }),
            lie + "\"number\" of a thing is not a text");
}

}  // namespace
}  // namespace skiff::container
