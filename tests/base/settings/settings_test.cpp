#include "base/settings/settings.hpp"

#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skiff {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct Example {
  bool color = false;
  std::string name = "none";
  std::string secret;
  std::string format = "auto";
  std::vector<std::string> hosts{"localhost"};
  std::uint64_t count = 7;
  std::uint64_t size = 64 * 1024;
  std::chrono::milliseconds grace{2'000};
};

class SettingsOf : public ::testing::Test {
 protected:
  Example example;
  SettingsTable table{{
      {"color", "X_COLOR", setting::Switch{&example.color}, "", "Look", "Use colors."},
      {"name", "X_NAME", setting::Text{&example.name}, "NAME", "Look", "What it is called."},
      {"format", "X_FORMAT", setting::Choice{&example.format, {"auto", "json"}}, "FORMAT", "Look", "How it looks."},
      {"", "X_SECRET", setting::Text{&example.secret}, "TEXT", "Look", "Only here."},
      {"secret-number", "", setting::Count{&example.count, 1, 10}, "N", "Limits", "Flag | only."},
      {"host", "X_HOST", setting::List{&example.hosts}, "HOST", "Limits", "Who.", "own name"},
      {"size", "X_SIZE", setting::Size{&example.size, 1024, 1 << 20}, "SIZE", "Limits", "How much."},
      {"grace", "X_GRACE", setting::Duration{&example.grace, 10ms, 1h}, "TIME", "Limits", "How long."},
  }};

  Result<SettingsTable::Arguments> read(std::vector<const char*> arguments) { return table.read_arguments(arguments); }
  std::string error_of(std::vector<const char*> arguments) {
    const auto result = read(std::move(arguments));
    return result ? "" : result.error().message;
  }
  Result<> environment(std::vector<const char*> entries) {
    entries.push_back(nullptr);
    return table.read_environment(entries.data());
  }
};

TEST_F(SettingsOf, FlagsTakeTheirValueFromTheNextWordOrAfterAnEqualsSign) {
  ASSERT_TRUE(read({"--name", "a", "--size=2KiB", "--grace", "5m", "--format=json", "--secret-number", "3"}));
  EXPECT_EQ(example.name, "a");
  EXPECT_EQ(example.size, 2048U);
  EXPECT_EQ(example.grace, 5min);
  EXPECT_EQ(example.format, "json");
  EXPECT_EQ(example.count, 3U);
  // The first equals sign ends the flag; a value may begin with dashes.
  ASSERT_TRUE(read({"--name=a=b"}));
  EXPECT_EQ(example.name, "a=b");
  ASSERT_TRUE(read({"--name", "--size"}));
  EXPECT_EQ(example.name, "--size");
}

TEST(Settings, AChoiceMayAcceptAPrefix) {
  std::string form = "table";
  SettingsTable table{
      {{.flag = "output", .target = setting::Choice{&form, {"table", "path="}}, .value = "FORM", .help = "How."}}};
  const auto read = [&](const char* argument) { return table.read_arguments(std::vector{"--output", argument}); };
  ASSERT_TRUE(read("path={.a}"));
  EXPECT_EQ(form, "path={.a}");
  EXPECT_THAT(read("pat").error().message, HasSubstr("one of table, path="));
}

TEST(Settings, AChoiceThatMayStandAloneTakesItsValueBehindAnEqualsSignOnly) {
  std::string trial = "none";
  SettingsTable table{{{.flag = "dry-run",
                        .target = setting::Choice{&trial, {"none", "client", "server"}, "server"},
                        .value = "HOW",
                        .help = "Try it."}}};
  const auto words = [&](std::vector<const char*> arguments) {
    const auto read = table.read_arguments(arguments, SettingsTable::Words::collected);
    return read ? read->words : std::vector<std::string>{read.error().message};
  };
  EXPECT_THAT(words({"--dry-run", "client"}), ElementsAre("client"));
  EXPECT_EQ(trial, "server");
  EXPECT_THAT(words({"--dry-run=client", "box"}), ElementsAre("box"));
  EXPECT_EQ(trial, "client");
  EXPECT_THAT(table.help(100), HasSubstr("--dry-run[=HOW]"));
}

TEST_F(SettingsOf, CanBeWrittenAsTheArgumentsThatGiveThem) {
  const std::vector<const char*> given{"--no-color", "--name", "-x",   "--host",  "a",
                                       "--host=b",   "--size", "512K", "--grace", "90s"};
  ASSERT_TRUE(read(given));
  std::vector<std::string> written;
  for (const Setting& row : table.rows()) {
    if (row.flag.empty() || row.flag == "format" || row.flag == "secret-number") continue;
    for (std::string& word : as_arguments(row)) written.push_back(std::move(word));
  }
  EXPECT_THAT(written, ElementsAre("--no-color", "--name", "-x", "--host", "a", "--host", "b", "--size", "512KiB",
                                   "--grace", "90s"));
  std::string when = "client";
  const Setting alone{.flag = "dry-run", .target = setting::Choice{&when, {"client", "server"}, "server"}};
  EXPECT_THAT(as_arguments(alone), ElementsAre("--dry-run=client"));
}

TEST(Settings, SuggestTheNearestWord) {
  const std::vector<std::string_view> known{"rm", "describe", "files", ""};
  EXPECT_EQ(nearest_word("descibe", known), "describe");
  EXPECT_EQ(nearest_word("desc", known), "describe");
  EXPECT_EQ(nearest_word("rn", known), "rm");
  EXPECT_EQ(nearest_word("something", known), "");
}

TEST_F(SettingsOf, SwitchesAreTurnedOnAndOff) {
  ASSERT_TRUE(read({"--color"}));
  EXPECT_TRUE(example.color);
  ASSERT_TRUE(read({"--no-color"}));
  EXPECT_FALSE(example.color);
  ASSERT_TRUE(read({"--color=yes"}));
  EXPECT_TRUE(example.color);
  ASSERT_TRUE(read({"--color", "--no-color"}));
  EXPECT_FALSE(example.color);
  EXPECT_THAT(error_of({"--color=maybe"}), HasSubstr("expected true or false"));
  EXPECT_THAT(error_of({"--no-color=true"}), HasSubstr("unknown flag"));
  EXPECT_THAT(error_of({"--no-name"}), HasSubstr("unknown flag --no-name"));
}

TEST_F(SettingsOf, FlagsWinOverVariablesAndVariablesOverDefaults) {
  ASSERT_TRUE(environment({"X_NAME=from-env", "X_SIZE=4K", "PATH=/bin", "X_COLOR=1", "X_UNKNOWN=1", "X_NAMES=no"}));
  EXPECT_EQ(example.name, "from-env");
  EXPECT_EQ(example.size, 4096U);
  EXPECT_TRUE(example.color);
  ASSERT_TRUE(read({"--name", "from-flag"}));
  EXPECT_EQ(example.name, "from-flag");
  EXPECT_EQ(example.size, 4096U);
}

TEST_F(SettingsOf, AnEmptyVariableCountsAsAbsent) {
  ASSERT_TRUE(environment({"X_NAME=", "X_SIZE=", "X_HOST=", "X_COLOR=", "=", "", "X_GRACE"}));
  EXPECT_EQ(example.name, "none");
  EXPECT_EQ(example.size, 65536U);
  EXPECT_THAT(example.hosts, ElementsAre("localhost"));
}

TEST(SettingsList, HoldsNothingButItsWords) {
  std::vector<std::string> into;
  SettingsTable table{
      {{.flag = "animal", .target = setting::List{&into, {"cat", "dog"}}, .value = "NAME", .help = "Which."}}};
  const std::vector<const char*> two{"--animal", "dog", "--animal=cat"};
  EXPECT_TRUE(table.read_arguments(two));
  EXPECT_EQ(into, (std::vector<std::string>{"dog", "cat"}));
  const std::vector<const char*> wrong{"--animal", "do"};
  const auto refused = table.read_arguments(wrong);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("one of cat, dog"), std::string::npos) << refused.error().message;
}

TEST(SettingsList, HoldsNothingButItsWordsFromAVariableEither) {
  std::vector<std::string> into;
  SettingsTable table{{{.flag = "animal",
                        .environment = "X_ANIMAL",
                        .target = setting::List{&into, {"cat", "dog"}},
                        .value = "NAME",
                        .help = "Which."}}};
  const std::array entries{"X_ANIMAL=cat,cow", static_cast<const char*>(nullptr)};
  const auto result = table.read_environment(entries.data());
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message.find("X_ANIMAL"), std::string::npos) << result.error().message;
}

TEST_F(SettingsOf, AListReplacesItsDefaultAndCollectsWhatIsRepeated) {
  ASSERT_TRUE(environment({"X_HOST=a,b,,c,"}));
  EXPECT_THAT(example.hosts, ElementsAre("a", "b", "c"));
  ASSERT_TRUE(read({"--host", "d", "--host=e,f"}));
  EXPECT_THAT(example.hosts, ElementsAre("d", "e,f"));
  EXPECT_THAT(error_of({"--host="}), HasSubstr("--host"));
}

TEST_F(SettingsOf, ArgumentsAfterTwoDashesAreTheWorkload) {
  const auto result = read({"--color", "--", "server", "--color", "--", "-h"});
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->help);
  EXPECT_THAT(result->rest, ElementsAre("server", "--color", "--", "-h"));
}

TEST_F(SettingsOf, HelpHasTwoFlags) {
  for (const char* word : {"--help", "-h"}) {
    const auto result = read({"--color", word, "--nonsense"});
    ASSERT_TRUE(result);
    EXPECT_TRUE(result->help);
  }
}

TEST_F(SettingsOf, AnUnknownFlagIsAnsweredWithTheNearestOne) {
  EXPECT_EQ(error_of({"--grcae", "1s"}), "unknown flag --grcae: did you mean --grace?");
  EXPECT_EQ(error_of({"--hosts", "1"}), "unknown flag --hosts: did you mean --host?");
  EXPECT_EQ(error_of({"--secret", "1"}), "unknown flag --secret: did you mean --secret-number?");
  EXPECT_EQ(error_of({"--frobnicate"}), "unknown flag --frobnicate: see --help");
  EXPECT_THAT(error_of({"--"}), "");
  EXPECT_THAT(error_of({"--=x"}), HasSubstr("unknown flag --"));
}

TEST_F(SettingsOf, AWordWithoutDashesIsRefused) {
  EXPECT_THAT(error_of({"server"}), HasSubstr("unexpected argument \"server\""));
  EXPECT_THAT(error_of({"-x"}), HasSubstr("unexpected argument \"-x\""));
}

TEST_F(SettingsOf, ABadValueIsAnsweredWithFlagAndRange) {
  EXPECT_EQ(error_of({"--secret-number", "11"}), "--secret-number \"11\": expected a number from 1 to 10");
  EXPECT_EQ(error_of({"--secret-number", "0"}), "--secret-number \"0\": expected a number from 1 to 10");
  EXPECT_EQ(error_of({"--size", "1"}), "--size \"1\": expected a size from 1KiB to 1MiB");
  EXPECT_EQ(error_of({"--grace", "2h"}), "--grace \"2h\": expected a time from 10ms to 1h");
  EXPECT_EQ(error_of({"--format", "xml"}), "--format \"xml\": expected one of auto, json");
  EXPECT_EQ(error_of({"--grace"}), "--grace needs a value: a time from 10ms to 1h");
  for (const char* text :
       {"", "-1", "+1", " 1", "1 ", "1.5", "0x1", "1e1", "99999999999999999999", "5X", "5kib", "KiB"}) {
    EXPECT_NE(error_of({"--size", text}), "") << text;
    EXPECT_NE(error_of({"--secret-number", text}), "") << text;
    EXPECT_NE(error_of({"--grace", text}), "") << text;
  }
  // 2^34 GiB is 0 in 64 bits.
  EXPECT_NE(error_of({"--size", "17179869184GiB"}), "");
  EXPECT_NE(error_of({"--secret-number", "3KiB"}), "");
  EXPECT_EQ(example.size, 65536U);
  EXPECT_EQ(example.count, 7U);
}

TEST_F(SettingsOf, ABadVariableIsNamedInTheError) {
  const auto result = environment({"X_GRACE=soon"});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "X_GRACE \"soon\": expected a time from 10ms to 1h");
  EXPECT_EQ(result.error().field, "X_GRACE");
}

TEST(Settings, SecretsComeFromTheEnvironmentAndStayOutOfErrors) {
  std::uint64_t secret = 0;
  SettingsTable table{{{"", "X_PIN", setting::Count{&secret, 1000, 9999}, "N", "G", "Pin."}}};
  const std::vector<const char*> entries{"X_PIN=12345", nullptr};
  const auto result = table.read_environment(entries.data());
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, Not(HasSubstr("12345")));
}

TEST_F(SettingsOf, EveryUnitIsUnderstood) {
  const auto size = [&](const char* text) {
    EXPECT_TRUE(read({"--size", text})) << text;
    return example.size;
  };
  EXPECT_EQ(size("2048"), 2048U);
  EXPECT_EQ(size("2048B"), 2048U);
  EXPECT_EQ(size("2K"), 2048U);
  EXPECT_EQ(size("2KiB"), 2048U);
  EXPECT_EQ(size("1M"), 1048576U);
  EXPECT_EQ(size("1MiB"), 1048576U);
  const auto time = [&](const char* text) {
    EXPECT_TRUE(read({"--grace", text})) << text;
    return example.grace;
  };
  EXPECT_EQ(time("1500"), 1500ms);
  EXPECT_EQ(time("20ms"), 20ms);
  EXPECT_EQ(time("30s"), 30s);
  EXPECT_EQ(time("5m"), 5min);
  EXPECT_EQ(time("1h"), 1h);
}

TEST(Settings, AcceptLettersAndPositionalWords) {
  bool loud = false;
  bool all = false;
  std::string name;
  std::vector<std::string> pairs;
  SettingsTable table{{
      {.flag = "loud", .target = setting::Switch{&loud}, .group = "G", .help = "Loud.", .letter = 'l'},
      {.flag = "all", .target = setting::Switch{&all}, .group = "G", .help = "All.", .letter = 'a'},
      {.flag = "name", .target = setting::Text{&name}, .value = "NAME", .group = "G", .help = "Name.", .letter = 'n'},
      {.flag = "pair", .target = setting::List{&pairs}, .value = "A=B", .group = "G", .help = "Pair.", .letter = 'p'},
  }};
  using Words = SettingsTable::Words;
  const auto read = [&](std::vector<const char*> arguments) {
    return table.read_arguments(arguments, Words::collected);
  };
  const auto given = read({"one", "-la", "-n", "x", "-", "-pA=1", "-p=B=2", "two", "--", "-l", "--"});
  ASSERT_TRUE(given) << given.error().message;
  EXPECT_TRUE(loud && all);
  EXPECT_EQ(name, "x");
  EXPECT_THAT(pairs, ElementsAre("A=1", "B=2"));
  EXPECT_THAT(given->words, ElementsAre("one", "-", "two"));
  EXPECT_TRUE(given->separated);
  EXPECT_THAT(given->rest, ElementsAre("-l", "--"));
  EXPECT_THAT(given->given, ElementsAre("--loud", "--all", "--name", "--pair", "--pair"));
  EXPECT_THAT(read({"--no-loud", "--name=x"})->given, ElementsAre("--no-loud", "--name"));
  EXPECT_THAT(read({"-lny"})->words, ElementsAre());
  EXPECT_EQ(name, "y");
  const auto most =
      table.read_arguments(std::vector<const char*>{"one", "-a", "two", "-x", "--", "--loud"}, Words::collected, 1);
  ASSERT_TRUE(most) << most.error().message;
  EXPECT_THAT(most->words, ElementsAre("one"));
  EXPECT_FALSE(most->separated);
  EXPECT_THAT(most->given, ElementsAre("--all"));
  EXPECT_THAT(most->rest, ElementsAre("two", "-x", "--", "--loud"));
  EXPECT_THAT(read({"-lx"}).error().message, HasSubstr("unknown flag -x"));
  EXPECT_THAT(read({"-n"}).error().message, HasSubstr("-n needs a value"));
  EXPECT_FALSE(table.read_arguments(std::vector<const char*>{"one"}));
  EXPECT_THAT(table.help(100), HasSubstr("  -n, --name NAME"));
}

TEST_F(SettingsOf, CanBeSetFromElsewhere) {
  const auto set = [this](std::string_view flag, std::vector<std::string> values) {
    return table.set(flag, values, "file: " + std::string{flag});
  };
  EXPECT_TRUE(set("size", {"2KiB"}).value());
  EXPECT_EQ(example.size, 2048U);
  EXPECT_TRUE(set("host", {"a", "b"}).value());
  EXPECT_THAT(example.hosts, ElementsAre("a", "b"));
  EXPECT_FALSE(set("nope", {"x"}).value());
  EXPECT_THAT(set("size", {"x"}).error().message, HasSubstr("file: size"));
  EXPECT_FALSE(set("size", {"1KiB", "2KiB"}));
  EXPECT_EQ(example.size, 2048U);
}

TEST_F(SettingsOf, HelpShowsGroupsDefaultsAndVariablesWithinTheWidth) {
  ASSERT_TRUE(read({"--name", "changed"}));
  for (const std::size_t width : {40U, 79U, 80U, 120U}) {
    const std::string help = table.help(width);
    std::istringstream lines{help};
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), width) << line;
    EXPECT_THAT(help, HasSubstr("Look:\n"));
    EXPECT_THAT(help, HasSubstr("\nLimits:\n"));
    EXPECT_THAT(help, HasSubstr("  --size SIZE"));
    EXPECT_THAT(help, HasSubstr("X_SECRET"));
  }
  const std::string help = table.help(120);
  // The default is the value before anything was read.
  EXPECT_THAT(help, HasSubstr("  --name NAME                   What it is called. [default none; X_NAME]\n"));
  EXPECT_THAT(help, HasSubstr("  --color                       Use colors. [X_COLOR]\n"));
  EXPECT_THAT(help, HasSubstr("Who. [repeatable; default own name; X_HOST]\n"));
  EXPECT_THAT(help, HasSubstr("How much. [default 64KiB; X_SIZE]\n"));
  EXPECT_THAT(help, HasSubstr("How long. [default 2s; X_GRACE]\n"));
}

TEST_F(SettingsOf, MarkdownHasOneRowForEachSetting) {
  const std::string text = table.markdown();
  EXPECT_THAT(text, HasSubstr("## Limits\n\n| Flag |"));
  EXPECT_THAT(text, HasSubstr("| `--size` | `X_SIZE` | a size from 1KiB to 1MiB | `64KiB` | How much. |\n"));
  EXPECT_THAT(text, HasSubstr("| `--host` | `X_HOST` | `HOST`, repeatable | own name | Who. |\n"));
  EXPECT_THAT(text, HasSubstr("|  | `X_SECRET` | `TEXT` |  | Only here. |\n"));
  EXPECT_THAT(text, HasSubstr("| Flag \\| only. |\n"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 3 + 3 + 1 + 8 + 2);
}

}  // namespace
}  // namespace skiff
