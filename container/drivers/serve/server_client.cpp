#include "container/drivers/serve/server_client.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/async/deadline.hpp"
#include "base/async/with_timeout.hpp"
#include "base/small_file.hpp"
#include "container/agent/client.hpp"
#include "container/net/resolver.hpp"
#include "container/net/retry_after.hpp"
#include "container/net/url.hpp"
#include "protocol/http/target.hpp"
#include "protocol/json/problem.hpp"
#include "protocol/json/utf8.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr std::size_t kLongestApiKeyFile = std::size_t{64} << 10U;
constexpr std::size_t kLongestApiKey = 4096;
/// Longest text of a refusal; one about a sandbox that did not come up contains the end of its log.
constexpr std::size_t kLongestDetail = 8 * 1024;
constexpr milliseconds kConnectTime{10'000};
/// Time for repetitions, from the first failure on: in this time a server restarts, or another process takes over.
constexpr milliseconds kRepeatTime{15'000};
constexpr milliseconds kFirstRepeat{100};
constexpr milliseconds kLongestRepeat{2'000};

/// Returns the key; an error if it is empty, too long, or cannot be in a header field.
Result<std::string> checked_key(std::string key, std::string_view where) {
  const bool is_plain = std::ranges::all_of(key, [](char c) { return c > ' ' && c < '\x7f'; });
  if (!key.empty() && key.size() <= kLongestApiKey && is_plain) return key;
  return fail(
      Errc::invalid_field,
      std::string{where} + (key.empty() ? " is empty" : " does not contain an API key: expected one word of ASCII"),
      std::string{where});
}

std::string first_word_of(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = std::min(text.find_first_not_of(kBlank), text.size());
  return std::string{text.substr(begin, std::min(text.find_first_of(kBlank, begin), text.size()) - begin)};
}

std::string target_of(const ServerRequest& request) {
  std::string target = request.path;
  char separator = '?';
  for (const auto& [name, value] : request.query) {
    target += std::exchange(separator, '&') + protocol::percent_encode(name) + "=" + protocol::percent_encode(value);
  }
  return target;
}

bool is_problem(const protocol::HttpResponseHead& head) {
  return head.headers.get("Content-Type").starts_with(protocol::kProblemType);
}

/// True for an answer that another process of the same server would not give: this one is about to stop, or is missing
/// behind its proxy.
bool is_of_a_server_that_goes(const ServerAnswer& answer) {
  if (!is_problem(answer.head)) return answer.head.status == 502 || answer.head.status == 503;
  const json said = protocol::parse_json(answer.body).value_or(json{});
  return answer.head.status == 503 && text_at(said, "code") == name(Errc::draining);
}

/// Sends in steps: `HttpClient::request` would repeat a request without telling the caller.
Task<Result<ServerAnswer>> exchange(protocol::HttpClient* client, protocol::HttpClient::Request request) {
  const std::string body = std::move(request.body);
  const std::array<std::string_view, 1> parts{body};
  SKIFF_CO_TRY_VOID(co_await client->start(std::move(request), body.size()));
  SKIFF_CO_TRY_VOID(co_await client->write(parts));
  SKIFF_CO_TRY(auto head, co_await client->read_head());
  SKIFF_CO_TRY(auto said, co_await client->read_body(ServerClient::kLongestAnswer));
  co_return ServerAnswer{.head = std::move(head), .body = std::move(said)};
}

}  // namespace

ServerClient::ServerClient(Executor executor, ServedOptions options)
    : executor_{executor}, options_{std::move(options)} {}

Result<std::unique_ptr<ServerClient>> ServerClient::open(Executor executor, ServedOptions options) {
  std::unique_ptr<ServerClient> client{new ServerClient{executor, std::move(options)}};
  SKIFF_TRY_VOID(client->read_url());
  SKIFF_TRY_VOID(client->credentials());
  return client;
}

Result<> ServerClient::read_url() {
  const std::string& text = options_.url;
  if (text.empty()) {
    return fail(Errc::missing_field,
                "--driver serve needs the address of a `skiff serve`: --url https://HOST, or SKIFF_URL", "--url");
  }
  if (!text.starts_with("http://") && !text.starts_with("https://")) {
    return fail(Errc::invalid_field, "--url: with --driver serve write it as http://HOST:PORT or https://HOST:PORT",
                "--url");
  }
  SKIFF_TRY(auto url, net::parse_url(text, "--url"));
  if (!url.user.empty() || !url.password.empty()) {
    return fail(Errc::invalid_field, "--url must not contain a user or a password: set the API key in SKIFF_API_KEY",
                "--url");
  }
  client_.host = url.host;
  client_.port = url.port;
  client_.connect_time = kConnectTime;
  client_.resolver = net::system_resolver();
  url_ = url.text();
  path_prefix_ = url.path;
  if (!url.tls) return {};
  auto tls = protocol::TlsContext::client({.ca_file = options_.certificate_authority});
  if (!tls) {
    return fail(tls.error().code, "--agent-certificate-authority: " + tls.error().message,
                "--agent-certificate-authority");
  }
  client_.tls = std::move(*tls);
  client_.tls_server_name = options_.server_name;
  return {};
}

bool ServerClient::is_in_clear() const noexcept {
  const std::string& host = client_.host;
  const bool is_here = host == "localhost" || host.starts_with("127.") || host == "::1";
  return client_.tls == nullptr && !is_here;
}

Result<protocol::Headers> ServerClient::credentials() const {
  std::string key = options_.api_key;
  std::string where = "SKIFF_API_KEY";
  if (!options_.api_key_file.empty()) {
    where = "--api-key-file";
    auto text = read_small_file(options_.api_key_file, kLongestApiKeyFile);
    if (!text) return fail(text.error().code, where + ": " + text.error().message, where);
    key = first_word_of(*text);
    wipe(*text);
  } else if (key.empty()) {
    return fail(Errc::missing_field,
                "--driver serve needs an API key: SKIFF_API_KEY, or --api-key-file FILE; `skiff key create NAME` "
                "makes one where the server runs",
                "--api-key-file");
  }
  SKIFF_TRY(auto good, checked_key(std::move(key), where));
  return protocol::Headers{{"X-API-Key", good}};
}

Error ServerClient::foreign(std::string_view what) const {
  return {Errc::invalid_request, "what answers at " + url_ + " is not `skiff serve`: " + std::string{what}};
}

Task<Result<ServerAnswer>> ServerClient::send_once(protocol::HttpClient::Request request, SteadyTime until) {
  protocol::HttpClientOptions options = client_;
  options.idle_time = std::max(std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now()), kFirstRepeat);
  protocol::HttpClient client{executor_, std::move(options)};
  SKIFF_CO_TRY_VOID(co_await client.connect());
  was_reached_ = true;
  auto answer = co_await within(until, exchange(&client, std::move(request)));
  if (!answer) co_return fail(Errc::timeout, "it did not answer in time");
  co_return std::move(*answer);
}

Task<Result<ServerAnswer>> ServerClient::send(ServerRequest request) {
  const auto began = std::chrono::steady_clock::now();
  const auto until = began + request.patience;
  const std::string target = target_of(request);
  std::optional<SteadyTime> failed_at;
  bool may_have_arrived = false;
  for (milliseconds wait = kFirstRepeat;; wait = std::min(wait * 2, kLongestRepeat)) {
    SKIFF_CO_TRY(auto fields, credentials());
    if (!request.body.empty()) fields.add("Content-Type", "application/json");
    if (!request.idempotency_key.empty()) fields.add("Idempotency-Key", request.idempotency_key);
    protocol::HttpClient::Request one{
        .method = request.method, .target = path_prefix_ + target, .headers = std::move(fields), .body = request.body};
    const auto asked_at = std::chrono::steady_clock::now();
    auto answer = co_await send_once(std::move(one), until);
    const auto now = std::chrono::steady_clock::now();
    if (options_.tell) {
      options_.tell(request.method, url_ + target, answer ? answer->head.status : 0,
                    std::chrono::floor<milliseconds>(now - asked_at));
    }
    const bool goes = answer && is_of_a_server_that_goes(*answer);
    // A server that was never reached is probably not there: report it at once.
    const bool was_lost = !answer && answer.error().code == Errc::io_error && was_reached_;
    if (!failed_at) failed_at = now;
    if (answer) wait = std::max(wait, std::min(net::retry_after(answer->head.headers).value_or(wait), kLongestRepeat));
    const bool has_time = now + wait < std::min(*failed_at + kRepeatTime, until);
    if ((goes || was_lost) && has_time) {
      may_have_arrived = true;
      co_await pause(wait);
      continue;
    }
    if (answer) {
      answer->is_of_repeat = may_have_arrived;
      co_return answer;
    }
    Error& error = answer.error();
    const bool is_strange = error.code == Errc::unauthenticated;
    co_return fail(error.code,
                   "the server at " + url_ + " can't be asked: " + error.message +
                       (is_strange ? "; --agent-certificate-authority FILE names its authority" : ""),
                   error.field);
  }
}

Task<Result<ServerAnswer>> ServerClient::ask(ServerRequest request) {
  SKIFF_CO_TRY(auto answer, co_await send(std::move(request)));
  if (answer.head.status >= 200 && answer.head.status < 300) co_return answer;
  co_return std::unexpected{refusal(answer)};
}

Error ServerClient::refusal(const ServerAnswer& answer) const {
  const unsigned status = answer.head.status;
  if (status >= 300 && status < 400) {
    const std::string_view where = answer.head.headers.get("Location").substr(0, kLongestDetail);
    return {Errc::invalid_request, "the server at " + url_ + " sends requests on to \"" + std::string{where} +
                                       "\", where the API key does not follow: if that is right, it is the --url"};
  }
  const json said = protocol::parse_json(answer.body).value_or(json{});
  const std::string word = text_at(said, "code");
  if (!is_problem(answer.head) || !said.is_object() || word.empty()) {
    return foreign("it says " + std::to_string(status) + " " + answer.head.reason.substr(0, kLongestDetail));
  }
  std::string detail = text_at(said, "detail");
  if (detail.empty()) detail = text_at(said, "title");
  detail = protocol::to_valid_utf8(std::string_view{detail}.substr(0, kLongestDetail));
  // A server that is newer than this client may have codes that this client does not know.
  Error error{find_code(word).value_or(status >= 500 ? Errc::io_error : Errc::invalid_request), std::move(detail),
              text_at(said, "field")};
  if (status == 401) {
    error.message = "the server at " + url_ + " does not let us in: " + error.message + "; give another key by " +
                    (options_.api_key_file.empty() ? "SKIFF_API_KEY" : "--api-key-file");
  } else if (error.code == Errc::insufficient_scope) {
    error.message += "; `skiff key create NAME --scope ...` makes one that does, where the server runs";
  } else if (status == 429) {
    if (const auto after = net::retry_after(answer.head.headers)) {
      const auto seconds = std::chrono::ceil<std::chrono::seconds>(*after).count();
      error.message += "; ask again in " + std::to_string(seconds) + " s, or end one of those that `skiff ps` lists";
    }
  }
  return error;
}

}  // namespace skiff::container
