#include "container/agent/copy/copy.hpp"

#include <gtest/gtest.h>

#include "tests/container/agent/lying_agent.hpp"
#include "tests/container/kube/canned_server.hpp"
#include "tests/support/reactor_test.hpp"
#include "tests/support/tar_bytes.hpp"
#include "tests/support/temporary_directory.hpp"

namespace skiff::container {
namespace {

namespace files = std::filesystem;
using test::answer;
using test::CannedServer;
using test::chunk;
using test::kStreamHead;

constexpr auto kIsFile = R"({"items":[{"type":"file","size":5}]})";
constexpr auto kIsNothing = R"({"items":[{"error":{"code":"path_not_found","detail":"no"}}]})";

/// The archive of one file.
std::string tar_of(const test::TemporaryDirectory& directory, const std::string& name, const std::string& content) {
  std::string bytes;
  const auto packed = pack_tar(directory.write("packed", content), name, [&bytes](const std::string& block) {
    bytes += block;
    return true;
  });
  EXPECT_TRUE(packed) << packed.error().message;
  return bytes;
}

/// Copies "notes" out of an agent that answers so, byte by byte.
Task<Result<TarSummary>> copy_from(Executor executor, std::deque<CannedServer::Answer> answers, files::path to) {
  CannedServer server{executor, std::move(answers)};
  AgentClient agent{
      executor, fakes::endpoint_at(executor, protocol::Address::ip("127.0.0.1", server.access().server.port).value())};
  auto copied = co_await copy_out(&agent, "notes", std::move(to), {});
  co_await server.stop();
  co_return copied;
}

CO_TEST(Copy, TakesAFileOut) {
  const test::TemporaryDirectory directory;
  std::string stream{kStreamHead};
  stream += chunk(tar_of(directory, "notes", "hello")) + "0\r\n\r\n";
  auto copied = co_await copy_from(executor, {{answer("200 OK", kIsFile)}, {stream}}, directory / "out");
  CO_ASSERT_TRUE(copied.has_value()) << copied.error().message;
  EXPECT_EQ(files::file_size(directory / "out"), 5u);
}

CO_TEST(Copy, SaysThatAnAgentDoesNotSayWhatThereIs) {
  const test::TemporaryDirectory directory;
  const std::vector<std::pair<std::string, std::string>> lies{
      {"{}", "it does not say what \"notes\" is"},
      {R"({"items":[]})", "it does not say what \"notes\" is"},
      {R"({"items":{}})", "\"items\" of its answer is not a list"},
      {R"({"items":7})", "\"items\" of its answer is not a list"},
      {R"({"items":[7]})", "an item of its list is not an object"},
      {R"({"items":[{"type":1}]})", "\"type\" of an item of its list is not a text"},
      {R"({"items":[{"type":"file","size":"big"}]})", "\"size\" of an item of its list is not a number from 0 on"},
      {R"({"items":[{"error":"gone"}]})", "\"error\" of an item of its list is not an object"},
      {R"({"items":[{"type":"symlink"}]})", "it does not say where a link leads"},
  };
  for (const auto& [lie, told] : lies) {
    auto copied = co_await copy_from(executor, {{answer("200 OK", lie)}}, directory / "out");
    CO_ASSERT_TRUE(!copied) << lie;
    EXPECT_EQ(copied.error().message, "what answers there is not skiffd: " + told) << lie;
  }
  auto copied = co_await copy_from(executor, {{answer("200 OK", kIsNothing)}}, directory / "out");
  CO_ASSERT_TRUE(!copied);
  EXPECT_EQ(copied.error().code, Errc::path_not_found);
  EXPECT_FALSE(files::exists(directory / "out"));
}

CO_TEST(Copy, FailsWhenTheArchiveIsCutOrNonsense) {
  const test::TemporaryDirectory directory;
  const std::string tar = tar_of(directory, "notes", std::string(100'000, 'x'));
  const std::string cut = std::string{kStreamHead} + chunk(tar.substr(0, 5'000));
  const std::string ended_early = cut + "0\r\n\r\n";
  const std::string nonsense = std::string{kStreamHead} + chunk(std::string(4'096, 'x')) + "0\r\n\r\n";
  const std::string wrong_length = std::string{kStreamHead} + "zz\r\n" + tar;
  for (const std::string& lie : {cut, ended_early, nonsense, wrong_length}) {
    auto copied = co_await copy_from(executor, {{answer("200 OK", kIsFile)}, {lie, true}}, directory / "out");
    CO_ASSERT_TRUE(!copied);
    EXPECT_TRUE(copied.error().message.starts_with("\"notes\" was not copied whole: ")) << copied.error().message;
    EXPECT_FALSE(files::exists(directory / "out"));
  }
  directory.write("there", "before");
  auto copied = co_await copy_from(executor, {{answer("200 OK", kIsFile)}, {cut, true}}, directory / "there");
  CO_ASSERT_TRUE(!copied);
  EXPECT_EQ(copied.error().code, Errc::io_error);
  EXPECT_TRUE(copied.error().message.contains("\"notes\" was left out")) << copied.error().message;
  EXPECT_EQ(files::file_size(directory / "there"), 6u) << "what was there before is whole";
}

CO_TEST(Copy, FollowsALinkInTheSandbox) {
  const test::TemporaryDirectory directory;
  std::string stream{kStreamHead};
  stream += chunk(tar_of(directory, "real", "hello")) + "0\r\n\r\n";
  CannedServer server{executor,
                      {{answer("200 OK", R"({"items":[{"type":"symlink","target":"../real"}]})")},
                       {answer("200 OK", kIsFile)},
                       {stream}}};
  AgentClient agent{
      executor, fakes::endpoint_at(executor, protocol::Address::ip("127.0.0.1", server.access().server.port).value())};
  auto copied = co_await copy_out(&agent, "a/link", directory / "out", {});
  CO_ASSERT_TRUE(copied.has_value()) << copied.error().message;
  EXPECT_TRUE(files::is_regular_file(files::symlink_status(directory / "out")));
  const std::string& asked = server.requests().at(2);
  EXPECT_TRUE(asked.starts_with("GET /v1/files:archive?with_itself=true&path=a%2F..%2Freal ")) << asked;
  EXPECT_TRUE(asked.contains("Prefer: handling=lenient")) << "an older agent does not know with_itself";
  co_await server.stop();
}

CO_TEST(Copy, FollowsNoEndlessLinks) {
  const test::TemporaryDirectory directory;
  fakes::LyingAgent lying{executor};
  lying.rest = [](const protocol::HttpRequest&) -> protocol::HttpResponse {
    return {.body = R"({"items":[{"type":"symlink","target":"again"}]})"};
  };
  AgentClient agent{executor, lying.endpoint()};
  auto copied = co_await copy_out(&agent, "link", directory / "out", {});
  CO_ASSERT_TRUE(!copied);
  EXPECT_EQ(copied.error().code, Errc::too_many_links);
  co_await lying.stop();
}

CO_TEST(Copy, TakesNoLinkWhereAFileWasAskedFor) {
  const test::TemporaryDirectory directory;
  const std::string stream = std::string{kStreamHead} +
                             chunk(test::tar_member("notes", '2', "", "/etc/passwd") + test::tar_end()) + "0\r\n\r\n";
  auto copied = co_await copy_from(executor, {{answer("200 OK", kIsFile)}, {stream}}, directory / "out");
  CO_ASSERT_TRUE(!copied);
  EXPECT_EQ(copied.error().code, Errc::not_a_regular_file) << copied.error().message;
  EXPECT_FALSE(files::exists(files::symlink_status(directory / "out")));
}

CO_TEST(Copy, TakesNothingOutsideOfItsTarget) {
  const test::TemporaryDirectory directory;
  files::create_directory(directory / "target");
  const std::string stream = std::string{kStreamHead} + chunk(tar_of(directory, "../escaped", "x")) + "0\r\n\r\n";
  auto copied = co_await copy_from(executor, {{answer("200 OK", R"({"items":[{"type":"directory"}]})")}, {stream}},
                                   directory / "target/");
  EXPECT_FALSE(copied);
  EXPECT_FALSE(files::exists(directory / "escaped"));
  EXPECT_FALSE(files::exists(directory / "target/escaped"));
}

CO_TEST(Copy, BringsAFileIn) {
  const test::TemporaryDirectory directory;
  std::string target;
  fakes::LyingAgent lying{executor};
  lying.rest = [&](const protocol::HttpRequest& request) -> protocol::HttpResponse {
    if (request.method == "GET") return {.body = kIsNothing};
    target = request.target_text;
    return {.body = "{}"};
  };
  AgentClient agent{executor, lying.endpoint()};
  auto copied = co_await copy_in(&agent, directory.write("notes", "hello"), "there/notes", {});
  EXPECT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(target, "/v1/files:archive?path=there");
  co_await lying.stop();
}

CO_TEST(Copy, SaysWhyTheAgentTakesNothingOfALargeFile) {
  const test::TemporaryDirectory directory;
  fakes::LyingAgent lying{executor};
  lying.rest = [](const protocol::HttpRequest& request) -> protocol::HttpResponse {
    if (request.method == "GET") return {.body = kIsNothing};
    return {.status = 507,
            .headers = {{"Content-Type", "application/problem+json"}},
            .body = R"({"code":"no_space","detail":"the disk is full"})"};
  };
  AgentClient agent{executor, lying.endpoint()};
  const std::string file = directory.write("large", std::string(std::size_t{8} << 20U, 'x'));
  auto copied = co_await copy_in(&agent, file, "large", {});
  CO_ASSERT_TRUE(!copied);
  EXPECT_EQ(copied.error().message, "the disk is full");
  co_await lying.stop();
}

}  // namespace
}  // namespace skiff::container
