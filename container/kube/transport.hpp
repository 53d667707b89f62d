#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/async/blocking_pool.hpp"
#include "base/clock.hpp"
#include "container/kube/auth/access.hpp"
#include "container/kube/auth/credentials.hpp"
#include "container/kube/connection_pool.hpp"
#include "container/kube/objects/status.hpp"
#include "container/net/backoff.hpp"
#include "protocol/http/client.hpp"

namespace skiff::kube {

/// One request to the API server.
struct Call {
  std::string method = "GET";
  std::string target;  ///< "/api/v1/...", with its query; the server's own path is put before it
  std::string what;    ///< begins every message about the call: "read pod default/a"
  std::string content_type = {};
  std::string body = {};
  bool repeatable = true;  ///< sending it twice has the same effect as once
  bool metadata_only =
      false;  ///< the answer has only the object's metadata: a tenth of a Pod, for the server and for us
};

/// A request that was sent, and its result.
struct Exchanged {
  std::string_view method;
  std::string url;      ///< URL with its query
  unsigned status = 0;  ///< HTTP status; 0: there was no answer
  std::chrono::milliseconds took{0};
};

struct TransportOptions {
  std::size_t connections = 16;  ///< most connections at a time; long answers (watch, log) are not counted
  std::chrono::milliseconds connect_time{10'000};  ///< limit for resolving, proxy and TLS together
  std::chrono::milliseconds answer_time{60'000};   ///< longest silence within an answer
  std::size_t answer_bytes = 64 * 1024 * 1024;     ///< limit of an answer that is read whole, both packed and unpacked
  net::Backoff::Limits retry = {};
  /// Called with the API server's warnings for people (RFC 7234, 5.5: code 299): deprecated versions, unknown fields.
  /// Each text comes once.
  std::function<void(std::string_view)> warn = {};
  /// Called after every request; for a long answer (watch, log) when the answer begins.
  std::function<void(const Exchanged&)> tell = {};
  std::string advice = {};  ///< ends the message about a server that never answered
  /// When the API server last answered without a fault of its own (5xx). Clients of one server may share it.
  std::shared_ptr<SteadyTime> served_at = std::make_shared<SteadyTime>();
};

/// Speaks HTTP with one API server. It handles credentials, TLS, kept connections and retries, and its failures name
/// the call that failed. Reactor thread only; it must outlive the calls on it.
class Transport {
 public:
  /// Fails if certificates or keys are unusable.
  [[nodiscard]] static Result<std::unique_ptr<Transport>> open(Executor executor, std::shared_ptr<BlockingPool> pool,
                                                               Access access, TransportOptions options = {});
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// While this object lives, requests that begin and may be repeated are retried at least until `until`. If there are
  /// several, the latest time counts.
  class Wait {
   public:
    Wait(Transport* transport, SteadyTime until) : transport_{transport}, at_{transport->waits_.insert(until)} {}
    ~Wait() { transport_->waits_.erase(at_); }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    Transport* transport_;
    std::multiset<SteadyTime>::iterator at_;
  };
  [[nodiscard]] Wait wait_until(SteadyTime until) { return {this, until}; }
  /// The latest time of all `Wait`s; in the past if there are none.
  [[nodiscard]] SteadyTime waited_for() const noexcept { return waits_.empty() ? SteadyTime{} : *waits_.rbegin(); }
  [[nodiscard]] const net::Backoff::Limits& retry_limits() const noexcept { return options_.retry; }

  /// Sends the call and reads the whole answer. Any status but 2xx is a failure. A call that may be repeated is retried
  /// within `TransportOptions::retry`, or until the latest `Wait`.
  [[nodiscard]] Task<Outcome<protocol::HttpReply>> send(Call call);

  /// Sends once on a new connection and returns it behind the head of a 2xx answer: the caller reads the body.
  /// `silence` is the longest wait for the next bytes.
  [[nodiscard]] Task<Outcome<std::unique_ptr<protocol::HttpClient>>> stream(Call call,
                                                                            std::chrono::milliseconds silence);

  /// Opens a WebSocket that speaks `subprotocol`, or fails.
  [[nodiscard]] Task<Outcome<protocol::Upgraded>> upgrade(Call call, std::string subprotocol);

  /// Options and headers for HTTP that others send through the API server (api_proxy.hpp). Call `headers` for each
  /// request: credentials are renewed when they expire. Both need this object.
  [[nodiscard]] protocol::HttpClientOptions passage();
  [[nodiscard]] Task<Result<protocol::Headers>> headers();

  [[nodiscard]] const Access& access() const noexcept { return access_; }
  /// The API server's wall clock, exact to a second, from its last answers; our own clock before the first answer.
  [[nodiscard]] WallTime server_now() const noexcept { return wall_now() + server_ahead_; }
  /// See TransportOptions.
  [[nodiscard]] SteadyTime served_at() const noexcept { return *options_.served_at; }
  [[nodiscard]] const ConnectionPool& connections() const noexcept { return pool_; }

 private:
  Transport(Executor executor, std::shared_ptr<BlockingPool> pool, Access access, TransportOptions options);
  [[nodiscard]] protocol::HttpClientOptions client_options() const;
  [[nodiscard]] Task<Result<protocol::Stream>> dial(std::chrono::milliseconds limit);
  [[nodiscard]] Result<> use_certificate(const Credential& credential);
  [[nodiscard]] Task<Result<Credential>> credential();
  /// `edition` receives the edition of the credential in the request.
  [[nodiscard]] Task<Outcome<protocol::HttpClient::Request>> prepare(const Call* call, unsigned* edition);
  [[nodiscard]] Task<Outcome<protocol::HttpReply>> try_once(const Call* call, unsigned* edition);
  [[nodiscard]] Task<Outcome<protocol::HttpResponseHead>> open_once(protocol::HttpClient* client, const Call* call,
                                                                    protocol::Headers more);
  [[nodiscard]] Failure unreachable(const Call& call, Error error) const;
  void note_answer(const protocol::HttpResponseHead& head);
  void note_exchange(const Call& call, unsigned status, SteadyTime begun) const;

  const Executor executor_;
  const Access access_;
  const TransportOptions options_;
  const protocol::Resolver resolver_;
  Credentials credentials_;
  std::string ca_pem_;  ///< CA from which `tls_` was created
  std::string certificate_pem_;
  std::string key_pem_;
  std::shared_ptr<protocol::TlsContext> tls_;
  ConnectionPool pool_;
  std::chrono::seconds server_ahead_{0};
  std::set<std::string> warned_;
  bool answered_ = false;  ///< it has answered at least once, so a server that is away now will be back
  std::multiset<SteadyTime> waits_;
};

}  // namespace skiff::kube
