#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/async/deadline.hpp"
#include "base/async/event.hpp"
#include "base/async/task_group.hpp"
#include "base/clock.hpp"
#include "protocol/http2/server.hpp"
#include "protocol/http2/session.hpp"
#include "protocol/net/connection_slots.hpp"
#include "protocol/net/connections.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::protocol {

/// One connection of an Http2Server. It moves the session's bytes, runs a handler for each request, and limits how long
/// a silent, vanished or idle client occupies resources.
class Http2Connection final : public ServerConnection {
 public:
  Http2Connection(Stream stream, const Http2ServerOptions& options, ConnectionSlots::Slot& slot);

  [[nodiscard]] Task<Successor> run() override;
  void drain() noexcept override;

 private:
  friend class Http2Exchange;
  /// The event that the clock waits for.
  enum class Phase : unsigned char {
    greeting,   ///< the client's first SETTINGS
    idle,       ///< a request
    active,     ///< bytes from the client; without any, PING is sent
    asked,      ///< bytes from the client after a PING
    lingering,  ///< the client's end, after the server's
  };

  [[nodiscard]] static Task<> receive(Http2Connection* self);
  [[nodiscard]] static Task<> send(Http2Connection* self);
  [[nodiscard]] static Task<> serve(Http2Connection* self, std::shared_ptr<Http2Stream> stream);
  void begin_requests();
  /// Updates the share of the budget after a change of the session's buffers.
  void hold();
  void calm_down();
  /// Sets the clock for the next expected event.
  void look_around();
  void time_is_over();
  void enter(Phase phase, std::chrono::milliseconds limit);
  /// Starts a send, if there are bytes to send.
  void wake();

  Stream stream_;
  const Http2ServerOptions& options_;
  ConnectionSlots::Slot& slot_;
  Http2Session session_;
  ReceiveBudget::Share held_;
  TaskGroup handlers_;
  Event wanted_;
  bool is_wanted_ = true;
  Phase phase_ = Phase::greeting;
  Deadline clock_;
};

}  // namespace skiff::protocol
