#include "container/egress/names/port_question.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace skiff::container::egress {
namespace {

TEST(EgressPortQuestion, IsOneRequestAndNoOther) {
  const std::string target = "/.well-known/skiff-egress/ports?host=";
  EXPECT_EQ(host_in_question("GET", target + "pypi.org"), "pypi.org");
  EXPECT_EQ(host_in_question("GET", target), "");
  for (const std::string& other : {std::string{"/"}, "http://x" + target + "a", target.substr(0, 20)}) {
    EXPECT_FALSE(host_in_question("GET", other)) << other;
  }
  EXPECT_FALSE(host_in_question("POST", target + "pypi.org"));
}

TEST(EgressPortQuestion, IsAnsweredWithEachPortOnce) {
  const std::vector<Target> targets{{.host = "a.org", .port = 8443},
                                    {.host = "a.org", .port = 443},
                                    {.host = "a.org", .port = 443, .is_plain = true}};
  const std::string answer = port_answer(targets);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\n{\"ports\":[443,8443]}\n")) << answer;
}

TEST(EgressPortQuestion, HasABoundForItsAnswer) {
  std::vector<Target> targets;
  for (std::uint16_t port = 1000; port > 0; --port) targets.push_back({.host = "a.org", .port = port});
  const std::string answer = port_answer(targets);
  EXPECT_TRUE(answer.contains("[1,2,3,"));
  EXPECT_TRUE(answer.ends_with(",63,64]}\n")) << answer;
}

}  // namespace
}  // namespace skiff::container::egress
