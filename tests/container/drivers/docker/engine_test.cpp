#include "container/drivers/docker/engine.hpp"

#include <sys/stat.h>

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/reactor_test.hpp"
#include "tests/support/temporary_directory.hpp"

namespace skiff::container::docker {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(Engine, IsKnownByItsName) {
  EXPECT_TRUE(Engine{"/opt/nerdctl"}.is_nerdctl());
  EXPECT_TRUE(Engine{"nerdctl.lima"}.is_nerdctl());
  EXPECT_FALSE(Engine{"docker"}.is_nerdctl());
  EXPECT_FALSE(Engine{"/opt/nerdctl/podman"}.is_nerdctl());
}

CO_TEST(Engine, ACallGivesItsOutput) {
  auto input = file_of("given");
  CO_ASSERT_TRUE(input.has_value());
  auto done = co_await Engine{"/bin/sh"}.call(
      {.arguments = {"-c", "cat; echo err >&2"}, .limit = 60s, .input = std::move(*input)});
  CO_ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(done->out, "given");
  EXPECT_EQ(done->err, "err\n");
}

CO_TEST(Engine, ACallHasItsOwnTemporaryDirectory) {
  auto done =
      co_await Engine{"/bin/sh"}.call({.arguments = {"-c", "echo $TMPDIR"}, .limit = 60s, .temporary = "/given"});
  CO_ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(done->out, "/given\n");
}

CO_TEST(Engine, AFailureSaysWhatTheEngineSaid) {
  const Engine engine{"/bin/sh"};
  auto failed = co_await engine.call({.arguments = {"-c", "echo why >&2; exit 3"}, .limit = 60s});
  CO_ASSERT_TRUE(!failed.has_value());
  EXPECT_THAT(failed.error().message, HasSubstr("failed: why"));
  failed = co_await engine.call({.arguments = {"-c", "exit 3"}, .limit = 60s});
  CO_ASSERT_TRUE(!failed.has_value());
  EXPECT_THAT(failed.error().message, HasSubstr("it ended with status 3"));
  failed = co_await Engine{"/no/such/engine"}.call({.arguments = {"version"}, .limit = 60s});
  CO_ASSERT_TRUE(!failed.has_value());
  EXPECT_EQ(failed.error().code, Errc::not_found);
}

CO_TEST(Engine, ACallThatIsLateIsEnded) {
  auto late = co_await Engine{"/bin/sh"}.call({.arguments = {"-c", "exec sleep 1000"}, .limit = 20ms});
  CO_ASSERT_TRUE(!late.has_value());
  EXPECT_EQ(late.error().code, Errc::timeout);
}

TEST(Engine, KnowsWhatEnginesSay) {
  const auto says = [](const char* text) { return Error{.code = Errc::io_error, .message = text}; };
  EXPECT_TRUE(says_no_such_container(says("Error: No such container: x")));
  EXPECT_TRUE(says_no_such_container(says("Error: no container with name or ID \"x\" found: no such container")));
  EXPECT_FALSE(says_no_such_container(says("permission denied")));
  EXPECT_TRUE(says_no_such_image(says("Unable to find image 'x:latest' locally")));
  EXPECT_TRUE(says_no_such_image(says("Error: initializing source docker://x: pinging container registry")));
  EXPECT_FALSE(says_no_such_image(says("OCI runtime error")));
}

}  // namespace
}  // namespace skiff::container::docker
