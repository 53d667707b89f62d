#include "container/agent/timed_output.hpp"

#include <gtest/gtest.h>

#include "tests/container/agent/lying_agent.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

/// The output that an answer of the agent is read as.
Task<Result<std::vector<TimedOutput>>> timed_output_of(Executor executor, std::string body, std::string* asked) {
  fakes::LyingAgent agent{executor};
  agent.rest = [&](const protocol::HttpRequest& request) {
    *asked = request.target.path;
    return protocol::HttpResponse{.body = body};
  };
  AgentClient client{executor, agent.endpoint()};
  auto read = co_await read_timed_output(&client, command_path("s", "c"), 7, 1000);
  co_await agent.stop();
  co_return read;
}

CO_TEST(TimedOutput, IsTextOrBytes) {
  std::string asked;
  auto read =
      co_await timed_output_of(executor,
                               R"({"type":"output","offset":7,"stream":"stdout","time":"T","data":"a\n"})"
                               "\n"
                               R"({"type":"output","offset":9,"stream":"stderr","time":"U","data_base64":"/w=="})"
                               "\n"
                               R"({"type":"exit","exit_code":0})"
                               "\n",
                               &asked);
  CO_ASSERT_TRUE(read.has_value());
  CO_ASSERT_TRUE(read->size() == 2);
  EXPECT_EQ(asked, "/v1/sessions/s/commands/c/output");
  EXPECT_EQ((*read)[0].bytes, "a\n");
  EXPECT_EQ((*read)[0].time, "T");
  EXPECT_EQ((*read)[1].bytes, "\xff");
  EXPECT_EQ((*read)[1].stream, "stderr");
  EXPECT_EQ((*read)[1].offset, 9U);
}

CO_TEST(TimedOutput, AnotherEventIsPassedOver) {
  std::string asked;
  auto read = co_await timed_output_of(
      executor, "\n[1]\n{\"type\":1}\n{\"type\":\"output\",\"data\":7,\"offset\":\"x\"}", &asked);
  CO_ASSERT_TRUE(read.has_value());
  CO_ASSERT_TRUE(read->size() == 1);
  EXPECT_EQ((*read)[0].bytes, "");
}

CO_TEST(TimedOutput, WhatIsNoneIsNotLeftOutInSilence) {
  for (const char* body : {"garbage\n", "{\"type\":\"output\",\"data_base64\":\"!\"}\n", "{\"type\":\"out"}) {
    std::string asked;
    auto read = co_await timed_output_of(executor, body, &asked);
    CO_ASSERT_TRUE(!read.has_value());
    EXPECT_TRUE(read.error().message.starts_with("what answers there is not skiffd")) << read.error().message;
  }
}

CO_TEST(TimedOutput, TellsGaps) {
  std::string asked;
  auto read = co_await timed_output_of(executor,
                                       R"({"type":"gap","from":7,"to":17})"
                                       "\n"
                                       R"({"type":"output","offset":17,"data":"a"})"
                                       "\n"
                                       R"({"type":"gap","from":18,"to":20})"
                                       "\n",
                                       &asked);
  CO_ASSERT_TRUE(read.has_value());
  CO_ASSERT_TRUE(read->size() == 2);
  EXPECT_EQ((*read)[0].lost_before, 10U);
  EXPECT_EQ((*read)[1].lost_before, 2U);
  EXPECT_EQ((*read)[1].offset, 20U);
  EXPECT_EQ((*read)[1].bytes, "");
}

CO_TEST(TimedOutput, HasALimit) {
  std::string asked;
  auto read = co_await timed_output_of(executor, std::string(1001, '\n'), &asked);
  CO_ASSERT_TRUE(!read.has_value());
  EXPECT_EQ(read.error().code, Errc::payload_too_large);
}

}  // namespace
}  // namespace skiff::container
