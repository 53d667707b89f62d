#include "runtime/settings.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/variables.hpp"
#include "tests/support/page.hpp"

namespace skiff::runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const Surroundings kHere{
    .is_init = false, .host_name = "pod-7", .working_directory = "/home/me", .has_workspace = false};

Result<Settings> settings_from(std::vector<const char*> arguments, std::vector<const char*> environment = {},
                               const Surroundings& surroundings = kHere) {
  environment.push_back(nullptr);
  return read_settings(arguments, environment.data(), surroundings);
}

std::string settings_refusal(std::vector<const char*> arguments, std::vector<const char*> environment = {}) {
  const auto settings = settings_from(std::move(arguments), std::move(environment));
  return settings ? "" : settings.error().message;
}

TEST(SkiffdSettings, TakeTheRootOfTheReplacedRuntime) {
  Surroundings here = kHere;
  here.base_dir = "/app";
  EXPECT_EQ(settings_from({"--dialect", "python-runtime=:1"}, {}, here)->root, "/app");
  EXPECT_EQ(settings_from({"--dialect", "python-runtime", "--root", "/mine"}, {}, here)->root, "/mine");
  EXPECT_EQ(settings_from({}, {"SKIFF_DIALECT=e2b,python-runtime"}, here)->root, "/app");
  EXPECT_EQ(settings_from({}, {}, here)->root, "/home/me") << "nobody else has a SANDBOX_BASE_DIR";
}

TEST(SkiffdSettings, HaveDefaultsThatFitTheirSurroundings) {
  const auto plain = settings_from({});
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_THAT(plain->listen, ElementsAre("127.0.0.1:7070"));
  EXPECT_EQ(plain->root, "/home/me");
  EXPECT_EQ(plain->sandbox_id, "pod-7");
  EXPECT_EQ(plain->data_dir, "");
  EXPECT_FALSE(plain->help);

  Surroundings pod = kHere;
  pod.is_init = true;
  pod.has_workspace = true;
  const auto in_pod = settings_from({}, {}, pod);
  ASSERT_TRUE(in_pod);
  EXPECT_THAT(in_pod->listen, ElementsAre("[::]:7070"));
  EXPECT_EQ(in_pod->root, "/workspace");
}

TEST(SkiffdSettings, AreReadFromVariablesAndFlags) {
  const auto settings = settings_from(
      {"--listen", "0.0.0.0:0", "--listen=unix:/run/skiff.sock", "--root", "sub/dir", "--data-dir", "/data",
       "--kill-grace", "5s", "--keep-bytes=1MiB", "--print-token", "--", "server", "--port", "80"},
      {"SKIFF_LISTEN=1.2.3.4:5", "SKIFF_SANDBOX_ID=box-1", "SKIFF_TOKEN=secret", "SKIFF_KILL_GRACE=7s",
       "SKIFF_ENV_DENY=AWS_*,SECRET", "SKIFF_MAX_SESSIONS=5", "SKIFF_PUBLIC_KEY=pem", "SKIFF_PUBLIC_KEY_FILE=a,b"});
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_THAT(settings->listen, ElementsAre("0.0.0.0:0", "unix:/run/skiff.sock"));
  EXPECT_EQ(settings->root, "/home/me/sub/dir");
  EXPECT_EQ(settings->data_dir, "/data");
  EXPECT_EQ(settings->kill_grace, 5s);
  EXPECT_EQ(settings->keep_bytes, 1048576U);
  EXPECT_TRUE(settings->print_token);
  EXPECT_THAT(settings->workload, ElementsAre("server", "--port", "80"));
  EXPECT_EQ(settings->sandbox_id, "box-1");
  EXPECT_EQ(settings->token, "secret");
  EXPECT_THAT(settings->env_deny, ElementsAre("AWS_*", "SECRET"));
  EXPECT_EQ(settings->max_sessions, 5U);
  EXPECT_EQ(settings->public_key_pem, "pem");
  EXPECT_THAT(settings->public_key_files, ElementsAre("a", "b"));
}

TEST(SkiffdSettings, IgnoreVariablesOfAServiceNamedSkiff) {
  EXPECT_EQ(settings_refusal({}, {"SKIFF_PORT=tcp://10.96.1.1:7070", "SKIFF_SERVICE_HOST=10.96.1.1",
                                  "SKIFF_SERVICE_PORT=7070", "SKIFF_PORT_7070_TCP=tcp://10.96.1.1:7070",
                                  "SKIFF_PORT_7070_TCP_PROTO=tcp", "SKIFF_SERVICE_PORT_HTTP=7070"}),
            "");
}

TEST(SkiffdSettings, MatchTheListOfKnownVariables) {
  std::vector<std::string> there;
  const std::string table = settings_markdown();
  for (std::size_t at = table.find("| `SKIFF_"); at != std::string::npos; at = table.find("| `SKIFF_", at + 1)) {
    there.push_back(table.substr(at + 3, table.find('`', at + 3) - at - 3));
  }
  const auto known = variables_of(Program::agent);
  EXPECT_THAT(there, ::testing::UnorderedElementsAreArray(known.begin(), known.end()));
}

TEST(SkiffdSettings, AreRefusedWhenTheyDoNotFitTogether) {
  EXPECT_THAT(settings_refusal({"--tls-cert", "a"}), HasSubstr("--tls-key is missing"));
  EXPECT_THAT(settings_refusal({"--tls-key", "a"}), HasSubstr("--tls-cert is missing"));
  EXPECT_EQ(settings_refusal({"--tls-key", "a", "--tls-cert", "b"}), "");
  EXPECT_THAT(settings_refusal({"--keep-bytes", "128MiB"}), HasSubstr("--output-memory"));
  EXPECT_THAT(settings_refusal({"--shell", "bash"}), HasSubstr("expected an absolute path"));
  EXPECT_EQ(settings_refusal({"--max-connections", "0"}),
            "--max-connections \"0\": expected a number from 1 to 100000");
  EXPECT_EQ(settings_refusal({"--lisen", "x"}), "unknown flag --lisen: did you mean --listen?");
  EXPECT_EQ(settings_refusal({}, {"SKIFF_LOG_LEVEL=loud"}),
            "SKIFF_LOG_LEVEL \"loud\": expected one of debug, info, warning, error");
}

TEST(SkiffdSettings, NeedARootAndAnIdThatCanBeFound) {
  Surroundings nowhere = kHere;
  nowhere.working_directory.clear();
  EXPECT_THAT(settings_from({}, {}, nowhere).error().message, HasSubstr("--root"));
  EXPECT_THAT(settings_from({"--root", "sub"}, {}, nowhere).error().message, HasSubstr("absolute"));
  EXPECT_TRUE(settings_from({"--root", "/w"}, {}, nowhere));
  Surroundings nameless = kHere;
  nameless.host_name.clear();
  EXPECT_THAT(settings_from({}, {}, nameless).error().message, HasSubstr("--sandbox-id"));
  EXPECT_TRUE(settings_from({"--sandbox-id", "x"}, {}, nameless));
}

TEST(SkiffdSettings, ShowHelpDespiteOtherErrors) {
  const auto settings = settings_from({"--nonsense", "--help"}, {"SKIFF_LOG_LEVEL=loud"});
  ASSERT_TRUE(settings);
  EXPECT_TRUE(settings->help);
  const auto workload = settings_from({"--", "tool", "--help"});
  ASSERT_TRUE(workload);
  EXPECT_FALSE(workload->help);
}

TEST(SkiffdSettings, AreAllInTheHelp) {
  for (const std::size_t width : {60U, 100U}) {
    const std::string help = settings_help(width);
    std::istringstream lines{help};
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), width) << line;
    for (const char* words :
         {"--listen ADDR:PORT", "  SKIFF_TOKEN", "--memory-guard-percent N", "Credentials:", "Output:"}) {
      EXPECT_THAT(help, HasSubstr(words));
    }
    EXPECT_THAT(help, Not(HasSubstr("--no-")));
  }
  EXPECT_THAT(settings_help(200), HasSubstr("default 8MiB; SKIFF_KEEP_BYTES]"));
}

TEST(SkiffdSettings, HaveDefaultsWithinTheirRanges) {
  // Every default must be accepted as a value.
  std::istringstream lines{settings_markdown()};
  int checked = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `--")) continue;
    std::vector<std::string> cells;
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t end = std::min(line.find(" | ", at), line.size());
      cells.push_back(line.substr(at, end - at));
      at = end + 3;
    }
    ASSERT_GE(cells.size(), 5U) << line;
    const std::string& text = cells[3];
    if (text.size() < 3 || text.front() != '`') continue;
    const std::string flag = cells[0].substr(3, cells[0].size() - 4) + "=" + text.substr(1, text.size() - 2);
    EXPECT_EQ(settings_refusal({flag.c_str()}), "") << flag;
    ++checked;
  }
  EXPECT_GT(checked, 30);
}

TEST(SkiffdSettings, HaveFlagAndVariableOfTheSameName) {
  std::istringstream lines{settings_markdown()};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `--")) continue;
    const std::string flag = line.substr(5, line.find('`', 5) - 5);
    std::string variable = "SKIFF_";
    for (const char c : flag) variable += c == '-' ? '_' : static_cast<char>(std::toupper(c));
    if (flag == "public-key") variable = "SKIFF_PUBLIC_KEY_FILE";
    EXPECT_THAT(line, HasSubstr("| `" + variable + "` |"));
  }
}

TEST(SkiffdSettings, OfTheDialectE2bAreChecked) {
  EXPECT_EQ(settings_refusal({"--e2b-token-sha256=x"}), "--e2b-token-sha256: expected 64 hex digits");
  EXPECT_EQ(settings_refusal({"--e2b-token-sha256", std::string(64, 'a').c_str()}), "");
  EXPECT_NE(settings_refusal({"--e2b-deadline=end"}), "");
  EXPECT_EQ(settings_refusal({"--e2b-deadline=kill"}), "");
}

TEST(SkiffdSettings, AreDocumentedAsTheyAre) {
  test::expect_page("settings.md", settings_markdown());
}

TEST(Surroundings, AreThoseOfThisProcess) {
  const Surroundings here = look_around();
  EXPECT_FALSE(here.is_init);
  EXPECT_EQ(here.working_directory, std::filesystem::current_path().string());
  EXPECT_FALSE(here.host_name.empty());
}

}  // namespace
}  // namespace skiff::runtime
