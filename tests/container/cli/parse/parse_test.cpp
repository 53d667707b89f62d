#include "container/cli/parse/parse.hpp"

#include <array>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "base/variables.hpp"
#include "tests/support/temporary_directory.hpp"

namespace skiff::container {
namespace {

Result<Parsed> parse_words(std::vector<const char*> words, std::vector<const char*> environment = {}) {
  environment.push_back("SKIFF_CONFIG=/dev/null");
  environment.push_back(nullptr);
  return parse(words, environment.data());
}

TEST(CommandTable, HasEachNameOnceAndHelpThatFitsALine) {
  std::set<std::string_view> names;
  for (const Command& command : commands()) {
    EXPECT_TRUE(names.insert(command.name).second) << command.name;
    EXPECT_LE(command.summary.size(), 75U) << command.name;
    EXPECT_FALSE(command.summary.ends_with('.')) << command.name;
    const std::string help = command_help(command, 100);
    EXPECT_TRUE(help.starts_with("usage: skiff " + std::string{command.name})) << help;
  }
}

TEST(CommandTable, HasEachHeadingOnceInTheHelpOfACommand) {
  for (const Command& command : commands()) {
    std::set<std::string> headings;
    std::istringstream lines{command_help(command, 100)};
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with(' ') && line.ends_with(':')) {
        EXPECT_TRUE(headings.insert(line).second) << command.name << ": " << line;
      }
    }
  }
}

TEST(CommandTable, HasNoFlagTwiceInOneCommand) {
  for (const Command& command : commands()) {
    const auto invocation = command.make();
    Options options;
    std::set<std::string_view> flags;
    std::set<char> letters;
    const SettingsTable table = table_of(*invocation, options);
    for (const Setting& row : table.rows()) {
      // Without a flag it comes from the environment alone.
      if (!row.flag.empty()) EXPECT_TRUE(flags.insert(row.flag).second) << command.name << " --" << row.flag;
      if (row.letter != 0) EXPECT_TRUE(letters.insert(row.letter).second) << command.name << " -" << row.letter;
      EXPECT_NE(row.letter, 'h') << command.name;
    }
  }
}

TEST(CommandTable, LetsOnlyTheLastWordRepeatAndNoRequiredOneFollowAnOptionalOne) {
  for (const Command& command : commands()) {
    bool optional = false;
    for (std::size_t i = 0; i < command.words.size(); ++i) {
      EXPECT_TRUE(!command.words[i].repeated || i + 1 == command.words.size()) << command.name;
      EXPECT_TRUE(!optional || command.words[i].optional) << command.name;
      optional = command.words[i].optional;
    }
  }
}

TEST(Parse, FindsTheCommandItsWordsAndWhatFollows) {
  const auto parsed = parse_words({"exec", "-it", "box", "--cwd=sub", "--", "ls", "-l", "--"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->command->name, "exec");
  EXPECT_EQ(parsed->arguments.words, std::vector<std::string>{"box"});
  EXPECT_EQ(parsed->arguments.rest, (std::vector<std::string>{"ls", "-l", "--"}));
  EXPECT_EQ(parse_words({"files", "ls", "box"})->command->name, "files ls");
  EXPECT_EQ(parse_words({"mcp", "config", "cursor"})->command->name, "mcp config");
  EXPECT_EQ(parse_words({"mcp", "box"})->command->name, "mcp");
  EXPECT_EQ(parse_words({"mcp", "--", "config"})->arguments.words, std::vector<std::string>{"config"});
}

TEST(Parse, TakesACommandWithoutTheDashesAsDockerDoes) {
  const auto rest = [](std::vector<const char*> words, std::vector<std::string> before) {
    const auto parsed = parse_words(std::move(words));
    EXPECT_TRUE(parsed) << parsed.error().message;
    if (!parsed) return std::vector<std::string>{};
    EXPECT_FALSE(parsed->help);
    EXPECT_EQ(parsed->arguments.words, before);
    return parsed->arguments.rest;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(rest({"exec", "box", "ls", "-l"}, {"box"}), (Words{"ls", "-l"}));
  EXPECT_EQ(rest({"exec", "-it", "box", "--cwd", "sub", "ls", "--help", "--", "x"}, {"box"}),
            (Words{"ls", "--help", "--", "x"}));
  EXPECT_EQ(rest({"exec", "box", "tool", "--config", "/no/such/file"}, {"box"}),
            (Words{"tool", "--config", "/no/such/file"}));
  EXPECT_EQ(rest({"run", "python:3.12", "python", "-c", "1"}, {"python:3.12"}), (Words{"python", "-c", "1"}));
  EXPECT_TRUE(parse_words({"exec", "box", "--help"})->help);
  EXPECT_TRUE(parse_words({"exec", "--help", "box", "ls"})->help);
}

TEST(CommandTable, HasTheVariablesThatBothProgramsKnow) {
  // Whatever command has them: a shell has those of all.
  std::set<std::string_view> there{"SKIFF_ENGINE", "SKIFF_KUBECONFIG_DATA"};
  for (const Command& command : commands()) {
    const auto invocation = command.make();
    Options options;
    for (const Setting& row : table_of(*invocation, options).rows()) {
      if (!row.environment.empty()) there.insert(row.environment);
    }
  }
  const auto known = variables_of(Program::launcher);
  EXPECT_EQ(there, (std::set<std::string_view>{known.begin(), known.end()}));
}

TEST(Parse, TakesFlagsOfEveryCommandBeforeItsNameToo) {
  const auto parsed = parse_words({"-n", "prod", "--output=json", "ps", "-n", "test", "--everyone"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->command->name, "ps");
  EXPECT_EQ(parsed->options.access.namespace_name, "test") << "the last one counts, as always";
  EXPECT_EQ(parsed->options.output, "json");
  EXPECT_EQ(parse_words({"-q", "files", "ls", "box"})->command->name, "files ls");
  const auto command = parse_words({"-n", "prod", "exec", "box", "ls", "-n", "x"});
  EXPECT_EQ(command->options.access.namespace_name, "prod");
  EXPECT_EQ(command->arguments.rest, (std::vector<std::string>{"ls", "-n", "x"}));
  EXPECT_TRUE(parse_words({"-n", "prod", "up", "--help"})->help);
  EXPECT_EQ(parse_words({"-n", "prod", "--help"})->command, nullptr);
  const auto message = [](std::vector<const char*> words) { return parse_words(std::move(words)).error().message; };
  EXPECT_NE(message({"--image", "x", "up"}).find("only flags of every command may stand before the command"),
            std::string::npos);
  EXPECT_NE(message({"-n", "prod"}).find("the command is missing"), std::string::npos);
  EXPECT_NE(message({"-n", "prod", "pss"}).find("no command \"pss\": did you mean \"ps\"?"), std::string::npos);
}

TEST(Parse, KnowsTheNamesThatKubectlAndDockerHave) {
  EXPECT_EQ(parse_words({"delete", "box"})->command->name, "rm");
  EXPECT_EQ(parse_words({"get"})->command->name, "ps");
  EXPECT_EQ(parse_words({"ls"})->command->name, "ps");
  EXPECT_EQ(parse_words({"port-forward", "box", "80"})->command->name, "forward");
  std::set<std::string_view> names;
  for (const Command& command : commands()) {
    for (const std::string_view alias : command.aliases) EXPECT_TRUE(names.insert(alias).second) << alias;
  }
  for (const Command& command : commands()) EXPECT_FALSE(names.contains(command.name)) << command.name;
  EXPECT_NE(overview().find("delete (rm)"), std::string::npos);
}

TEST(Parse, TellsTheNearestCommand) {
  const auto message = [](std::vector<const char*> words) { return parse_words(std::move(words)).error().message; };
  EXPECT_NE(message({"delet", "box"}).find("did you mean \"delete\"?"), std::string::npos);
  EXPECT_NE(message({"descibe", "box"}).find("did you mean \"describe\"?"), std::string::npos);
  EXPECT_NE(message({"files", "lss"}).find("there are: files ls, files cat, files write"), std::string::npos);
  EXPECT_EQ(message({"frobnicate"}).find("did you mean"), std::string::npos);
}

TEST(Parse, TellsWhatOthersCallDifferently) {
  const auto message = [](std::vector<const char*> words) { return parse_words(std::move(words)).error().message; };
  EXPECT_NE(message({"restart", "box"}).find("Here it is: skiff stop NAME"), std::string::npos);
  EXPECT_NE(message({"sh", "box"}).find("Here it is: skiff shell NAME"), std::string::npos);
  EXPECT_NE(message({"help", "nosuch"}).find("there is no command \"nosuch\""), std::string::npos);
}

TEST(Parse, TellsWhichFlagIsMeantByThatOfOthers) {
  const auto message = [](std::vector<const char*> words) { return parse_words(std::move(words)).error().message; };
  EXPECT_EQ(message({"ps", "--format", "json"}),
            "unknown flag --format: use -o json, -o name, -o wide, or -o jsonpath='{.items[*].name}'");
  EXPECT_TRUE(message({"get", "pods", "-f", "x"}).starts_with("unknown flag -f: use --label"));
  EXPECT_TRUE(message({"run", "-dp", "80:80", "nginx"}).starts_with("unknown flag -p: use --port"));
  EXPECT_TRUE(message({"exec", "box", "-c", "main", "ls"}).contains("omit it"));
  EXPECT_TRUE(message({"ps", "--formt", "json"}).starts_with("unknown flag --formt")) << "a typing error is one";
  EXPECT_TRUE(message({"ps", "-p"}).contains("see --help")) << "of another command";
  EXPECT_EQ(parse_words({"exec", "box", "ls", "-c"})->arguments.rest, (std::vector<std::string>{"ls", "-c"}));
}

TEST(Parse, ShowsItsVersionByDockersLetterAlone) {
  EXPECT_EQ(parse_words({"-v"})->command->name, "version");
  EXPECT_FALSE(parse_words({"-v", "ps"}));
}

TEST(Parse, TellsHowRequestsAreSeenToWhoWantsMoreWords) {
  const auto message = [](std::vector<const char*> words) { return parse_words(std::move(words)).error().message; };
  for (const char* flag : {"-v=6", "-v6", "--v=6", "--verbose"}) {
    EXPECT_TRUE(message({"ps", flag}).contains(": use --log-requests")) << flag;
    EXPECT_TRUE(message({flag, "ps"}).contains(": use --log-requests")) << flag;
  }
  EXPECT_TRUE(message({"run", "-v", "/a:/b", "alpine", "ls"}).contains("--volume")) << "docker's is another one";
  EXPECT_TRUE(parse_words({"--log-requests", "ps"})->options.log_requests);
}

TEST(Parse, KnowsTheUserAndTheDirectoryOfACommand) {
  EXPECT_TRUE(parse_words({"exec", "-u", "root", "--workdir", "/srv", "box", "ls"}));
  EXPECT_TRUE(parse_words({"exec", "--user=1000:1000", "-w", "/srv", "box", "ls"}));
  EXPECT_TRUE(parse_words({"run", "-u", "1000", "--workdir", "/srv", "-w", "sub", "alpine", "ls"}));
}

TEST(Parse, KnowsTheFirstSandboxThatIsNamed) {
  const std::vector<std::pair<std::vector<const char*>, std::string>> cases{{{"exec", "demo", "--", "ls"}, "demo"},
                                                                            {{"cp", "file", "demo:dir"}, "demo"},
                                                                            {{"cp", "demo:dir", "."}, "demo"},
                                                                            {{"rm", "one", "two"}, "one"},
                                                                            {{"ps"}, ""},
                                                                            {{"exec", "pod/demo", "--", "ls"}, "demo"},
                                                                            {{"doctor"}, ""}};
  for (const auto& [words, sandbox] : cases) {
    const auto parsed = parse_words(words);
    ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
    EXPECT_EQ(parsed->options.sandbox, sandbox) << words.front();
  }
}

TEST(Parse, LeavesKindsOut) {
  using Words = std::vector<std::string>;
  const auto words = [](std::vector<const char*> typed) {
    auto parsed = parse_words(std::move(typed));
    return parsed ? parsed->arguments.words : Words{parsed.error().message};
  };
  EXPECT_EQ(words({"get", "pods"}), Words{});
  EXPECT_EQ(words({"get", "pod", "web"}), Words{"web"});
  for (const char* all : {"pod", "po", "sandbox", "all"}) EXPECT_EQ(words({"get", all}), Words{}) << all;
  EXPECT_EQ(words({"get", "pod/all"}), Words{"all"});
  EXPECT_EQ(words({"rm", "all"}), Words{"all"}) << "that is a name, and nothing more is removed";
  EXPECT_EQ(words({"port-forward", "svc/web", "80"}), (Words{"web", "80"}));
  EXPECT_EQ(words({"rm", "svc/web"}), Words{"svc/web"});
  EXPECT_EQ(words({"delete", "pods", "web", "pod/other"}), (Words{"web", "other"}));
  EXPECT_EQ(words({"describe", "pod"}), Words{"pod"}) << "that is a name";
  EXPECT_EQ(words({"exec", "pod/web", "--", "pod/x"}), Words{"web"});
  EXPECT_EQ(words({"rm", "claim/web"}), Words{"claim/web"});
  EXPECT_EQ(words({"top", "pod", "web"}), Words{"web"});
  EXPECT_EQ(words({"logs", "pod", "web"}), (Words{"pod", "web"})) << "a sandbox and a command";
  EXPECT_EQ(words({"top", "pod/pods"}), Words{"pods"});
  EXPECT_EQ(words({"top", "pod"}), Words{"pod"});
  EXPECT_NE(words({"top", "pods"}).front().find("skiff top NAME (skiff ps lists them)"), std::string::npos);
}

TEST(Parse, NamesNoClusterToTheDriverLocal) {
  const auto refused = parse_words({"ps", "--context", "prod", "--driver", "local"});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("--context names a cluster"), std::string::npos);
  EXPECT_TRUE(parse_words({"ps", "--context", "prod"}));
}

TEST(Parse, TellsWhatIsMissingOrTooMuch) {
  const auto message = [](std::vector<const char*> words) { return parse_words(std::move(words)).error().message; };
  EXPECT_NE(message({"shell"}).find("NAME is missing"), std::string::npos);
  EXPECT_NE(message({"exec", "box"}).find("the command to run is missing"), std::string::npos);
  EXPECT_NE(message({"exec", "box", "--"}).find("the command to run is missing"), std::string::npos);
  EXPECT_NE(message({"doctor", "box"}).find("unexpected argument \"box\""), std::string::npos);
  EXPECT_NE(message({"doctor", "--", "-x"}).find("unexpected argument \"-x\""), std::string::npos);
  EXPECT_NE(message({"upp"}).find("no command \"upp\""), std::string::npos);
  EXPECT_NE(message({"files"}).find("no command \"files\""), std::string::npos);
  EXPECT_NE(message({"ps", "-z"}).find("-z"), std::string::npos);
  EXPECT_NE(message({"ps", "-o", "xml"}).find("one of table, json, yaml, name, wide, jsonpath="), std::string::npos);
}

TEST(Parse, TakesWordsBehindTwoDashesAsTheyAre) {
  const auto parsed = parse_words({"cp", "-q", "--", "-x", "--help", "box:-y"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_FALSE(parsed->help);
  EXPECT_EQ(parsed->arguments.words, (std::vector<std::string>{"-x", "--help", "box:-y"}));
  EXPECT_TRUE(parsed->arguments.rest.empty());
  EXPECT_EQ(parse_words({"files", "cat", "box", "--", "--quiet"})->arguments.words.back(), "--quiet");
}

TEST(Parse, TakesTheFileThenVariablesThenFlags) {
  const test::TemporaryDirectory directory;
  const std::string file = directory.path() / "config.yaml";
  std::ofstream{file} << "output: json\nowner: from-file\nttl: 1h\n";
  const std::string variable = "SKIFF_CONFIG=" + file;
  const auto parsed = [&](std::vector<const char*> words, const char* more) {
    const std::array<const char*, 3> environment{variable.c_str(), more, nullptr};
    return parse(words, environment.data());
  };
  EXPECT_EQ(parsed({"ps"}, nullptr)->options.output, "json");
  EXPECT_EQ(parsed({"ps"}, nullptr)->options.owner, "from-file");
  EXPECT_EQ(parsed({"ps"}, "SKIFF_OUTPUT=yaml")->options.output, "yaml");
  EXPECT_EQ(parsed({"ps", "-oname"}, "SKIFF_OUTPUT=yaml")->options.output, "name");
  const std::array<const char*, 1> none{nullptr};
  const std::vector<const char*> words{"ps", "--config", file.c_str()};
  EXPECT_EQ(parse(words, none.data())->options.output, "json");
}

TEST(Parse, TakesWhatTheFileSaysOfNewSandboxesOnlyWhereTheyAreMade) {
  const test::TemporaryDirectory directory;
  const std::string file = directory.path() / "config.yaml";
  std::ofstream{file} << "label: [team=a]\nttl: 2h\nnetwork: dns\ntimeout: 5s\n";
  const std::string variable = "SKIFF_CONFIG=" + file;
  const std::array<const char*, 2> environment{variable.c_str(), nullptr};
  // The value of the flag when the command line does not set it.
  const auto value = [&](const std::vector<const char*>& words, std::string_view flag) -> std::string {
    auto parsed = parse(words, environment.data());
    if (!parsed) return parsed.error().message;
    for (const Setting& row : parsed->invocation->rows()) {
      if (row.flag != flag) continue;
      if (const auto* list = std::get_if<setting::List>(&row.target))
        return list->into->empty() ? "" : list->into->front();
      if (const auto* time = std::get_if<setting::Duration>(&row.target)) return std::to_string(time->into->count());
      if (const auto* text = std::get_if<setting::Text>(&row.target)) return *text->into;
    }
    return "no such flag";
  };
  for (const char* command : {"up", "manifest"}) {
    EXPECT_EQ(value({command, "box"}, "label"), "team=a");
    EXPECT_EQ(value({command, "box"}, "ttl"), "7200000");
    EXPECT_EQ(value({command, "box"}, "network"), "dns");
  }
  EXPECT_EQ(value({"ps"}, "label"), "") << "it would hide all others";
  EXPECT_EQ(value({"extend", "box"}, "ttl"), "0");
  EXPECT_EQ(value({"token", "box"}, "ttl"), "3600000") << "its own default";
  EXPECT_EQ(value({"network", "box"}, "network"), "") << "it would change what it is asked to show";
  EXPECT_EQ(value({"exec", "box", "--", "ls"}, "timeout"), "5000") << "no matter of new sandboxes";
  EXPECT_EQ(value({"pool", "create", "warm"}, "network"), "dns");
  EXPECT_EQ(value({"pool", "create", "warm"}, "ttl"), "no such flag") << "a lease begins when a sandbox is taken";
}

TEST(Parse, RefusesKeysOfTheFileThatNoCommandHas) {
  const test::TemporaryDirectory directory;
  const std::string file = directory.path() / "config.yaml";
  std::ofstream{file} << "outputs: json\n";
  const auto parsed = parse_words({"ps", "--config", file.c_str()});
  ASSERT_FALSE(parsed);
  EXPECT_NE(parsed.error().message.find("--outputs"), std::string::npos);
}

TEST(Parse, GivesHelpAlsoWhereSomethingIsWrong) {
  EXPECT_TRUE(parse_words({})->help);
  EXPECT_TRUE(parse_words({"--help"})->help);
  EXPECT_EQ(parse_words({"help", "files", "ls"})->command->name, "files ls");
  EXPECT_TRUE(parse_words({"up", "--help"}, {"SKIFF_OUTPUT=nonsense"})->help);
  EXPECT_FALSE(parse_words({"exec", "box", "--", "ls", "--help"})->help);
  EXPECT_EQ(parse_words({"--version"})->command->name, "version");
}

TEST(Overview, HasEachGroupOnce) {
  std::set<std::string_view> groups;
  std::string_view group;
  for (const Command& command : commands()) {
    if (command.group == group) continue;
    group = command.group;
    EXPECT_TRUE(groups.insert(group).second) << group << " begins again with " << command.name;
  }
}

TEST(Overview, ListsWhatIsForPeople) {
  const std::string text = overview();
  for (const Command& command : commands()) {
    EXPECT_EQ(text.find("  " + std::string{command.name} + " ") != std::string::npos, !command.group.empty())
        << command.name;
  }
  EXPECT_NE(text.find("125"), std::string::npos);
}

}  // namespace
}  // namespace skiff::container
