#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/async/task.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "protocol/http/client.hpp"
#include "protocol/http/message.hpp"
#include "protocol/json/schema.hpp"

namespace skiff::container {

/// The address of a `skiff serve`, and the API key.
struct ServedOptions {
  std::string url = {};      ///< http://HOST:PORT or https://HOST, also with a path before the routes
  std::string api_key = {};  ///< as `skiff key create` prints it
  std::string api_key_file =
      {};  ///< the file's first word is the key; read again for each request. Wins over `api_key`
  /// PEM file of the authorities for an https:// server; empty: the system's.
  std::string certificate_authority = {};
  std::string server_name = {};  ///< name in the server's certificate; empty: the host of the URL
  /// Called after each request, with status 0 if no answer came; the key is not passed.
  std::function<void(std::string_view method, std::string_view url, unsigned status, std::chrono::milliseconds took)>
      tell = {};
};

/// One request to the server's own API, whose paths are those of its /openapi.json. Every request may be repeated: a
/// creation has its Idempotency-Key.
struct ServerRequest {
  std::string method = "GET";
  std::string path;
  std::vector<std::pair<std::string, std::string>> query = {};
  std::string body = {};                       ///< JSON
  std::string idempotency_key = {};            ///< key of a creation, and of the removal that undoes it
  std::chrono::milliseconds patience{30'000};  ///< limit for the answer, including all repetitions
};

/// The server's answer, with any status.
struct ServerAnswer {
  protocol::HttpResponseHead head;
  std::string body;
  bool is_of_repeat = false;  ///< an earlier answer was lost, so the request may have taken effect twice
};

/// A client of `skiff serve`'s own API. Each request has its own connection, so any number may be under way. The server
/// is not trusted: answers are bounded, redirects are not followed, and the key is sent to no other server. Reactor
/// thread only; it must outlive its requests.
class ServerClient {
 public:
  /// Reads the URL and the files for verifying the server; sends nothing. Errors: `missing_field` without a URL or a
  /// key, `invalid_field`, or the error of reading a file.
  [[nodiscard]] static Result<std::unique_ptr<ServerClient>> open(Executor executor, ServedOptions options);

  /// Sends a request, and repeats it when the answer was lost or the server is about to stop. Errors: `io_error`,
  /// `timeout`, `unauthenticated` for a wrong certificate.
  [[nodiscard]] Task<Result<ServerAnswer>> send(ServerRequest request);
  /// Sends a request as `send` does, and turns an unsuccessful answer into its error (`refusal`).
  [[nodiscard]] Task<Result<ServerAnswer>> ask(ServerRequest request);

  /// The error that an unsuccessful answer means: the server's own code and text, and what to do about it.
  [[nodiscard]] Error refusal(const ServerAnswer& answer) const;
  /// The error for an answer that no `skiff serve` gives: invalid_request.
  [[nodiscard]] Error foreign(std::string_view what) const;
  /// Reads a successful answer by its schema. Unknown fields are ignored.
  template <class T>
  [[nodiscard]] Result<T> read(const ServerAnswer& answer) const {
    std::vector<std::string> unknown;
    auto value = protocol::decode<T>(answer.body, {.max_bytes = kLongestAnswer}, &unknown);
    if (!value) return std::unexpected{foreign(value.error().message)};
    return value;
  }

  /// The URL for people, without a slash at its end.
  [[nodiscard]] const std::string& url() const noexcept { return url_; }
  /// True if the key crosses a network in clear text.
  [[nodiscard]] bool is_in_clear() const noexcept;
  /// The prefix of every path of the server.
  [[nodiscard]] const std::string& path_prefix() const noexcept { return path_prefix_; }
  /// How to connect to it.
  [[nodiscard]] const protocol::HttpClientOptions& connection() const noexcept { return client_; }
  /// The header fields with the current key.
  [[nodiscard]] Result<protocol::Headers> credentials() const;
  /// True if the server was ever reached.
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
