#include "protocol/json/schema.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace skiff::protocol {
namespace {

enum class Mode : std::uint8_t { wait, stream };

struct Size {
  int cols = 0;
  std::optional<std::uint16_t> rows;
  static constexpr auto fields = std::tuple{field("cols", &Size::cols, "Columns", {.minimum = 1, .maximum = 1000}),
                                            field("rows", &Size::rows, "Rows")};
};

struct Start {
  std::optional<std::string> command;
  std::vector<std::string> argv;
  Mode mode = Mode::wait;
  std::string id;
  std::map<std::string, std::optional<std::string>> env;
  std::map<std::string, std::string> secret_env;
  std::optional<Size> tty;
  std::vector<Size> sizes;
  std::chrono::milliseconds grace{2000};
  std::optional<std::uint64_t> offset;
  std::optional<std::optional<std::int64_t>> idle;
  bool eof = false;
  nlohmann::json extra;

  static constexpr auto fields = std::tuple{
      field("command", &Start::command, "A shell line", {.max_length = 8, .text = Text::no_nul}),
      field("argv", &Start::argv, "Program and arguments", {.max_items = 3, .text = Text::no_nul, .optional = true}),
      field("mode", &Start::mode, "How to wait", {.optional = true}),
      field("id", &Start::id, "The command's id", {.text = Text::id}),
      field("env", &Start::env, "Variables", {.keys = Text::env_name, .optional = true}),
      field("secret_env", &Start::secret_env, "Hidden", {.optional = true, .write_only = true}),
      field("tty", &Start::tty, "Terminal"),
      field("sizes", &Start::sizes, "", {.optional = true}),
      field("kill_grace_ms", &Start::grace, "Grace", {.maximum = 60'000, .optional = true}),
      field("offset", &Start::offset, "Offset"),
      field("idle", &Start::idle, "Idle"),
      field("eof", &Start::eof, "", {.optional = true}),
      field("extra", &Start::extra, "Anything", {.optional = true}),
  };
  [[nodiscard]] Result<> validate() const {
    if (command && !argv.empty()) return fail(Errc::invalid_request, "command and argv exclude each other");
    return {};
  }
};

struct Plain {
  std::int8_t tiny = 0;
  std::uint32_t word = 0;
};

}  // namespace

template <>
struct EnumNames<Mode> {
  static constexpr std::string_view kSchemaName = "Mode";
  static constexpr std::array values{EnumName{Mode::wait, "wait"}, EnumName{Mode::stream, "stream"}};
};

template <>
struct Schema<Plain> {
  static constexpr auto fields = std::tuple{field("tiny", &Plain::tiny, ""), field("word", &Plain::word, "")};
};

namespace {

TEST(Schema, DecodesEveryKindOfField) {
  const auto start = decode<Start>(R"({"id":"a.b-1","argv":["x","y"],"mode":"stream","env":{"A":"1","B":null},
      "secret_env":{"T":"t"},"tty":{"cols":80},"sizes":[{"cols":1,"rows":2},{"cols":3}],"kill_grace_ms":5,
      "offset":18446744073709551615,"idle":null,"eof":true,"extra":{"deep":[1,2.5]}})");
  ASSERT_TRUE(start) << start.error().message;
  EXPECT_EQ(start->argv, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(start->mode, Mode::stream);
  EXPECT_EQ(start->env.at("A"), "1");
  EXPECT_EQ(start->env.at("B"), std::nullopt);
  EXPECT_EQ(start->tty->cols, 80);
  EXPECT_EQ(start->tty->rows, std::nullopt);
  EXPECT_EQ(start->sizes.at(0).rows, 2);
  EXPECT_EQ(start->grace, std::chrono::milliseconds{5});
  EXPECT_EQ(start->offset, ~std::uint64_t{0});
  ASSERT_TRUE(start->idle.has_value());
  EXPECT_FALSE(start->idle->has_value());
  EXPECT_TRUE(start->eof);
  EXPECT_EQ(start->extra["deep"][1], 2.5);
}

TEST(Schema, KeepsTheInitialValuesOfOptionalFields) {
  const auto start = decode<Start>(R"({"id":"x","mode":null,"kill_grace_ms":null,"tty":null})");
  ASSERT_TRUE(start) << start.error().message;
  EXPECT_EQ(start->mode, Mode::wait);
  EXPECT_EQ(start->grace, std::chrono::milliseconds{2000});
  EXPECT_FALSE(start->tty);
  EXPECT_FALSE(start->idle);
}

struct Bad {
  std::string text;
  Errc code;
  std::string field;
};

TEST(Schema, ANumberWithoutAFractionIsAnIntegerHoweverItIsWritten) {
  const auto start = decode<Start>(R"({"id":"x","tty":{"cols":80.0},"kill_grace_ms":1e3,"offset":5.0,"idle":-7.0})");
  ASSERT_TRUE(start) << start.error().message;
  EXPECT_EQ(start->tty->cols, 80);
  EXPECT_EQ(start->grace.count(), 1000);
  EXPECT_EQ(start->offset, 5U);
  EXPECT_EQ(**start->idle, -7);
}

TEST(Schema, NamesTheInvalidField) {
  const std::vector<Bad> cases{
      {R"([])", Errc::invalid_field, ""},
      {R"("x")", Errc::invalid_field, ""},
      {R"(null)", Errc::invalid_field, ""},
      {R"({})", Errc::missing_field, "/id"},
      {R"({"id":null})", Errc::invalid_field, "/id"},
      {R"({"id":1})", Errc::invalid_field, "/id"},
      {R"({"id":""})", Errc::invalid_id, "/id"},
      {R"({"id":"../x"})", Errc::invalid_id, "/id"},
      {R"({"id":"x","commnad":"y"})", Errc::unknown_field, "/commnad"},
      {R"({"id":"x","a/b~c":1})", Errc::unknown_field, "/a~1b~0c"},
      {R"({"id":"x","command":"123456789"})", Errc::invalid_field, "/command"},
      {R"({"id":"x","command":"a\u0000b"})", Errc::invalid_field, "/command"},
      {R"({"id":"x","argv":"y"})", Errc::invalid_field, "/argv"},
      {R"({"id":"x","argv":["a",2]})", Errc::invalid_field, "/argv/1"},
      {R"({"id":"x","argv":["a",null]})", Errc::invalid_field, "/argv/1"},
      {R"({"id":"x","argv":["a","b\u0000"]})", Errc::invalid_field, "/argv/1"},
      {R"({"id":"x","argv":["a","b","c","d"]})", Errc::invalid_field, "/argv"},
      {R"({"id":"x","mode":"fast"})", Errc::invalid_field, "/mode"},
      {R"({"id":"x","mode":0})", Errc::invalid_field, "/mode"},
      {R"({"id":"x","env":[]})", Errc::invalid_field, "/env"},
      {R"({"id":"x","env":{"A":1}})", Errc::invalid_field, "/env/A"},
      {R"({"id":"x","env":{"A=B":"1"}})", Errc::invalid_field, "/env/A=B"},
      {R"({"id":"x","env":{"":"1"}})", Errc::invalid_field, "/env/"},
      {R"({"id":"x","secret_env":{"A":null}})", Errc::invalid_field, "/secret_env/A"},
      {R"({"id":"x","tty":{}})", Errc::missing_field, "/tty/cols"},
      {R"({"id":"x","tty":{"cols":0}})", Errc::invalid_field, "/tty/cols"},
      {R"({"id":"x","tty":{"cols":1001}})", Errc::invalid_field, "/tty/cols"},
      {R"({"id":"x","tty":{"cols":80.5}})", Errc::invalid_field, "/tty/cols"},
      {R"({"id":"x","tty":{"cols":"80"}})", Errc::invalid_field, "/tty/cols"},
      {R"({"id":"x","tty":{"cols":80,"rows":65536}})", Errc::invalid_field, "/tty/rows"},
      {R"({"id":"x","tty":{"cols":80,"rows":-1}})", Errc::invalid_field, "/tty/rows"},
      {R"({"id":"x","tty":{"cols":80,"depth":1}})", Errc::unknown_field, "/tty/depth"},
      {R"({"id":"x","sizes":[{"cols":1},{"cols":true}]})", Errc::invalid_field, "/sizes/1/cols"},
      {R"({"id":"x","kill_grace_ms":-1})", Errc::invalid_field, "/kill_grace_ms"},
      {R"({"id":"x","kill_grace_ms":60001})", Errc::invalid_field, "/kill_grace_ms"},
      {R"({"id":"x","kill_grace_ms":1e300})", Errc::invalid_field, "/kill_grace_ms"},
      {R"({"id":"x","offset":18446744073709551616})", Errc::invalid_field, "/offset"},
      {R"({"id":"x","offset":-1})", Errc::invalid_field, "/offset"},
      {R"({"id":"x","idle":9223372036854775808})", Errc::invalid_field, "/idle"},
      {R"({"id":"x","eof":"true"})", Errc::invalid_field, "/eof"},
      {R"({"id":"x","eof":1})", Errc::invalid_field, "/eof"},
      {R"({"id":"x","command":"a","argv":["b"]})", Errc::invalid_request, ""},
  };
  for (const Bad& bad : cases) {
    const auto start = decode<Start>(bad.text);
    ASSERT_FALSE(start) << bad.text;
    EXPECT_EQ(name(start.error().code), name(bad.code)) << bad.text;
    EXPECT_EQ(start.error().field, bad.field) << bad.text;
    EXPECT_TRUE(start.error().message.starts_with(bad.field.empty() ? "the body: " : bad.field + ": "))
        << start.error().message;
  }
}

TEST(Schema, DoesNotRepeatValuesInItsErrors) {
  for (const std::string text :
       {R"({"id":"hunter2!"})", R"({"id":"x","mode":"hunter2!"})", R"({"id":"x","secret_env":"hunter2!"})",
        R"({"id":"x","command":"hunter2!hunter2!"})"}) {
    const auto start = decode<Start>(text);
    ASSERT_FALSE(start) << text;
    EXPECT_EQ(start.error().message.find("hunter2"), std::string::npos) << start.error().message;
  }
}

TEST(Schema, CollectsUnknownFieldsWhenItIsLenient) {
  std::vector<std::string> ignored;
  const auto start = decode<Start>(R"({"id":"x","new":1,"tty":{"cols":2,"a/b":{}}})", {}, &ignored);
  ASSERT_TRUE(start) << start.error().message;
  EXPECT_EQ(ignored, (std::vector<std::string>{"/tty/a~1b", "/new"}));
  EXPECT_FALSE(decode<Start>(R"({"id":5,"new":1})", {}, &ignored)) << "other errors stay errors";
}

TEST(Schema, HoldsIntegersToTheRangeOfTheirType) {
  EXPECT_EQ(decode<Plain>(R"({"tiny":-128,"word":4294967295})")->word, 4294967295U);
  EXPECT_EQ(decode<Plain>(R"({"tiny":128,"word":0})").error().field, "/tiny");
  EXPECT_EQ(decode<Plain>(R"({"tiny":-129,"word":0})").error().field, "/tiny");
  EXPECT_EQ(decode<Plain>(R"({"tiny":0,"word":4294967296})").error().field, "/word");
  EXPECT_EQ(decode<Plain>(R"({"tiny":0,"word":-1})").error().field, "/word");
}

TEST(Schema, EncodesWithoutWhatIsAbsentOrSecret) {
  Start start;
  start.id = "x\xFF";
  start.secret_env["T"] = "hunter2";
  start.env = {{"A", "\n"}, {"B", std::nullopt}};
  start.idle.emplace();
  start.sizes = {{.cols = 4, .rows = 5}};
  const std::string text = to_json(start);
  EXPECT_EQ(text.find("hunter2"), std::string::npos);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json, nlohmann::json::parse(R"({"id":"x\ufffd","argv":[],"mode":"wait","env":{"A":"\n","B":null},
      "sizes":[{"cols":4,"rows":5}],"kill_grace_ms":2000,"idle":null,"eof":false,"extra":null})"));
}

TEST(Schema, IsDescribedAsJsonSchema) {
  const auto schema = nlohmann::json::parse(json_schema<Start>());
  EXPECT_EQ(schema["type"], "object");
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["required"], nlohmann::json::array({"id"}));
  const auto& members = schema["properties"];
  EXPECT_EQ(members["mode"], nlohmann::json::parse(R"({"title":"Mode","type":"string","enum":["wait","stream"],
                "description":"How to wait","default":"wait"})"));
  EXPECT_EQ(members["kill_grace_ms"]["maximum"], 60000);
  EXPECT_EQ(members["kill_grace_ms"]["default"], 2000);
  EXPECT_EQ(members["tty"]["properties"]["rows"]["maximum"], 65535);
  EXPECT_EQ(members["argv"]["maxItems"], 3);
  EXPECT_EQ(members["argv"]["items"]["type"], "string");
  EXPECT_FALSE(members["argv"].contains("default")) << "a list is not a default that generators can write down";
  EXPECT_EQ(members["secret_env"]["writeOnly"], true);
  EXPECT_EQ(members["env"]["additionalProperties"]["type"], nlohmann::json::array({"string", "null"}));
  EXPECT_EQ(members["offset"]["maximum"], ~std::uint64_t{0});
  EXPECT_EQ(members["id"]["type"], "string");
  EXPECT_EQ(members["idle"]["anyOf"].size(), 2U) << "null is not the same as nothing";
  EXPECT_EQ(members["idle"]["anyOf"][1]["type"], "null");
  EXPECT_EQ(members["extra"], nlohmann::json::parse(R"({"description":"Anything"})"));
}

TEST(ParseJson, RefusesWhatIsNotExactlyOneJsonValue) {
  for (const std::string& text : std::vector<std::string>{"",
                                                          " ",
                                                          "{",
                                                          "}",
                                                          "[1,]",
                                                          "{\"a\":1,}",
                                                          "{a:1}",
                                                          "{'a':1}",
                                                          "nul",
                                                          "NaN",
                                                          "Infinity",
                                                          "-Infinity",
                                                          "01",
                                                          "+1",
                                                          "1.",
                                                          ".5",
                                                          "1e",
                                                          "0x10",
                                                          "1 2",
                                                          "{} {}",
                                                          "[1]x",
                                                          "\"\n\"",
                                                          "\"\xFF\"",
                                                          "\"\\u12\"",
                                                          "\"\\ud800\"",
                                                          "\"\\x\"",
                                                          "1e999",
                                                          "-1e999",
                                                          "// c\n1",
                                                          "/**/1",
                                                          "[1 2]",
                                                          "{\"a\" 1}",
                                                          std::string("1\0", 2),
                                                          std::string("{\"a\":1}\0junk", 12),
                                                          std::string("\0", 1)}) {
    const auto value = parse_json(text);
    ASSERT_FALSE(value) << ::testing::PrintToString(text);
    EXPECT_EQ(value.error().code, Errc::malformed_json);
    EXPECT_NE(value.error().message.find(" at byte "), std::string::npos) << value.error().message;
  }
  EXPECT_NE(parse_json("[1,2,x]").error().message.find("at byte 6"), std::string::npos);
}

TEST(ParseJson, RefusesARepeatedKeyAtAnyDepthAlsoWhenItIsEscapedDifferently) {
  for (const std::string_view text :
       {R"({"a":1,"a":1})", R"([{"b":{"a":1,"c":2,"a":3}}])", R"({"a":1,"\u0061":2})", R"({"":1,"":2})"}) {
    EXPECT_EQ(parse_json(text).error().code, Errc::malformed_json) << text;
  }
  EXPECT_TRUE(parse_json(R"({"a":{"a":[{"a":1},{"a":2}]}})"));
  const JsonLimits lenient{.takes_repeated_keys = true};
  EXPECT_EQ(parse_json(R"({"a":1,"b":2,"a":{"c":[]},"b":[{"a":3,"a":4}],"a":"last"})", lenient),
            nlohmann::json::parse(R"({"a":"last","b":[{"a":4}]})"));
  EXPECT_EQ(parse_json(R"({"a":{"b":1},"a":{"c":2}})", lenient), nlohmann::json::parse(R"({"a":{"c":2}})"));
}

TEST(ParseJson, BoundsNestingAndSize) {
  EXPECT_TRUE(parse_json(std::string(64, '[') + std::string(64, ']')));
  EXPECT_EQ(parse_json(std::string(65, '[') + std::string(65, ']')).error().code, Errc::malformed_json);
  EXPECT_EQ(parse_json(std::string(500'000, '[')).error().code, Errc::malformed_json);
  EXPECT_EQ(parse_json("[1,2,3]", {.max_bytes = 6}).error().code, Errc::payload_too_large);
  EXPECT_TRUE(parse_json("[1,2,3]", {.max_bytes = 7}));
}

TEST(ParseJson, BuildsTheSameValueAsTheLibrary) {
  const std::string_view text =
      R"({"a":[1,-2,3.5,1e3,18446744073709551615,true,false,null,"\u00e9\ud83d\ude00"],"b":{"c":{},"d":[]},"e":[[[]]]})";
  EXPECT_EQ(*parse_json(text), nlohmann::json::parse(text));
  EXPECT_TRUE(parse_json(" 1 ")->is_number_unsigned());
}

}  // namespace
}  // namespace skiff::protocol
