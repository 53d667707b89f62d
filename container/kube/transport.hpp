#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/blocking_pool.hpp"
#include "base/clock.hpp"
#include "container/kube/auth/access.hpp"
#include "container/kube/auth/credentials.hpp"
#include "container/kube/backoff.hpp"
#include "container/kube/connection_pool.hpp"
#include "container/kube/status.hpp"
#include "protocol/http/client.hpp"

namespace skiff::kube {

/// One request to the API server.
struct Call {
  std::string method = "GET";
  std::string target;  ///< "/api/v1/...", with its query; the server's own path comes in front
  std::string what;    ///< begins every message about it: "read pod default/a"
  std::string content_type = {};
  std::string body = {};
  bool repeatable = true;      ///< sent twice it does the same as once
  bool metadata_only = false;  ///< of an object that is answered: a tenth of a Pod, for the server and for us
};

/// A request that has been sent, and how it went.
struct Exchanged {
  std::string_view method;
  std::string url;      ///< with its query
  unsigned status = 0;  ///< of HTTP; 0: there was no answer
  std::chrono::milliseconds took{0};
};

struct TransportOptions {
  std::size_t connections = 16;                    ///< at once; long answers (watch, log) are not counted
  std::chrono::milliseconds connect_time{10'000};  ///< names, proxy, TLS and all
  std::chrono::milliseconds answer_time{60'000};   ///< longest silence within an answer
  std::size_t answer_bytes = 64 * 1024 * 1024;     ///< largest answer that is read whole, also unpacked
  Backoff::Limits retry = {};
  /// What the API server wants people to know (RFC 7234, 5.5: code 299): deprecated versions, unknown fields. Each text
  /// comes once.
  std::function<void(std::string_view)> warn = {};
  /// Told of every request; of one whose answer is long (watch, log), when it begins.
  std::function<void(const Exchanged&)> tell = {};
  std::string advice = {};  ///< ends the message about a server that never answered
};

/// Speaks HTTP with one API server: credentials, TLS, kept connections, what is worth sending again, and failures that
/// say what failed. Reactor thread only; it must outlive the calls on it.
class Transport {
 public:
  /// Errors: certificates or keys that are unusable.
  [[nodiscard]] static Result<std::unique_ptr<Transport>> open(Executor executor, std::shared_ptr<BlockingPool> pool,
                                                               Access access, TransportOptions options = {});
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// Somebody waits until then for what takes many requests: those that are begun while this lives, and may be sent
  /// again, are until that time at least. Of several the longest counts.
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
  /// In the past when nobody waits.
  [[nodiscard]] SteadyTime waited_for() const noexcept { return waits_.empty() ? SteadyTime{} : *waits_.rbegin(); }
  [[nodiscard]] const Backoff::Limits& retry_limits() const noexcept { return options_.retry; }

  /// Sends, and reads the whole answer. Only a 2xx is one; everything else is a failure. What may be sent again is: for
  /// `TransportOptions::retry`, or for as long as somebody waits.
  [[nodiscard]] Task<Outcome<protocol::HttpReply>> send(Call call);

  /// Sends once, on a connection of its own, which comes back behind the head of a 2xx: its body is the caller's to
  /// read. `silence` is the longest wait for its next bytes.
  [[nodiscard]] Task<Outcome<std::unique_ptr<protocol::HttpClient>>> stream(Call call,
                                                                            std::chrono::milliseconds silence);

  /// Opens a WebSocket that speaks `subprotocol`, or fails.
  [[nodiscard]] Task<Outcome<protocol::Upgraded>> upgrade(Call call, std::string subprotocol);

  /// For HTTP of others that goes through the API server (api_proxy.hpp): how to connect, and what to send along with
  /// each request. Both are good for as long as this object is: credentials are had anew when they expire.
  [[nodiscard]] protocol::HttpClientOptions passage();
  [[nodiscard]] Task<Result<protocol::Headers>> headers();

  [[nodiscard]] const Access& access() const noexcept { return access_; }
  /// The wall clock of the API server, to a second, as far as its answers have told it; ours before the first one.
  [[nodiscard]] WallTime server_now() const noexcept { return wall_now() + server_ahead_; }
  [[nodiscard]] const ConnectionPool& connections() const noexcept { return pool_; }

 private:
  Transport(Executor executor, std::shared_ptr<BlockingPool> pool, Access access, TransportOptions options);
  [[nodiscard]] protocol::HttpClientOptions client_options() const;
  [[nodiscard]] Task<Result<protocol::Stream>> dial(std::chrono::milliseconds limit);
  [[nodiscard]] Result<> use_certificate(const Credential& credential);
  [[nodiscard]] Task<Result<Credential>> credential();
  /// `edition`: of the credential that it goes out with.
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
  std::string ca_pem_;  ///< what the context below was made from
  std::string certificate_pem_;
  std::string key_pem_;
  std::shared_ptr<protocol::TlsContext> tls_;
  ConnectionPool pool_;
  std::chrono::seconds server_ahead_{0};
  std::set<std::string> warned_;
  bool answered_ = false;  ///< at least once: a server that is away now will be back
  std::multiset<SteadyTime> waits_;
};

}  // namespace skiff::kube
