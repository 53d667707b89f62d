#include "container/cli/parse/foreign_words.hpp"

#include <algorithm>
#include <ranges>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "container/cli/parse/parse.hpp"

namespace skiff::container {
namespace {

auto words_of(std::string_view list) {
  return list | std::views::split(',') | std::views::transform([](auto word) { return std::string_view{word}; });
}

const Command* command_named(std::string_view name) {
  const auto found = std::ranges::find(commands(), name, &Command::name);
  return found == commands().end() ? nullptr : &*found;
}

bool has_flag(const Command& command, std::string_view flag) {
  const auto invocation = command.make();
  Options options;
  const SettingsTable table = table_of(*invocation, options);
  return std::ranges::any_of(table.rows(), [flag](const Setting& row) {
    if (flag.starts_with("--")) return row.flag == flag.substr(2);
    return row.letter == flag.at(1);
  });
}

TEST(ForeignWords, AreOfCommandsThatSkiffHasNot) {
  std::set<std::string_view> seen;
  for (const auto& [word, line] : foreign_commands()) {
    EXPECT_TRUE(seen.insert(word).second) << word;
    EXPECT_EQ(command_named(word), nullptr) << word;
    for (const Command& command : commands()) EXPECT_EQ(std::ranges::count(command.aliases, word), 0) << word;
    EXPECT_EQ(line_for_command(word), line);
  }
  EXPECT_TRUE(line_for_command("ps").empty());
  EXPECT_TRUE(line_for_command("").empty());
}

TEST(ForeignWords, AreOfFlagsThatTheCommandHasNot) {
  for (const ForeignFlag& row : foreign_flags()) {
    for (const std::string_view name : words_of(row.commands)) {
      const Command* const command = command_named(name);
      ASSERT_NE(command, nullptr) << name;
      for (const std::string_view flag : words_of(row.flags)) {
        EXPECT_FALSE(has_flag(*command, flag)) << name << " " << flag;
        EXPECT_EQ(line_for_flag(name, flag), row.line) << name << " " << flag << " is there twice";
      }
    }
    if (row.commands.empty()) {
      for (const std::string_view flag : words_of(row.flags)) {
        for (const Command& command : commands()) EXPECT_FALSE(has_flag(command, flag)) << command.name << " " << flag;
        EXPECT_EQ(line_for_flag({}, flag), row.line);
      }
    }
    EXPECT_LE(row.line.size(), 100U) << row.line;
    EXPECT_FALSE(row.line.ends_with('.')) << row.line;
  }
  EXPECT_TRUE(line_for_flag("ps", "--label").empty());
  EXPECT_TRUE(line_for_flag("ps", "").empty());
  EXPECT_TRUE(line_for_flag("", "-p").empty());
  EXPECT_TRUE(line_for_flag("run", "--pub").empty());
}

/// A line that names a flag names one that there is.
TEST(ForeignWords, NameFlagsThatTheCommandHas) {
  for (const ForeignFlag& row : foreign_flags()) {
    const Command& command = *command_named(row.commands.empty() ? "ps" : *words_of(row.commands).begin());
    for (const auto part : row.line | std::views::split(' ')) {
      std::string_view word{part};
      word = word.substr(0, word.find_first_of(",:"));
      if (word.size() < 2 || !word.starts_with('-')) continue;
      EXPECT_TRUE(has_flag(command, word)) << command.name << ": " << row.line;
    }
  }
}

}  // namespace
}  // namespace skiff::container
