#include "container/serve/keys/access_token.hpp"

#include <chrono>
#include <utility>

#include <boost/asio/this_coro.hpp>
#include <nlohmann/json.hpp>

#include "container/sandbox/dialects.hpp"
#include "protocol/http/client.hpp"

namespace skiff::container::serve {
namespace {

constexpr std::chrono::milliseconds kTellPatience{10'000};
constexpr std::size_t kLongestReply = std::size_t{64} << 10U;

}  // namespace

Task<Result<>> tell_access_token(Driver* driver, std::string id, std::string token) {
  protocol::HttpClientOptions options{.host = "localhost", .idle_time = kTellPatience};
  options.dial = [driver, &id](std::chrono::milliseconds) { return driver->dial(id, kE2bPort); };
  protocol::HttpClient agent{co_await boost::asio::this_coro::executor, std::move(options)};
  const nlohmann::json body{{"accessToken", std::move(token)}};
  protocol::HttpClient::Request request{
      .method = "POST", .target = "/init", .headers = {{"Content-Type", "application/json"}}, .body = body.dump()};
  auto reply = co_await agent.request(std::move(request), kLongestReply);
  if (reply && reply->head.status / 100 == 2) co_return Result<>{};
  const std::string why = reply ? "status " + std::to_string(reply->head.status) : reply.error().message;
  co_return fail(Errc::bad_gateway, "a sandbox of the pool does not accept its access token: " + why);
}

}  // namespace skiff::container::serve
