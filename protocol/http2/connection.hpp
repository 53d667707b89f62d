#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/deadline.hpp"
#include "base/event.hpp"
#include "base/task_group.hpp"
#include "protocol/http2/server.hpp"
#include "protocol/http2/session.hpp"
#include "protocol/net/connections.hpp"
#include "protocol/net/places.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::protocol {

/// One connection of an Http2Server: moves the session's bytes, runs a handler for each of its requests, and sees to it
/// that a client that is silent, gone or idle holds nothing for long.
class Http2Connection final : public ServerConnection {
 public:
  Http2Connection(Stream stream, const Http2ServerOptions& options, Places::Place& place);

  [[nodiscard]] Task<Successor> run() override;
  void drain() noexcept override;

 private:
  friend class Http2Exchange;
  /// What the clock waits for.
  enum class Phase : unsigned char {
    greeting,   ///< the client's first SETTINGS
    idle,       ///< a request
    active,     ///< a sign of life: PING goes out when there is none
    asked,      ///< the same, after a PING
    lingering,  ///< the client's end, after ours
  };

  [[nodiscard]] static Task<> receive(Http2Connection* self);
  [[nodiscard]] static Task<> send(Http2Connection* self);
  [[nodiscard]] static Task<> serve(Http2Connection* self, std::shared_ptr<Http2Stream> stream);
  void begin_requests();
  /// What the session keeps has changed.
  void hold();
  void calm_down();
  /// Sets the clock by what there is to wait for.
  void look_around();
  void time_is_over();
  void enter(Phase phase, std::chrono::milliseconds limit);
  /// There may be something to send.
  void wake();

  Stream stream_;
  const Http2ServerOptions& options_;
  Places::Place& place_;
  Http2Session session_;
  ReceiveBudget::Share held_;
  TaskGroup handlers_;
  Event wanted_;
  bool is_wanted_ = true;
  Phase phase_ = Phase::greeting;
  Deadline clock_;
};

}  // namespace skiff::protocol
