#include "runtime/mcp/clients.hpp"

#include "tests/support/reactor_test.hpp"

namespace skiff::runtime::mcp {
namespace {

Task<std::string> never(Executor executor) {
  Event event{executor};
  co_await event.wait();
  co_return "never";
}

CO_TEST(McpClients, AClientIsFoundByItsIdAndCredential) {
  Clients clients{executor};
  const auto made = clients.add("me", Revision::v2025_11_25);
  CO_ASSERT_TRUE(made);
  EXPECT_EQ(clients.find((*made)->id, "me"), *made);
  EXPECT_EQ(clients.find((*made)->id, "you"), nullptr);
  EXPECT_EQ(clients.find("other", "me"), nullptr);
  clients.remove((*made)->id);
  EXPECT_EQ(clients.size(), 0U);
  EXPECT_TRUE((*made)->news->closed());
  co_await clients.close();
  EXPECT_FALSE(clients.add("me", Revision::v2025_11_25));
}

CO_TEST(McpClients, ThereIsABoundForThemAndForTheirRequests, Clients& clients) {
  for (std::size_t i = 0; i < Clients::kMostClients / 2; ++i) EXPECT_TRUE(clients.add("me", Revision::v2025_11_25));
  EXPECT_EQ(clients.add("me", Revision::v2025_11_25).error().code, Errc::resource_exhausted);
  for (std::size_t i = 0; i < Clients::kMostClients / 4; ++i) EXPECT_TRUE(clients.add("you", Revision::v2025_11_25));
  EXPECT_EQ(clients.add("you", Revision::v2025_11_25).error().code, Errc::resource_exhausted);
  Client client{executor, "id", "me", Revision::v2025_11_25};
  for (std::size_t i = 0; i < Client::kMostRequests; ++i) {
    EXPECT_TRUE(client.begin(std::to_string(i), std::make_shared<Job>(executor, "me")));
  }
  EXPECT_EQ(client.begin("7", std::make_shared<Job>(executor, "me")).error().code, Errc::invalid_request);
  EXPECT_EQ(client.begin("x", std::make_shared<Job>(executor, "me")).error().code, Errc::resource_exhausted);
  co_return;
}

CO_TEST(McpClients, OneCredentialLeavesRoomForTheWorkOfOthers, Clients& clients) {
  const auto start = [&](std::string who) {
    return clients.start(std::make_shared<Job>(executor, std::move(who)), [executor] { return never(executor); });
  };
  for (std::size_t i = 0; i < Clients::kMostJobs / 2; ++i) EXPECT_TRUE(start("me"));
  EXPECT_EQ(start("me").error().code, Errc::resource_exhausted);
  for (std::size_t i = 0; i < Clients::kMostJobs / 4; ++i) EXPECT_TRUE(start("you"));
  EXPECT_EQ(start("you").error().code, Errc::resource_exhausted);
  EXPECT_TRUE(start("a third"));
  co_return;
}

CO_TEST(McpClients, AJobEndsWithItsAnswerOrWhenItIsCancelled) {
  Clients clients{executor};
  const auto answered = std::make_shared<Job>(executor, "me");
  const auto cancelled = std::make_shared<Job>(executor, "me");
  int over = 0;
  const auto count = [&over] { ++over; };
  CO_ASSERT_TRUE(clients.start(answered, []() -> Task<std::string> { co_return "done"; }, count));
  CO_ASSERT_TRUE(clients.start(cancelled, [executor] { return never(executor); }, count));
  cancelled->cancel();
  EXPECT_TRUE(cancelled->stop.stop_requested());
  co_await clients.close();
  EXPECT_EQ(over, 2);
  EXPECT_EQ(clients.jobs(), 0U);
  EXPECT_EQ(answered->outbox->after(0)->text, "done");
  EXPECT_TRUE(cancelled->outbox->closed());
  EXPECT_FALSE(cancelled->outbox->answered());
}

CO_TEST(McpClients, WorkThatFailsLeavesNobodyWaiting, Clients& clients) {
  const auto job = std::make_shared<Job>(executor, "me");
  CO_ASSERT_TRUE(clients.start(job, []() -> Task<std::string> { throw std::bad_alloc{}; }));
  EXPECT_TRUE(job->outbox->closed());
}

CO_TEST(McpClients, ItsStreamsAreKeptForAWhile) {
  Client client{executor, "id", "me", Revision::v2025_11_25};
  EXPECT_EQ(client.stream(0), client.news);
  std::vector<std::shared_ptr<Job>> jobs;
  for (std::size_t i = 0; i <= Client::kKeptStreams; ++i) {
    jobs.push_back(std::make_shared<Job>(executor, "me"));
    const auto stream = client.begin("x", jobs.back());
    CO_ASSERT_TRUE(stream);
    EXPECT_EQ(client.stream(*stream), jobs.back()->outbox);
    client.end("x", *stream);
    EXPECT_EQ(client.stream(*stream), jobs.back()->outbox);
  }
  EXPECT_EQ(client.stream(1), nullptr);
  const auto large = std::make_shared<Job>(executor, "me");
  const auto stream = client.begin("y", large);
  CO_ASSERT_TRUE(stream);
  large->outbox->finish(std::string(Client::kKeptBytes + 1, 'x'));
  client.end("y", *stream);
  EXPECT_EQ(client.stream(*stream), nullptr);
  EXPECT_FALSE(client.busy());
}

}  // namespace
}  // namespace skiff::runtime::mcp
