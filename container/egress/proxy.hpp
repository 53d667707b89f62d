#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/async/task.hpp"
#include "base/async/task_group.hpp"
#include "base/metrics.hpp"
#include "base/unique_fd.hpp"
#include "container/egress/audit.hpp"
#include "container/egress/judge.hpp"
#include "container/egress/names/wildcard_names.hpp"
#include "container/egress/policy.hpp"
#include "container/egress/room.hpp"
#include "container/egress/terminate/terminator.hpp"
#include "protocol/http/client.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::container::egress {

struct Passage;

/// The egress proxy of one sandbox. A connection begins with `CONNECT HOST:PORT`, of HTTP or SOCKS5, and becomes a
/// tunnel if the policy allows it and the TLS in it asks for the same host. Nothing is sent to the server before that.
/// Or it carries requests without TLS, of which each is judged: with `http://` URLs, or in a tunnel to a port for which
/// the policy has no TLS. Or it asks which ports of a host the policy allows. What may not pass is answered, and the
/// connection closed. Reactor thread only.
class Proxy {
 public:
  /// Connections at a time.
  static constexpr std::size_t kConnections = 256;

  struct Options {
    std::string sandbox;   ///< its name, for people
    std::string holder;    ///< of what it has of the room
    Room* room = nullptr;  ///< outlives the proxy
    protocol::Resolver resolve;
    std::function<bool(const protocol::Address&)> is_public;
    Audit* audit = nullptr;                         ///< outlives the proxy
    std::chrono::milliseconds first_words{10'000};  ///< for the head of the request, and again for the ClientHello
    std::chrono::milliseconds dial{15'000};         ///< for the look-up and all its connects
    Terminator* terminator = nullptr;               ///< for the hosts that get a secret, if any; outlives the proxy
    Histogram* dials = nullptr;                     ///< takes the time of each connect; outlives the proxy
  };

  Proxy(Executor executor, Options options);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  /// Serves a connection of the sandbox, from which these bytes have been read already.
  void serve(UniqueFd socket, std::string already_read = {});
  /// Judges by this policy from now on; none refuses everything, as before the first call. Connections that it does not
  /// allow are cut, also while they are being made. Returns how many.
  std::size_t replace(std::optional<Policy> policy);
  [[nodiscard]] std::size_t connections() const noexcept { return passages_.size(); }
  /// What the connections have carried that were allowed and have not ended.
  [[nodiscard]] protocol::Traffic carried() const;
  /// Ends all connections.
  [[nodiscard]] Task<> stop();

 private:
  static Task<> run(Proxy* self, protocol::Stream client, std::string already_read);
  struct Wait;
  [[nodiscard]] Task<std::optional<Refusal>> open(Passage* passage);
  [[nodiscard]] Task<std::optional<Refusal>> read_target(Passage* passage);
  [[nodiscard]] static std::optional<Refusal> read_request(Passage* passage, std::size_t size);
  [[nodiscard]] std::optional<Refusal> answer_question(Passage* passage);
  [[nodiscard]] bool is_plain(const Target& target) const;
  [[nodiscard]] Task<std::optional<Refusal>> read_socks(Passage* passage, const Wait* wait);
  [[nodiscard]] Task<std::optional<Refusal>> read_hello(Passage* passage);
  [[nodiscard]] static Task<std::optional<Refusal>> read_more(Passage* passage, const Wait* wait);
  [[nodiscard]] Task<std::optional<Refusal>> reach(Passage* passage);
  [[nodiscard]] Task<std::expected<protocol::Stream, Refusal>> reach_plainly(Passage* passage, Target target);
  [[nodiscard]] std::optional<Refusal> reach_again(Passage* passage);
  [[nodiscard]] std::optional<Refusal> let_pass(Passage* passage);
  [[nodiscard]] Task<std::optional<Refusal>> dial(Passage* passage);
  [[nodiscard]] Task<std::optional<Refusal>> dial_within(Passage* passage);
  [[nodiscard]] Task<> serve_requests(Passage* passage);
  [[nodiscard]] Task<> serve_secrets(Passage* passage);
  [[nodiscard]] Task<bool> send(Passage* passage, std::string_view text);
  [[nodiscard]] std::optional<Refusal> judge_now(const Passage& passage) const;
  [[nodiscard]] std::optional<Refusal> judge_secret(const Passage& passage) const;
  [[nodiscard]] AuditEntry entry(const Passage& passage, std::string_view verdict) const;
  void log_refusal(Passage* passage, const Refusal& refusal);
  void log_end(Passage* passage);
  [[nodiscard]] static std::string text_of(const Passage& passage, const Refusal& refusal);
  [[nodiscard]] Task<> refuse(Passage* passage, Refusal refusal);

  Executor executor_;
  Options options_;
  std::optional<Policy> policy_;
  WildcardNames names_;
  std::list<Passage*> passages_;
  TaskGroup tasks_;
};

}  // namespace skiff::container::egress
