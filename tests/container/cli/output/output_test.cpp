#include "container/cli/output/output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <thread>

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>
#include <nlohmann/json.hpp>

#include "base/unique_fd.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;

TEST(Table, HasColumnsAsWideAsTheirWidestCell) {
  EXPECT_EQ(format_table({{"NAME", "X"}, {"a", "1"}, {"longer", ""}}), "NAME    X\na       1\nlonger\n");
  EXPECT_EQ(format_table({{"\xc3\xbc\xc3\xbc", "|"}, {"abc", "|"}}), "\xc3\xbc\xc3\xbc   |\nabc  |\n");
  const auto green = [](std::size_t row, std::size_t column) -> std::string_view {
    return row == 0 && column == 0 ? "\033[32m" : "";
  };
  EXPECT_EQ(format_table({{"ok", "|"}, {"abc", "|"}}, green), "\033[32mok\033[0m   |\nabc  |\n");
  EXPECT_EQ(format_table({}), "");
}

TEST(Table, ShowsWhatWouldControlTheTerminal) {
  EXPECT_EQ(format_table({{"\033[2J", "|"}, {"abc", "|"}}), "\\x1b[2J  |\nabc      |\n");
  EXPECT_EQ(format_table({{"a\r\nNAME\tb", "|"}}), "a\\x0d\\x0aNAME\\x09b  |\n");
}

TEST(Yaml, IsReadBackAsWhatItWas) {
  const json value{{"text", "plain"},     {"number", 5},     {"as_text", "5"},
                   {"empty", ""},         {"none", nullptr}, {"yes", "yes"},
                   {"null_text", "null"}, {"colon", "a: b"}, {"list", {1, "two", json::object()}},
                   {"line", "a\nb"},      {"dash", "- x"},   {"on", true},
                   {"star", "*x"}};
  const YAML::Node read = YAML::Load(format_yaml(value));
  EXPECT_EQ(read["text"].Scalar(), "plain");
  EXPECT_EQ(read["number"].as<int>(), 5);
  EXPECT_EQ(read["as_text"].Scalar(), "5");
  EXPECT_EQ(read["as_text"].Tag(), "!") << "quoted, so that it stays a text";
  EXPECT_EQ(read["empty"].Scalar(), "");
  EXPECT_TRUE(read["none"].IsNull());
  for (const char* key : {"yes", "null_text"}) EXPECT_EQ(read[key].Tag(), "!") << key;
  EXPECT_EQ(read["colon"].Scalar(), "a: b");
  EXPECT_EQ(read["dash"].Scalar(), "- x");
  EXPECT_EQ(read["star"].Scalar(), "*x");
  EXPECT_EQ(read["line"].Scalar(), "a\nb");
  EXPECT_EQ(read["list"][1].Scalar(), "two");
  EXPECT_TRUE(read["on"].as<bool>());
}

TEST(Json, RepairsWhatIsNoText) {
  EXPECT_EQ(format_json({{"a", "\xff"}}), "{\n  \"a\": \"\xef\xbf\xbd\"\n}\n");
}

TEST(Json, EscapesWhatWouldControlTheTerminal) {
  EXPECT_EQ(format_json({{"a", "\033\x7f\xc2\x9b\xe2\x80\xae\xc3\xbc"}}),
            "{\n  \"a\": \"\\u001b\\u007f\\u009b\\u202e\xc3\xbc\"\n}\n");
}

TEST(Yaml, EscapesWhatWouldControlTheTerminal) {
  const json value{{"a\xe2\x80\xae", "b\033]0;x\007"}, {"c", "d\x7f\xc2\x9b"}, {"e", "f\xe2\x81\xa6"}};
  const std::string text = format_yaml(value);
  for (const std::string_view raw : {"\033", "\007", "\x7f", "\xc2\x9b", "\xe2\x80\xae", "\xe2\x81\xa6"}) {
    EXPECT_FALSE(text.contains(raw)) << text;
  }
  const YAML::Node read = YAML::Load(text);
  EXPECT_EQ(read["a\xe2\x80\xae"].Scalar(), "b\033]0;x\007") << text;
  EXPECT_EQ(read["c"].Scalar(), "d\x7f\xc2\x9b") << text;
  EXPECT_EQ(read["e"].Scalar(), "f\xe2\x81\xa6") << text;
}

TEST(Say, KeepsLinesAndIndentsThem) {
  ::testing::internal::CaptureStderr();
  say("the setup failed:\none\nskiff: all is well\033[1A\n    deep\n\n");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "skiff: the setup failed:\n  one\n  skiff: all is well\\x1b[1A\n    deep\n");
}

TEST(WriteAll, WaitsForRoomInANonBlockingPipe) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd from{ends[0]};
  UniqueFd to{ends[1]};
  ASSERT_EQ(::fcntl(to.get(), F_SETFL, O_NONBLOCK), 0);
  const std::string bytes(1'000'000, 'x');
  std::size_t read = 0;
  std::thread reader{[&] {
    std::array<char, 10'000> block{};
    for (ssize_t got = 1; got > 0; read += static_cast<std::size_t>(got)) {
      got = ::read(from.get(), block.data(), block.size());
      ASSERT_GE(got, 0);
    }
  }};
  EXPECT_EQ(write_all(to.get(), bytes), 0);
  to.reset();
  reader.join();
  EXPECT_EQ(read, bytes.size());
}

TEST(Age, IsInTheLargestUnitOfWhichThereAreTwo) {
  constexpr long long kBegan = 1'767'225'600'042;  // 2026-01-01T00:00:00.042Z
  EXPECT_EQ(unix_ms("2026-01-01T00:00:00.042Z"), kBegan);
  EXPECT_EQ(unix_ms("2026-01-01T00:00:00Z"), kBegan - 42);
  EXPECT_EQ(unix_ms("2026-01-01T00:00:00.5Z"), kBegan + 458);
  EXPECT_EQ(unix_ms("yesterday"), -1);
  EXPECT_EQ(unix_ms("2026-01-01T00:00:00"), -1);
  const auto age = [](long long seconds) { return format_age("2026-01-01T00:00:00.042Z", kBegan + seconds * 1000); };
  EXPECT_EQ(age(0), "0s");
  EXPECT_EQ(age(119), "119s");
  EXPECT_EQ(age(120), "2m");
  EXPECT_EQ(age(7199), "119m");
  EXPECT_EQ(age(7200), "2h");
  EXPECT_EQ(age(3 * 86'400), "3d");
  EXPECT_EQ(age(-5), "0s") << "clocks differ";
  EXPECT_EQ(format_age("nonsense", kBegan), "-");
}

TEST(Size, IsShort) {
  EXPECT_EQ(format_size(0), "0B");
  EXPECT_EQ(format_size(1023), "1023B");
  EXPECT_EQ(format_size(1024), "1.0KiB");
  EXPECT_EQ(format_size(150 * 1024), "150KiB");
  EXPECT_EQ(format_size(5'000'000'000), "4.7GiB");
}

}  // namespace
}  // namespace skiff::container
