#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/async/task.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/agent/endpoint.hpp"
#include "container/agent/token.hpp"
#include "container/serve/gateway/destination.hpp"
#include "container/serve/gateway/kept_connections.hpp"
#include "container/serve/gateway/passages.hpp"
#include "container/serve/gateway/wake.hpp"
#include "container/trace/tracing.hpp"
#include "protocol/http/server/exchange.hpp"
#include "protocol/http/server/relay.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::container::serve {

/// A sandbox and its tenant.
struct SandboxRef {
  std::string tenant;  ///< the server's name for it; the gateway only passes it on
  std::string sandbox;
};

/// Whether recently read data may be used.
enum class Look : std::uint8_t { known, anew };

/// The sandboxes that the gateway leads to. All four calls may fail with sandbox_not_found, sandbox_not_running, or an
/// error of the connection. Reactor thread only.
class Sandboxes {
 public:
  virtual ~Sandboxes() = default;

  /// An id of the sandbox's current run. Every run under this name has another id, so connections can be used as long
  /// as it stays the same. `sandbox_not_running` for a stopped sandbox: the gateway then calls `start` and asks again.
  [[nodiscard]] virtual Task<Result<std::string>> run_of(SandboxRef of) = 0;
  /// The endpoint of its agent, with a source of tokens for `grant`, which may live a little longer. An address may
  /// later belong to another sandbox, so use `Look::anew` before connecting.
  [[nodiscard]] virtual Task<Result<Endpoint>> agent(SandboxRef of, TokenGrant grant, Look look) = 0;
  /// Connects to one of the ports on which its agent speaks a dialect.
  [[nodiscard]] virtual Task<Result<protocol::Stream>> dial(SandboxRef of, std::uint16_t port) = 0;
  /// Starts a stopped sandbox and waits until its agent answers; it has a time limit of its own. It is called once at a
  /// time for a sandbox. `sandbox_not_running` if its owner does not want requests to wake it.
  [[nodiscard]] virtual Task<Result<>> start(SandboxRef of) = 0;
};

/// The client's rights for the request's sandbox, and the fields that contained its credential.
struct Permission {
  std::string tenant;
  /// Scopes of an agent's token (read, exec, ports, admin), separated by spaces. The agent's own API needs one other
  /// than `ports`, a dialect needs `exec`, any other port `ports`; `admin` includes all.
  std::string scope;
  /// The key or link of the tenant: the agent counts its resources per subject.
  std::string subject = {};
  /// The end of the permission, and of the connections that it has opened.
  std::optional<WallTime> ends = {};
  /// The giver of the permission: when it is gone, the connections are closed.
  Giver giver = {};
  /// The fields with the client's credential, beside those of `remove_credentials` and the preview's cookie; they are
  /// not passed on. If "Authorization" is not among them, that field belongs to the application.
  std::vector<std::string> credential_fields = {};
  /// They replace the client's: the credential by which the server at the port knows it.
  protocol::Headers fields_behind = {};
  /// The client is a page of this server's own origin, see GatewayOptions::for_own_pages.
  bool for_own_page = false;
};

struct GatewayOptions {
  /// A name that distinguishes this process from others in Via (RFC 9110, 7.6.3); a token.
  std::string name = {};
  /// The port number by which clients address the agent's own API, wherever it listens.
  std::uint16_t agent_port = 7070;
  /// The ports of the agent's dialects. They are dialled directly, because `/v1/ports` refuses the agent's own ports.
  std::vector<std::uint16_t> dialect_ports = {49983, 49999};
  /// A proxy in front names the client: its X-Forwarded-* are kept. Otherwise these fields come from the client, and
  /// are removed.
  bool behind_proxy = false;
  /// The clients are pages of this server's own origin. Their requests start no stopped sandbox, and an answer of a
  /// sandbox sets no cookies of that origin and clears nothing of it. Hosts that name a port are other origins.
  bool for_own_pages = false;
  /// This server's own origin has a page, and other clients, too: what a sandbox answers there never runs as a document
  /// of that origin. Hosts that name a port are other origins.
  bool beside_own_page = false;
  std::chrono::milliseconds connect_time{10'000};
  /// Longest time from the end of a request to the head of its answer, and for a reader of an upgraded connection that
  /// takes no bytes.
  std::chrono::milliseconds answer_time{300'000};
  std::chrono::milliseconds stall_time{30'000};  ///< for a server that takes no bytes of a request
  std::chrono::seconds probe_idle{15};           ///< silence of a client after which it is probed
  std::chrono::seconds longest{12 * 3600};       ///< longest time of a request or an upgraded connection
  WakeLimits wake = {};
  KeptLimits kept = {};
  std::size_t large_blocks = 32;  ///< number of blocks of 1 MiB, see protocol::LargeBlocks
};

/// Passes requests on to their sandboxes, and the answers back: bodies of any size in both directions at the same time,
/// server-sent events, WebSockets, each at the pace of its receiver (protocol/http/server/relay.hpp). It connects only
/// to agents: to their own API, through it to servers on ports of the sandbox, including loopback (docs/adr/0023), and
/// to their dialects. A client's credential is not passed on. Reactor thread only; it must outlive its requests.
class Gateway {
 public:
  Gateway(Executor executor, Sandboxes& sandboxes, GatewayOptions options);
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  /// Answers the request; a stopped sandbox is started first. Errors before the answer has begun: those of `Sandboxes`
  /// and `Wakes`; insufficient_scope; invalid_request for a request that has passed through this process before;
  /// bad_gateway and timeout for the agent; invalid_request, request_timeout and cancelled for the client;
  /// unauthenticated once the permission has ended. `sandbox_starting` leaves Retry-After in the exchange. Where there
  /// is a `trace`, the start and the request are spans of it, and the sandbox gets the `traceparent` of the latter.
  [[nodiscard]] Task<Result<>> pass(protocol::HttpExchange& http, Destination destination, Permission permission,
                                    TraceParent trace = {});

  /// Ends the starts that are under way, and closes kept connections. Call it when no request is passed on any more.
  [[nodiscard]] Task<> stop();

  /// The requests that are passed on now.
  [[nodiscard]] Passages& passages() noexcept { return passages_; }
  /// Number of open upgraded connections.
  [[nodiscard]] std::size_t upgraded() const noexcept { return upgraded_; }
  /// Number of idle connections to sandboxes.
  [[nodiscard]] std::size_t kept() const noexcept { return kept_.size(); }
  /// Number of unused large blocks.
  [[nodiscard]] std::size_t free_blocks() const noexcept { return large_blocks_.left(); }

 private:
  struct Passage;
  struct Way;
  [[nodiscard]] Task<Result<>> pass_once(Passage* passage);
  [[nodiscard]] Task<Result<>> pass_by_kept_or_new(Passage* passage);
  [[nodiscard]] Task<Result<Way>> way_to(const Passage* passage);
  [[nodiscard]] Task<Result<Way>> way_to_agent(const Passage* passage, Look look);
  [[nodiscard]] Task<Result<>> wake(const Passage* passage);
  [[nodiscard]] Task<> carry(WallTime ends, Giver giver, protocol::Upgraded client, protocol::Upgraded server);

  Executor executor_;
  Sandboxes& sandboxes_;
  GatewayOptions options_;
  Wakes wakes_;
  KeptConnections kept_;
  Passages passages_;
  protocol::LargeBlocks large_blocks_;
  std::size_t upgraded_ = 0;
};

}  // namespace skiff::container::serve
