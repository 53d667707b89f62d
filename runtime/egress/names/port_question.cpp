#include "runtime/egress/names/port_question.hpp"

#include <chrono>
#include <tuple>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "protocol/http/client.hpp"
#include "protocol/json/schema.hpp"

namespace skiff::runtime::egress {
namespace {

constexpr std::chrono::milliseconds kAnswerTime{5'000};
constexpr std::size_t kLongestAnswer = std::size_t{16} << 10U;

struct PortAnswer {
  std::vector<std::uint16_t> ports;

  static constexpr auto fields = std::tuple{protocol::field("ports", &PortAnswer::ports, "Ports that rules name")};
};

}  // namespace

Task<Result<std::vector<std::uint16_t>>> ask_ports(const Helper* helper, std::string host) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  protocol::HttpClient proxy{executor,
                             {.host = "skiff-egress",
                              .port = 80,
                              .dial = [helper](std::chrono::milliseconds) { return helper->reach(); },
                              .idle_time = kAnswerTime,
                              .header_bytes = kLongestAnswer}};
  SKIFF_CO_TRY(const auto reply,
               co_await proxy.request({.target = "/.well-known/skiff-egress/ports?host=" + host}, kLongestAnswer));
  const std::string_view code = reply.head.headers.get("X-Skiff-Egress");
  if (code == "not_allowed" || code == "bad_target") co_return std::vector<std::uint16_t>{};
  if (reply.head.status != 200) {
    co_return fail(Errc::io_error,
                   "the egress proxy answers " + std::to_string(reply.head.status) + " " + std::string{code});
  }
  SKIFF_CO_TRY(auto answer, protocol::decode<PortAnswer>(reply.body));
  co_return std::move(answer.ports);
}

}  // namespace skiff::runtime::egress
