#include "runtime/mcp/delivery.hpp"

#include <utility>

#include "base/async/beside.hpp"
#include "base/async/deadline.hpp"
#include "base/async/expiry.hpp"
#include "protocol/json/sse.hpp"

namespace skiff::runtime::mcp {
namespace {

/// How long an answer may take before a stream begins. Many clients wait 10 s for a head.
constexpr std::chrono::milliseconds kHeadTime{1000};
/// The bytes of messages that are sent at once.
constexpr std::size_t kBatchBytes = std::size_t{256} << 10U;

struct Interrupts {
  Outbox& outbox;
  bool peer_gone = false;
  bool expired = false;
  bool quiet = false;
  bool head_due = false;

  /// Returns a function that sets a flag and ends the wait on the outbox.
  [[nodiscard]] auto on(bool Interrupts::* flag) {
    return [this, flag] {
      this->*flag = true;
      outbox.changed.notify_all();
    };
  }
};

Task<Result<>> begin_stream(protocol::HttpExchange* http, const Delivery* delivery) {
  protocol::HttpResponse head{200, {{"Content-Type", protocol::kEventStreamType}, {"Cache-Control", "no-store"}}};
  // Without this field nginx and similar proxies hold a stream back.
  head.headers.set("X-Accel-Buffering", "no");
  if (auto begun = co_await http->start(std::move(head)); !begun || !delivery->begins_empty) co_return begun;
  std::string text;
  protocol::append_sse(text, delivery->stream + "-0", "message", "");
  co_return co_await http->write(text);
}

/// The answer, if no other message was added before it; else null.
const Outbox::Entry* lone_answer(const Outbox& outbox) {
  const Outbox::Entry* first = outbox.after(0);
  return outbox.answered() && first != nullptr && outbox.after(first->number) == nullptr ? first : nullptr;
}

Task<Result<>> send(api::Call* call, const Delivery* delivery, Interrupts* interrupts) {
  Outbox& outbox = *delivery->outbox;
  Deadline quiet{call->agent.executor, interrupts->on(&Interrupts::quiet)};
  Deadline head{call->agent.executor, interrupts->on(&Interrupts::head_due)};
  const std::uint64_t reader = outbox.take_over();
  head.expires_after(kHeadTime);
  bool begun = false;
  std::uint64_t sent = delivery->after;
  while (!interrupts->expired && outbox.is_read_by(reader)) {
    if (interrupts->peer_gone) co_return fail(Errc::cancelled, "the client is gone");
    if (!begun && delivery->may_be_plain) {
      if (const Outbox::Entry* answer = lone_answer(outbox)) {
        outbox.sent_up_to(answer->number);
        std::string body = answer->text;
        co_return co_await call->json(200, std::move(body));
      }
      if (outbox.after(0) == nullptr && !interrupts->head_due && !outbox.closed()) {
        co_await outbox.changed.wait();
        continue;
      }
    }
    if (!std::exchange(begun, true)) {
      SKIFF_CO_TRY_VOID(co_await begin_stream(&call->http, delivery));
      quiet.expires_after(call->agent.settings.keepalive);
    }
    std::string text;
    while (const Outbox::Entry* next = outbox.after(sent)) {
      if (text.size() >= kBatchBytes) break;
      sent = next->number;
      const std::string id = delivery->stream.empty() ? "" : delivery->stream + '-' + std::to_string(sent);
      protocol::append_sse(text, id, "message", next->text);
    }
    if (text.empty() && outbox.closed()) break;
    if (text.empty() && std::exchange(interrupts->quiet, false)) text = protocol::kSseKeepalive;
    if (text.empty()) {
      co_await outbox.changed.wait();
      continue;
    }
    SKIFF_CO_TRY_VOID(co_await call->http.write(text));
    outbox.sent_up_to(sent);
    quiet.expires_after(call->agent.settings.keepalive);
  }
  if (!begun) {
    SKIFF_CO_TRY_VOID(co_await begin_stream(&call->http, delivery));
  }
  co_return co_await call->http.finish();
}

}  // namespace

Task<Result<>> deliver(api::Call* call, Delivery delivery) {
  Interrupts interrupts{*delivery.outbox};
  const Expiry expiry{call->agent.executor, call->identity.expires, interrupts.on(&Interrupts::expired)};
  co_return co_await run_beside(call->http.watch_peer(interrupts.on(&Interrupts::peer_gone)),
                                send(call, &delivery, &interrupts));
}

}  // namespace skiff::runtime::mcp
