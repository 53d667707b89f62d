#include "container/egress/cluster/cluster_proxy.hpp"

#include <sys/socket.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/async/deadline.hpp"
#include "base/async/event.hpp"
#include "base/async/task_group.hpp"
#include "container/agent/egress_token.hpp"
#include "protocol/net/listener.hpp"
#include "protocol/net/stream.hpp"
#include "tests/container/egress/cluster/kept_secret.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container::egress {
namespace {

using protocol::Address;
using protocol::Stream;

constexpr const char* kAddress = "10.244.0.5";

/// A proxy of a namespace whose names all have the address of a server of this test.
struct Proxied {
  explicit Proxied(Executor on) : executor{on}, silence{on}, tasks{on} {
    server = protocol::Listener::open(on, Address::parse("127.0.0.1:0").value()).value();
    tasks.spawn("server",
                server->accept_all([this](UniqueFd socket, const Address&) { arrived.push_back(std::move(socket)); }));
    proxy = std::make_unique<ClusterProxy>(
        on, ClusterProxy::Options{.resolve = [this](std::string host, std::uint16_t) { return found(std::move(host)); },
                                  .is_public = [](const Address&) { return true; },
                                  .public_keys = [this] { return key.public_pem(); },
                                  .log =
                                      [this](std::string_view line) {
                                        lines.push_back(nlohmann::json::parse(line));
                                        return true;
                                      },
                                  .news = std::chrono::milliseconds{1}});
  }

  /// Nobody ever answers for a name that begins with "deaf", and nobody listens at the many addresses of one with
  /// "many".
  Task<Result<std::vector<Address>>> found(std::string host) {
    while (host.starts_with("deaf")) co_await silence.wait();
    if (host.starts_with("many")) co_return std::vector(200, Address::ip("127.0.0.1", 1).value());
    co_return std::vector{server->address()};
  }

  Task<> stop() {
    co_await proxy->stop();
    server->close();
    tasks.cancel();
    co_await tasks.join();
  }

  [[nodiscard]] static kube::Object pod(const std::string& name, const std::string& rules,
                                        const std::string& address = kAddress) {
    return {
        {{"metadata",
          {{"name", name},
           {"uid", "u-" + name},
           {"labels", {{"skiff.dev/network", "egress"}, {"skiff.dev/sandbox", "s-" + name}, {"skiff.dev/name", name}}},
           {"annotations", {{"skiff.dev/egress", rules}}}}},
         {"spec", nlohmann::json::object()},
         {"status",
          {{"phase", "Running"}, {"podIP", address}, {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}}};
  }
  [[nodiscard]] std::string token(const std::string& name) const {
    return sign_egress_token(key, "s-" + name, wall_now()).value();
  }

  /// Connects from that address.
  [[nodiscard]] Stream connect(const std::string& address = kAddress) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    proxy->serve(UniqueFd{ends[0]}, Address::ip(address, 40000).value());
    return Stream{executor, UniqueFd{ends[1]}, "test"};
  }
  /// Sends these bytes, and returns the answer: its status and the code of the proxy.
  static Task<std::string> ask(Stream* stream, std::string bytes) {
    const std::array<std::string_view, 1> parts{bytes};
    (void)co_await stream->write(parts, std::chrono::seconds{5});
    std::string answer;
    std::array<char, 4096> block{};
    while (!answer.contains("\r\n\r\n")) {
      const auto got = co_await stream->read_some(block, std::chrono::seconds{5});
      if (!got || *got == 0) break;
      answer.append(block.data(), *got);
    }
    const std::size_t field = answer.find("X-Skiff-Egress: ");
    if (field == std::string::npos) co_return answer.substr(std::min<std::size_t>(9, answer.size()), 3);
    const std::size_t value = field + std::string_view{"X-Skiff-Egress: "}.size();
    co_return answer.substr(9, 4) + answer.substr(value, answer.find("\r\n", value) - value);
  }
  Task<std::string> tried(std::string bytes, std::string address = kAddress) {
    Stream stream = connect(address);
    co_return co_await ask(&stream, std::move(bytes));
  }

  Executor executor;
  SigningKey key = SigningKey::generate().value();
  std::vector<nlohmann::json> lines = {};
  std::vector<UniqueFd> arrived = {};
  Event silence;
  TaskGroup tasks;
  std::unique_ptr<protocol::Listener> server;
  std::unique_ptr<ClusterProxy> proxy;
};

const std::string kConnect = "CONNECT pypi.org:443 HTTP/1.1\r\nHost: pypi.org\r\n\r\n";

CO_TEST(ClusterProxy, ServesASandboxByItsAddressAndItsToken, Proxied& on) {
  on.proxy->put(Proxied::pod("one", R"(["pypi.org"])"));
  on.proxy->put(Proxied::pod("two", R"(["pypi.org"])", "10.244.0.6"));
  const std::string mine = "SKIFF-EGRESS/1 " + on.token("one") + "\r\n";
  EXPECT_EQ(co_await on.tried(mine + kConnect), "200");
  EXPECT_EQ(on.lines.back()["id"], "s-one");
  EXPECT_EQ(co_await on.tried(mine + "CONNECT evil.org:443 HTTP/1.1\r\n\r\n"), "403 not_allowed");
  EXPECT_EQ(co_await on.tried("SKIFF-EGRESS/1 " + on.token("two") + "\r\n" + kConnect), "403 wrong_credential");
  EXPECT_EQ(co_await on.tried(mine + kConnect, "10.244.0.6"), "403 wrong_credential");
  EXPECT_EQ(co_await on.tried(mine + kConnect, "10.244.0.7"), "403 unknown_source");
  EXPECT_EQ(co_await on.tried(kConnect), "407 no_credential");
  EXPECT_EQ(co_await on.tried("SKIFF-EGRESS/1 \r\n" + kConnect), "407 no_credential");
  EXPECT_EQ(co_await on.tried("SKIFF-EGRESS/1 " + std::string(3000, 'a') + "\r\n" + kConnect), "407 no_credential");
}

CO_TEST(ClusterProxy, ATokenCountsNoLongerThanWhatGaveIt, Proxied& on) {
  on.proxy->put(Proxied::pod("one", R"(["pypi.org"])"));
  const std::string mine = "SKIFF-EGRESS/1 " + on.token("one") + "\r\n";
  EXPECT_EQ(co_await on.tried(mine + kConnect), "200");
  on.proxy->erase("one");
  on.proxy->put(Proxied::pod("two", R"(["pypi.org"])"));
  EXPECT_EQ(co_await on.tried(mine + kConnect), "403 wrong_credential") << "the address is another's";
  on.proxy->erase("two");
  on.proxy->put(Proxied::pod("one", R"(["pypi.org"])"));
  EXPECT_EQ(co_await on.tried(mine + kConnect), "200");
  on.key = SigningKey::generate().value();
  EXPECT_EQ(co_await on.tried(mine + kConnect), "403 wrong_credential") << "the key has changed";
  EXPECT_EQ(co_await on.tried("SKIFF-EGRESS/1 " + on.token("one") + "\r\n" + kConnect), "200");
}

CO_TEST(ClusterProxy, ServesNobodyWhoseAddressIsInDoubt, Proxied& on) {
  const std::string mine = "SKIFF-EGRESS/1 " + on.token("one") + "\r\n";
  on.proxy->put(Proxied::pod("one", R"(["pypi.org"])"));
  on.proxy->put(Proxied::pod("two", R"(["pypi.org"])"));
  EXPECT_EQ(co_await on.tried(mine + kConnect), "403 unknown_source") << "two have it";
  on.proxy->erase("two");
  EXPECT_EQ(co_await on.tried(mine + kConnect), "200");
  auto leaving = Proxied::pod("one", R"(["pypi.org"])");
  leaving.json["metadata"]["deletionTimestamp"] = "2026-11-28T00:00:00Z";
  on.proxy->put(leaving);
  EXPECT_EQ(co_await on.tried(mine + kConnect), "403 unknown_source") << "it is being deleted";
  on.proxy->keep({});
  EXPECT_EQ(co_await on.tried(mine + kConnect), "403 unknown_source");
}

CO_TEST(ClusterProxy, CutsWhatTheNewAnnotationDoesNotAllow, Proxied& on) {
  const std::string mine = "SKIFF-EGRESS/1 " + on.token("one") + "\r\n";
  for (const char* const rules : {R"(["other.org"])", "not JSON", "{}", "[1]", R"(["a b"])", ""}) {
    on.proxy->put(Proxied::pod("one", R"(["pypi.org"])"));
    Stream open = on.connect();
    EXPECT_EQ(co_await Proxied::ask(&open, mine + kConnect), "200");
    on.proxy->put(Proxied::pod("one", rules));
    std::array<char, 16> block{};
    const auto got = co_await open.read_some(block, std::chrono::seconds{5});
    EXPECT_TRUE(got && *got == 0) << rules;
    const bool is_policy = std::string_view{rules}.contains("other.org");
    EXPECT_EQ(co_await on.tried(mine + kConnect), is_policy ? "403 not_allowed" : "503 no_policy") << rules;
  }
  auto long_rules = nlohmann::json::array();
  for (int i = 0; i < 900; ++i) long_rules.push_back("name-" + std::to_string(i) + ".example.org");
  on.proxy->put(Proxied::pod("one", long_rules.dump()));
  EXPECT_EQ(co_await on.tried(mine + kConnect), "503 no_policy") << "more than 16 KiB";
}

/// Annotations of whoever may write Pods.
CO_TEST(ClusterProxy, ReadsNoRulesIntoAHostileAnnotation, Proxied& on) {
  const std::string mine = "SKIFF-EGRESS/1 " + on.token("one") + "\r\n";
  auto thousands = nlohmann::json::array();
  for (int i = 0; i < 10'000; ++i) thousands.push_back("n" + std::to_string(i) + ".org");
  auto short_ones = nlohmann::json::array();
  for (int i = 0; i < 1'500; ++i) short_ones.push_back("a" + std::to_string(i) + ".b");
  const std::vector<std::string> hostile{thousands.dump(),
                                         short_ones.dump(),
                                         std::string(16'000, '['),
                                         std::string(8'000, '[') + std::string(8'000, ']'),
                                         R"({"allow":["pypi.org"]})",
                                         R"("pypi.org")",
                                         "null",
                                         "0",
                                         "1e999",
                                         R"(["pypi.org",])",
                                         R"(["pypi.org"] ["evil.org"])",
                                         R"(["pypi.org", null])",
                                         R"([["pypi.org"]])",
                                         "[\"pypi.org\xFF\"]",
                                         "\xEF\xBB\xBF[\"pypi.org\", 1]",
                                         R"(["pypi.org\r\nX: y"])",
                                         R"(["pypi.org\u0000"])",
                                         R"(["pypi\u3002org"])",
                                         R"(["\u0070ypi.org", "b\u00fccher.org"])",
                                         R"(["pypi.org:443:443"])",
                                         R"(["pypi.org", "*."])",
                                         R"(["pypi.org", "*.org"])",
                                         R"(["pypi.org", "**.example.org"])",
                                         R"(["pypi.org", "10.0.0.1"])",
                                         R"(["pypi.org", "@pypi"])",
                                         R"(["pypi.org", ""])",
                                         "[\"pypi.org\"]" + std::string(20'000, ' ')};
  for (const std::string& rules : hostile) {
    on.proxy->put(Proxied::pod("one", rules));
    EXPECT_EQ(co_await on.tried(mine + kConnect), "503 no_policy") << rules.substr(0, 100);
  }
  // A rule that comes twice, or in another form, is one rule.
  on.proxy->put(Proxied::pod("one", R"(["\u0070ypi.org", "PyPI.org.", "pypi.org:443", "pypi.org"])"));
  EXPECT_EQ(co_await on.tried(mine + kConnect), "200");
}

CO_TEST(ClusterProxy, SendsNoSecretWhereAnAnnotationSays, Proxied& on) {
  const std::string mine = "SKIFF-EGRESS/1 " + on.token("one") + "\r\n";
  on.proxy->secrets().put(fakes::kept_secret("token", {"git.example.com"}));
  auto pod = Proxied::pod("one", R"(["pypi.org"])");
  std::string many = "{";
  for (int i = 0; i < 17; ++i) many += (i == 0 ? "\"s" : ",\"s") + std::to_string(i) + "\":[]";
  // No byte goes to the server: either nothing is judged by such a text, or there is no such secret.
  const std::vector<std::pair<std::string, std::string>> hostile{
      {R"({"token": ["pypi.org"]})", "503 secret_missing"},
      {R"({"token": ["pypi.org"], "token": ["pypi.org:443"]})", "503 secret_missing"},
      {R"({"other-team/token": ["pypi.org"]})", "503 secret_missing"},
      {R"({"../other-team-egress/skiff-secret.token": ["pypi.org"]})", "503 secret_missing"},
      {R"({"": ["pypi.org"]})", "503 secret_missing"},
      {R"({"token\u0000": ["pypi.org"]})", "503 secret_missing"},
      {R"({"token": ["pypi.org"], "second": ["pypi.org"]})", "503 no_policy"},
      {R"({"token": "pypi.org"})", "503 no_policy"},
      {R"({"token": [1]})", "503 no_policy"},
      {R"({"token": ["*.org:443:1"]})", "503 no_policy"},
      {R"(["token"])", "503 no_policy"},
      {R"({"token": ["pypi.org"])", "503 no_policy"},
      {std::string(16'000, '{'), "503 no_policy"},
      {many + "}", "503 no_policy"},
      {R"({"token": ["pypi.org"]})" + std::string(20'000, ' '), "503 no_policy"}};
  for (const auto& [annotation, answer] : hostile) {
    pod.json["metadata"]["annotations"]["skiff.dev/egress-secrets"] = annotation;
    on.proxy->put(pod);
    EXPECT_EQ(co_await on.tried(mine + kConnect), answer) << annotation.substr(0, 100);
  }
  EXPECT_TRUE(on.arrived.empty());
}

CO_TEST(ClusterProxy, EndsTheTlsOfAHostWithASecretOrRefusesIt, Proxied& on) {
  const std::string mine = "SKIFF-EGRESS/1 " + on.token("one") + "\r\n";
  auto pod = Proxied::pod("one", R"(["pypi.org"])");
  pod.json["metadata"]["annotations"]["skiff.dev/egress-secrets"] = R"({"token": ["pypi.org"]})";
  on.proxy->put(pod);
  EXPECT_EQ(co_await on.tried(mine + kConnect), "503 secret_missing");
  on.proxy->secrets().put(fakes::kept_secret("token", {"evil.org"}));
  EXPECT_EQ(co_await on.tried(mine + kConnect), "503 secret_missing") << "it is for another host";
  on.proxy->secrets().put(fakes::kept_secret("token", {"pypi.org"}));
  EXPECT_EQ(co_await on.tried(mine + kConnect), "200");
  EXPECT_TRUE(on.arrived.empty()) << "the server is connected for each request";
  on.proxy->secrets().erase("skiff-secret.token");
  EXPECT_EQ(co_await on.tried(mine + kConnect), "503 secret_missing");
  pod.json["metadata"]["annotations"]["skiff.dev/egress-secrets"] = "no JSON";
  on.proxy->put(pod);
  EXPECT_EQ(co_await on.tried(mine + kConnect), "503 no_policy");
}

CO_TEST(ClusterProxy, CutsAllOfAPodThatLeaves, Proxied& on) {
  on.proxy->put(Proxied::pod("one", R"(["pypi.org"])"));
  Stream open = on.connect();
  EXPECT_EQ(co_await Proxied::ask(&open, "SKIFF-EGRESS/1 " + on.token("one") + "\r\n" + kConnect), "200");
  on.proxy->erase("one");
  std::array<char, 16> block{};
  const auto got = co_await open.read_some(block, std::chrono::seconds{5});
  EXPECT_TRUE(got && *got == 0);
}

CO_TEST(ClusterProxy, RefusesASandboxThatReachesTheCanary, Proxied& on) {
  const std::string mine = "SKIFF-EGRESS/1 " + on.token("one") + "\r\n";
  const auto address = Address::ip(kAddress, 40000).value();
  auto waiting = Proxied::pod("one", R"(["pypi.org"])");
  waiting.json["status"]["conditions"] = nlohmann::json::array();
  on.proxy->put(waiting);
  on.proxy->note_canary(address);
  EXPECT_TRUE(on.lines.empty()) << "its agent waits for the fence";
  on.proxy->put(Proxied::pod("one", R"(["pypi.org"])"));
  Stream open = on.connect();
  EXPECT_EQ(co_await Proxied::ask(&open, mine + kConnect), "200");
  on.proxy->note_canary(address);
  EXPECT_EQ(on.lines.back()["code"], "not_fenced");
  std::array<char, 16> block{};
  const auto got = co_await open.read_some(block, std::chrono::seconds{5});
  EXPECT_TRUE(got && *got == 0);
  EXPECT_EQ(co_await on.tried(mine + kConnect), "403 not_fenced");
  // Neither a new policy nor a Pod that is no longer ready makes it good.
  on.proxy->put(waiting);
  on.proxy->put(Proxied::pod("one", R"(["pypi.org", "other.org"])"));
  EXPECT_EQ(co_await on.tried(mine + kConnect), "403 not_fenced");
}

CO_TEST(ClusterProxy, HasNoLineAboutAClientThatGoesWithoutAWord, Proxied& on) {
  Stream one = on.connect();
  one.shutdown_write();
  std::array<char, 16> block{};
  const auto got = co_await one.read_some(block, std::chrono::seconds{5});
  EXPECT_TRUE(got && *got == 0);
  EXPECT_TRUE(on.lines.empty());
}

CO_TEST(ClusterProxy, CountsWithoutTheNamesOfSandboxes, Proxied& on) {
  on.proxy->put(Proxied::pod("secretname", R"(["pypi.org"])"));
  on.proxy->put(Proxied::pod("broken", "not JSON", "10.244.0.6"));
  const std::string mine = "SKIFF-EGRESS/1 " + on.token("secretname") + "\r\n";
  Stream open = on.connect();
  EXPECT_EQ(co_await Proxied::ask(&open, mine + kConnect), "200");
  EXPECT_EQ(co_await on.tried(mine + "CONNECT secretname.evil.org:443 HTTP/1.1\r\n\r\n"), "403 not_allowed");
  EXPECT_EQ(co_await on.tried(kConnect), "407 no_credential");
  const std::string text = on.proxy->metrics();
  for (const char* line : {"{verdict=\"allowed\",why=\"\"} 1\n", "{verdict=\"denied\",why=\"not_allowed\"} 1\n",
                           "{verdict=\"denied\",why=\"no_credential\"} 1\n", "skiff_egress_policies 1\n",
                           "skiff_egress_dial_seconds_count 1\n", "skiff_egress_look_up_seconds_count 1\n",
                           "skiff_egress_generation_seconds_count 2\n", "skiff_egress_canary_hits_total 0\n"}) {
    EXPECT_TRUE(text.contains(line)) << line << text;
  }
  EXPECT_FALSE(text.contains("secretname") || text.contains("evil") || text.contains("10.244")) << text;
  on.proxy->note_canary(Address::ip(kAddress, 1).value());
  EXPECT_TRUE(on.proxy->metrics().contains("skiff_egress_canary_hits_total 1\n"));
  EXPECT_TRUE(on.proxy->metrics().contains("skiff_egress_policies 0\n"));
}

CO_TEST(ClusterProxy, NamesThatNobodyAnswersForStopNoOtherPod, Proxied& on) {
  constexpr std::size_t kPods = 40;
  std::vector<Stream> waiting;
  for (std::size_t pod = 0; pod < kPods; ++pod) {
    const std::string name = "greedy-" + std::to_string(pod);
    const std::string address = "10.244.1." + std::to_string(pod + 1);
    on.proxy->put(Proxied::pod(name, R"(["deaf.example.com"])", address));
    for (std::size_t i = 0; i < 2 * ClusterProxy::kLookUps; ++i) {
      waiting.push_back(on.connect(address));
      const std::string ask = "SKIFF-EGRESS/1 " + on.token(name) + "\r\nCONNECT deaf.example.com:443 HTTP/1.1\r\n\r\n";
      const std::array<std::string_view, 1> parts{ask};
      (void)co_await waiting.back().write(parts, std::chrono::seconds{5});
    }
  }
  while (on.silence.waiting() < kPods * ClusterProxy::kLookUps) co_await pause(std::chrono::milliseconds{1});
  on.proxy->put(Proxied::pod("one", R"(["pypi.org"])"));
  EXPECT_EQ(co_await on.tried("SKIFF-EGRESS/1 " + on.token("one") + "\r\n" + kConnect), "200");
  EXPECT_EQ(on.silence.waiting(), kPods * ClusterProxy::kLookUps) << "no more of one Pod";
}

CO_TEST(ClusterProxy, AnAnswerWithManyAddressesIsNoOrderToConnectToAllOfThem, Proxied& on) {
  on.proxy->put(Proxied::pod("one", R"(["many.example.com"])"));
  EXPECT_EQ(
      co_await on.tried("SKIFF-EGRESS/1 " + on.token("one") + "\r\nCONNECT many.example.com:443 HTTP/1.1\r\n\r\n"),
      "502 connect");
  EXPECT_TRUE(on.proxy->metrics().contains("skiff_egress_dial_seconds_count 8\n")) << on.proxy->metrics();
}

CO_TEST(ClusterProxy, BoundsThoseWhoSayNothing, Proxied& on) {
  on.proxy->put(Proxied::pod("one", R"(["pypi.org"])"));
  std::vector<Stream> silent;
  for (std::size_t i = 0; i < ClusterProxy::kUnknownOfOne; ++i) silent.push_back(on.connect("10.244.0.9"));
  Stream one_more = on.connect("10.244.0.9");
  std::array<char, 16> block{};
  const auto got = co_await one_more.read_some(block, std::chrono::seconds{5});
  EXPECT_TRUE(got && *got == 0);
  EXPECT_EQ(co_await on.tried("SKIFF-EGRESS/1 " + on.token("one") + "\r\n" + kConnect), "200");
}

}  // namespace
}  // namespace skiff::container::egress
