#include "base/variables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skiff {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> told(std::vector<const char*> environment, Program own) {
  environment.push_back(nullptr);
  std::vector<std::string> lines;
  for (const UnknownVariable& one : unknown_variables(environment.data(), own)) {
    lines.push_back(one.text(own == Program::agent ? "skiffd" : "skiff"));
  }
  return lines;
}

TEST(UnknownVariables, AreReportedWithASuggestion) {
  EXPECT_THAT(told({"SKIFF_LISTNE=1", "SKIFF_NONSENSE=", "HOME=/", "SKIFF=1", "SKIFFD=/x"}, Program::agent),
              ElementsAre("SKIFF_LISTNE is not a variable of skiffd: did you mean SKIFF_LISTEN?",
                          "SKIFF_NONSENSE is not a variable of skiffd, and is ignored"));
  EXPECT_THAT(told({"SKIFF_DIRVER=local", "SKIFF_APIKEY=x"}, Program::launcher),
              ElementsAre("SKIFF_DIRVER is not a variable of skiff: did you mean SKIFF_DRIVER?",
                          "SKIFF_APIKEY is not a variable of skiff: did you mean SKIFF_API_KEY?"));
}

TEST(UnknownVariables, ExcludeThoseOfTheOtherProgram) {
  EXPECT_THAT(told({"SKIFF_DRIVER=local", "SKIFF_LISTEN=x"}, Program::agent), ElementsAre());
  EXPECT_THAT(told({"SKIFF_DRIVER=local", "SKIFF_LISTEN=x"}, Program::launcher), ElementsAre());
}

TEST(UnknownVariables, ExcludeVariablesOfKubernetesServices) {
  for (const Program program : {Program::agent, Program::launcher}) {
    EXPECT_THAT(
        told({"SKIFF_PORT=tcp://10.96.1.1:7070", "SKIFF_SERVICE_HOST=10.96.1.1", "SKIFF_SERVICE_PORT=7070",
              "SKIFF_PORT_7070_TCP=tcp://10.96.1.1:7070", "SKIFF_PORT_7070_TCP_PROTO=tcp",
              "SKIFF_PORT_7070_TCP_PORT=7070", "SKIFF_SERVICE_PORT_HTTP=7070", "SKIFF_DB_SERVICE_HOST=10.96.1.2",
              "SKIFF_DB_PORT=udp://10.96.1.2:53", "SKIFF_DB_PORT_53_UDP_ADDR=10.96.1.2"},
             program),
        ElementsAre());
    EXPECT_EQ(told({"SKIFF_PORT=80"}, program).size(), 1U);
  }
}

}  // namespace
}  // namespace skiff
