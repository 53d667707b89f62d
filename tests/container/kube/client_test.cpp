#include "container/kube/client.hpp"

#include <gtest/gtest.h>

#include "tests/container/kube/canned_server.hpp"
#include "tests/support/reactor_test.hpp"

// tests/kubernetes tests with a real API server; these are the answers that it can't be made to give.
namespace skiff::kube {
namespace {

using test::answer;
using test::CannedServer;

Client client_for(Executor executor, const CannedServer& server) {
  auto pool = std::make_shared<BlockingPool>("test", 1);
  return Client{Transport::open(executor, std::move(pool), server.access(), test::quick()).value()};
}

std::string page(std::string_view names, std::string_view next, std::string_view version) {
  std::string items;
  for (const char name : names) {
    items += (items.empty() ? "" : ",") + std::string{R"({"metadata":{"name":")"} + name + R"("}})";
  }
  return answer("200 OK", R"({"kind":"PodList","metadata":{"resourceVersion":")" + std::string{version} +
                              R"(","continue":")" + std::string{next} + R"("},"items":[)" + items + "]}");
}

std::string expired(std::string_view next) {
  return answer("410 Gone",
                R"({"kind":"Status","reason":"Expired","code":410,"message":"too old","metadata":{"continue":")" +
                    std::string{next} + R"("}})");
}

std::string names_on(const Page& page) {
  std::string out;
  for (const Object& item : page.items) out += item.name();
  return out;
}

CO_TEST(Client, GoesOnFromANewerStateWhenAListExpires) {
  CannedServer server{executor, {{page("ab", "one", "5")}, {expired("two")}, {page("c", "", "9")}}};
  Client client = client_for(executor, server);
  auto list = co_await client.list(kPods, "n");
  CO_ASSERT_TRUE(list.has_value()) << list.error().error.message;
  EXPECT_EQ(names_on(*list), "abc");
  EXPECT_EQ(list->resource_version, "9");
  EXPECT_NE(server.requests().at(2).find("continue=two"), std::string::npos);
  co_await server.stop();
}

CO_TEST(Client, BeginsAgainWhenAListMustShowOneMoment) {
  CannedServer server{executor,
                      {{page("ab", "one", "5")}, {expired("two")}, {page("b", "three", "9")}, {page("c", "", "9")}}};
  Client client = client_for(executor, server);
  auto list = co_await client.list(kPods, "n", {.one_moment = true});
  CO_ASSERT_TRUE(list.has_value()) << list.error().error.message;
  EXPECT_EQ(names_on(*list), "bc");
  EXPECT_EQ(server.requests().at(2).find("continue="), std::string::npos);
  co_await server.stop();
}

CO_TEST(Client, GivesUpOnAListThatExpiresEveryTime) {
  CannedServer server{executor, {{expired("a")}, {expired("b")}, {expired("c")}, {expired("d")}}};
  Client client = client_for(executor, server);
  auto list = co_await client.list(kPods, "n");
  CO_ASSERT_TRUE(!list.has_value());
  EXPECT_TRUE(list.error().expired());
  co_await server.stop();
}

CO_TEST(Client, SaysThatAnAnswerIsNonsense) {
  CannedServer server{executor, {{answer("200 OK", "<html>")}, {answer("200 OK", "[]")}}};
  Client client = client_for(executor, server);
  for (int i = 0; i < 2; ++i) {
    auto pod = co_await client.get(kPods, "n", "a");
    CO_ASSERT_TRUE(!pod.has_value());
    EXPECT_EQ(pod.error().error.code, Errc::invalid_request);
    EXPECT_EQ(pod.error().error.message.find("read pods n/a: "), 0u);
  }
  co_await server.stop();
}

CO_TEST(Client, AsksForNoObjectWithoutAName) {
  CannedServer server{executor, {{answer("200 OK", "{}")}}};
  Client client = client_for(executor, server);
  auto got = co_await client.get(kPods, "n", "");
  auto removed = co_await client.remove(kPods, "n", "");
  auto patched = co_await client.patch(kPods, "n", "", PatchKind::merge, nlohmann::json::object());
  auto applied = co_await client.apply(kPods, Object::make(kPods, "n", ""));
  for (const auto* outcome : {&got, &removed, &patched, &applied}) {
    CO_ASSERT_TRUE(!outcome->has_value());
    EXPECT_EQ(outcome->error().error.code, Errc::invalid_field);
  }
  EXPECT_EQ(removed.error().error.message, "delete pods of n: which one? The name is empty");
  EXPECT_TRUE(server.requests().empty()) << server.requests().front();
  co_await server.stop();
}

Object marked_map(std::string_view mark) {
  Object object = Object::make(kConfigMaps, "n", "a");
  object.json["metadata"]["labels"]["mark"] = mark;
  return object;
}

CO_TEST(Client, WantsNoMoreThanTheMetadataOfWhatItDeletes) {
  CannedServer server{executor, {{answer("200 OK", R"({"kind":"PartialObjectMetadata","metadata":{"name":"a"}})")}}};
  Client client = client_for(executor, server);
  auto removed = co_await client.remove(kPods, "n", "a");
  CO_ASSERT_TRUE(removed.has_value()) << removed.error().error.message;
  EXPECT_TRUE(server.requests().at(0).contains("Accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,"))
      << server.requests().at(0);
  co_await server.stop();
}

CO_TEST(Client, CreatesAgainWhatMayNotHaveBeenCreated) {
  const std::string election =
      answer("500 Oops", R"({"kind":"Status","code":500,"message":"etcdserver: request timed out"})");
  CannedServer server{executor, {{election}, {answer("201 Created", R"({"metadata":{"name":"a"}})")}}};
  Client client = client_for(executor, server);
  auto made = co_await client.create(kConfigMaps, marked_map("ours"));
  CO_ASSERT_TRUE(made.has_value()) << made.error().error.message;
  EXPECT_EQ(made->name(), "a");
  EXPECT_TRUE(server.all_used());
  co_await server.stop();
}

CO_TEST(Client, FindsWhatAnEarlierTryHasCreated) {
  const std::string busy = answer("503 Service Unavailable", "later");
  const std::string there = answer("409 Conflict", R"({"kind":"Status","reason":"AlreadyExists","message":"there"})");
  const std::string stored = R"({"metadata":{"name":"a","namespace":"n","uid":"u","labels":{"mark":"ours"}},)"
                             R"("apiVersion":"v1","kind":"ConfigMap"})";
  CannedServer server{
      executor, {{busy}, {there}, {answer("200 OK", stored)}, {busy}, {there}, {answer("200 OK", stored)}, {there}}};
  Client client = client_for(executor, server);
  auto made = co_await client.create(kConfigMaps, marked_map("ours"));
  CO_ASSERT_TRUE(made.has_value()) << made.error().error.message;
  EXPECT_EQ(made->uid(), "u");
  auto other = co_await client.create(kConfigMaps, marked_map("another's"));
  CO_ASSERT_TRUE(!other.has_value());
  EXPECT_TRUE(other.error().already_exists());
  EXPECT_TRUE(other.error().may_have_happened);
  auto plain = co_await client.create(kConfigMaps, marked_map("ours"));
  CO_ASSERT_TRUE(!plain.has_value()) << "the first try of it was refused";
  EXPECT_FALSE(plain.error().may_have_happened);
  EXPECT_TRUE(server.all_used());
  co_await server.stop();
}

CO_TEST(Client, CreatesOnceWhatTheServerNames) {
  CannedServer server{executor, {{answer("503 Service Unavailable", "later")}}};
  Client client = client_for(executor, server);
  Object object = Object::make(kConfigMaps, "n", "");
  object.json["metadata"] = {{"namespace", "n"}, {"generateName", "a-"}};
  auto made = co_await client.create(kConfigMaps, std::move(object));
  EXPECT_FALSE(made.has_value());
  EXPECT_TRUE(server.all_used());
  co_await server.stop();
}

CO_TEST(Client, SendsOnlyThosePatchesAgainThatMayBeCarriedOutTwice) {
  const std::string busy = answer("503 Service Unavailable", "later");
  CannedServer server{executor, {{busy}, {busy}, {busy}, {answer("200 OK", "{}")}}};
  Client client = client_for(executor, server);
  // The second time its condition would not hold, although the first one was carried out.
  const auto test = nlohmann::json::parse(R"([{"op":"test","path":"/a","value":1},{"op":"remove","path":"/a"}])");
  auto tested = co_await client.patch(kPods, "n", "a", PatchKind::json, test);
  EXPECT_FALSE(tested.has_value());
  EXPECT_EQ(server.requests().size(), 1u);
  const nlohmann::json of_a_version{{"metadata", {{"resourceVersion", "7"}}}};
  auto versioned = co_await client.patch(kPods, "n", "a", PatchKind::merge, of_a_version);
  EXPECT_FALSE(versioned.has_value());
  EXPECT_EQ(server.requests().size(), 2u);
  const nlohmann::json plain{{"metadata", {{"labels", {{"a", "b"}}}}}};
  auto merged = co_await client.patch(kPods, "n", "a", PatchKind::merge, plain);
  EXPECT_TRUE(merged.has_value());
  EXPECT_EQ(server.requests().size(), 4u);
  co_await server.stop();
}

CO_TEST(Client, WritesNamesThatNoServerHasSafelyIntoThePath) {
  CannedServer server{executor, {{answer("404 Not Found", "no")}}};
  Client client = client_for(executor, server);
  auto pod = co_await client.get(kPods, "n", "../secrets?a b");
  EXPECT_FALSE(pod.has_value());
  EXPECT_EQ(server.requests().at(0).find("GET /api/v1/namespaces/n/pods/..%2Fsecrets%3Fa%20b HTTP"), 0u);
  co_await server.stop();
}

}  // namespace
}  // namespace skiff::kube
