#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/task.hpp"
#include "container/agent/endpoint.hpp"
#include "container/agent/token.hpp"
#include "container/serve/gateway/kept_connections.hpp"
#include "container/serve/gateway/passages.hpp"
#include "container/serve/gateway/place.hpp"
#include "container/serve/gateway/wake.hpp"
#include "container/trace/tracing.hpp"
#include "protocol/http/exchange.hpp"
#include "protocol/http/relay.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::container::serve {

/// A sandbox, and in whose hands it is.
struct SandboxRef {
  std::string tenant;  ///< as the server names it; the gateway only hands it on
  std::string sandbox;
};

/// Whether something that was found out a short time ago will do.
enum class Look : std::uint8_t { known, anew };

/// The sandboxes that the gateway leads to. Errors of all four: sandbox_not_found, sandbox_not_running, and what went
/// wrong on the way. Reactor thread only.
class Sandboxes {
 public:
  virtual ~Sandboxes() = default;

  /// A text for what runs there now: any that will ever run under this name has another one, so connections to it are
  /// good for as long as the text stays the same. `sandbox_not_running` for one that is stopped: the gateway then calls
  /// `start`, and asks again.
  [[nodiscard]] virtual Task<Result<std::string>> run_of(SandboxRef of) = 0;
  /// How its agent is reached, with a source of tokens for `grant`, which may live a little longer. An address may
  /// become somebody else's: who connects to it looks anew.
  [[nodiscard]] virtual Task<Result<Endpoint>> agent(SandboxRef of, TokenGrant grant, Look look) = 0;
  /// A connection to one of the ports on which its agent speaks a dialect.
  [[nodiscard]] virtual Task<Result<protocol::Stream>> dial(SandboxRef of, std::uint16_t port) = 0;
  /// Starts one that was stopped, and ends when its agent answers; it ends by itself in any case. Called once at a time
  /// for a sandbox. `sandbox_not_running` for one that its owner does not want to be woken.
  [[nodiscard]] virtual Task<Result<>> start(SandboxRef of) = 0;
};

/// What whoever asks may do with the sandbox that the request is for, and how his credential was shown.
struct Permission {
  std::string tenant;
  /// Of read, exec, ports and admin, separated by spaces: what a token of the agent may say. Its own API needs another
  /// one than `ports`, a dialect `exec`, any other port `ports`; `admin` is all of them.
  std::string scope;
  /// Which of the tenant's keys or links it is: the agent counts what each takes.
  std::string subject = {};
  /// When it ends, and with it what it has opened.
  std::optional<WallTime> ends = {};
  /// What it hangs on: when that is gone, what it has opened is closed.
  Giver giver = {};
  /// The fields in which the client has shown his credential, beside those of `remove_credentials` and the preview's
  /// cookie: they go no further. With "Authorization" absent here, that field is the application's own.
  std::vector<std::string> credential_fields = {};
};

struct GatewayOptions {
  /// What tells this process from the others: in Via (RFC 9110, 7.6.3), a token.
  std::string name = {};
  /// The port by which clients mean the agent's own API, wherever it listens.
  std::uint16_t agent_port = 7070;
  /// Those of the agent's dialects: they are dialled as they are, for `/v1/ports` refuses the agent's own.
  std::vector<std::uint16_t> dialect_ports = {49983};
  /// A proxy in front says who the client is: its X-Forwarded-* are kept. Else they are the client's own words, and
  /// left out.
  bool behind_proxy = false;
  std::chrono::milliseconds connect_time{10'000};
  /// From the end of a request to its answer's head; and for who takes nothing of what the request was upgraded to.
  std::chrono::milliseconds answer_time{300'000};
  std::chrono::milliseconds stall_time{30'000};  ///< for a server that takes nothing of a request
  std::chrono::seconds probe_idle{15};           ///< of a silent client, until it is asked for a sign of life
  std::chrono::seconds longest{12 * 3600};       ///< that one request, or what it upgraded to, may last
  WakeLimits wake = {};
  KeptLimits kept = {};
  std::size_t large_blocks = 32;  ///< of 1 MiB, see protocol::LargeBlocks
};

/// Passes requests on to the sandboxes that they are meant for, and the answers back: bodies of any size both ways at
/// once, server-sent events, WebSockets, each at the pace of its receiver (protocol/http/relay.hpp). It connects to
/// agents and to nothing else: to their own API, through that to the servers on ports of the sandbox, loopback included
/// (docs/adr/0023), and to their dialects. A client's credential goes no further than this. Reactor thread only; it
/// must outlive what it passes.
class Gateway {
 public:
  Gateway(Executor executor, Sandboxes& sandboxes, GatewayOptions options);
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  /// Answers the request. One that was stopped is started first. Errors, while nothing was answered yet: those of
  /// `Sandboxes` and `Wakes`; insufficient_scope; invalid_request for one that has passed here before; bad_gateway and
  /// timeout of the agent; invalid_request, request_timeout and cancelled of the client; unauthenticated once the
  /// permission has ended. `sandbox_starting` leaves Retry-After in the exchange. Where there is a `trace`, the start
  /// and the request are spans of it, and the sandbox gets the `traceparent` of the latter.
  [[nodiscard]] Task<Result<>> pass(protocol::HttpExchange& http, Placed placed, Permission permission,
                                    TraceParent trace = {});

  /// Ends the starts that are under way, and closes what is kept. Call it when nothing is passed any more.
  [[nodiscard]] Task<> stop();

  /// What is passed on now.
  [[nodiscard]] Passages& passages() noexcept { return passages_; }
  /// Connections that were upgraded and are open.
  [[nodiscard]] std::size_t upgraded() const noexcept { return upgraded_; }
  /// Connections to sandboxes that wait for a request.
  [[nodiscard]] std::size_t kept() const noexcept { return kept_.size(); }
  /// Large blocks that no body is moved in.
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
