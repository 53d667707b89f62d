#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/task.hpp"
#include "protocol/http/client.hpp"
#include "protocol/http/message.hpp"
#include "protocol/json/schema.hpp"

namespace skiff::container {

/// A `skiff serve`, and by which key it is asked.
struct ServedOptions {
  std::string url = {};           ///< http://HOST:PORT, https://HOST, with a path before the routes or not
  std::string api_key = {};       ///< as `skiff key create` prints it
  std::string api_key_file = {};  ///< its first word is the key; read again for each request. Wins over `api_key`
  /// File with PEM of who vouches for an https:// server; empty: the system's.
  std::string certificate_authority = {};
  std::string server_name = {};  ///< for whom its certificate is; empty: the host of the URL
  /// Told of each request when its answer is there, or is not (status 0); without the key.
  std::function<void(std::string_view method, std::string_view url, unsigned status, std::chrono::milliseconds took)>
      tell = {};
};

/// One request to the server's own API, whose paths are those of its /openapi.json. Whatever is asked may be asked
/// again: a creation has its Idempotency-Key.
struct ServerRequest {
  std::string method = "GET";
  std::string path;
  std::vector<std::pair<std::string, std::string>> query = {};
  std::string body = {};                       ///< JSON
  std::string idempotency_key = {};            ///< of a creation, and of what takes it back
  std::chrono::milliseconds patience{30'000};  ///< for the answer, with all that is asked again
};

/// What the server has answered, whatever it is.
struct ServerAnswer {
  protocol::HttpResponseHead head;
  std::string body;
  bool is_of_repeat = false;  ///< an answer before this one was lost, so this may be the second time
};

/// Speaks to the own API of a `skiff serve`, a connection for each request, so any number may be under way. What it
/// says is checked like a stranger's: answers are bounded, a redirect is not followed, and the key goes nowhere else.
/// Reactor thread only; it must outlive its requests.
class ServerClient {
 public:
  /// Reads the URL and what it verifies the server by; nothing is sent. `missing_field` without a URL or a key,
  /// `invalid_field`, or what reading a file says.
  [[nodiscard]] static Result<std::unique_ptr<ServerClient>> open(Executor executor, ServedOptions options);

  /// Sends, and sends again when the answer was lost or the server is about to stop. Errors: `io_error`, `timeout`,
  /// `unauthenticated` for a certificate that is not the right one.
  [[nodiscard]] Task<Result<ServerAnswer>> send(ServerRequest request);
  /// The same, and any answer but one of success is the error that it means: `refusal`.
  [[nodiscard]] Task<Result<ServerAnswer>> ask(ServerRequest request);

  /// What an answer means that is none of success: the server's own code and sentence, and what to do about it.
  [[nodiscard]] Error refusal(const ServerAnswer& answer) const;
  /// Of an answer that no `skiff serve` gives: invalid_request.
  [[nodiscard]] Error foreign(std::string_view what) const;
  /// An answer of success as the server has declared it. Fields that are not known here are passed over.
  template <class T>
  [[nodiscard]] Result<T> read(const ServerAnswer& answer) const {
    std::vector<std::string> unknown;
    auto value = protocol::decode<T>(answer.body, {.max_bytes = kLongestAnswer}, &unknown);
    if (!value) return std::unexpected{foreign(value.error().message)};
    return value;
  }

  /// For people, without a slash at its end.
  [[nodiscard]] const std::string& url() const noexcept { return url_; }
  /// Whether the key crosses a network in clear text.
  [[nodiscard]] bool is_in_clear() const noexcept;
  /// Before every path of the server.
  [[nodiscard]] const std::string& path_prefix() const noexcept { return path_prefix_; }
  /// How to connect to it.
  [[nodiscard]] const protocol::HttpClientOptions& connection() const noexcept { return client_; }
  /// What shows the key, as it is now.
  [[nodiscard]] Result<protocol::Headers> credentials() const;
  /// Whether anything was ever sent to it.
  [[nodiscard]] bool was_reached() const noexcept { return was_reached_; }

  static constexpr std::size_t kLongestAnswer = std::size_t{16} << 20U;

 private:
  ServerClient(Executor executor, ServedOptions options);
  [[nodiscard]] Result<> read_url();
  [[nodiscard]] Task<Result<ServerAnswer>> send_once(protocol::HttpClient::Request request, SteadyTime until);

  Executor executor_;
  ServedOptions options_;
  std::string url_;
  std::string path_prefix_;
  protocol::HttpClientOptions client_;
  bool was_reached_ = false;
};

}  // namespace skiff::container
