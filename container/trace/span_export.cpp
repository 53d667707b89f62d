#include "container/trace/span_export.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/async/event.hpp"
#include "base/async/timer.hpp"
#include "base/async/with_timeout.hpp"
#include "base/log/log.hpp"
#include "container/trace/otlp.hpp"
#include "protocol/http/traceparent.hpp"

namespace skiff::container {
namespace {

/// The defaults of OpenTelemetry's batches (OTEL_BSP_MAX_QUEUE_SIZE, OTEL_BSP_MAX_EXPORT_BATCH_SIZE).
constexpr std::size_t kMostWaiting = 2048;
constexpr std::size_t kBatch = 512;
constexpr std::chrono::seconds kDelay{1};
/// Longest text of a span: clients choose some of them.
constexpr std::size_t kLongestText = 1024;

void shorten(std::string& text) {
  if (text.size() > kLongestText) text.resize(kLongestText);
}

void shorten(Attributes& attributes) {
  for (auto& [key, value] : attributes) {
    if (auto* text = std::get_if<std::string>(&value)) shorten(*text);
  }
}

void shorten(SpanRecord& span) {
  shorten(span.name);
  shorten(span.message);
  shorten(span.attributes);
  for (SpanEvent& event : span.events) shorten(event.attributes);
}

}  // namespace

struct SpanExport::Queue {
  explicit Queue(Executor executor) : changed{executor}, until_sent{executor} {}

  void add(SpanRecord span) {
    if (waiting.size() >= kMostWaiting) {
      ++lost;
      return;
    }
    shorten(span);
    waiting.push_back(std::move(span));
    if (waiting.size() == 1) changed.notify_all();
    if (waiting.size() == kBatch) until_sent.cancel();
  }

  std::vector<SpanRecord> waiting = {};
  std::size_t lost = 0;
  Event changed;  ///< notified when the first span comes, or when no more will come
  Timer until_sent;
};

SpanExport::SpanExport(Executor executor, protocol::Resolver resolver, TraceSettings settings)
    : executor_{executor},
      resolver_{std::move(resolver)},
      settings_{std::move(settings)},
      queue_{std::make_shared<Queue>(executor)},
      tasks_{executor} {}

TraceParent SpanExport::begin(std::string_view traceparent) const {
  const std::string parent = protocol::valid_traceparent(traceparent);
  Tracer::Sink sink = [queue = queue_](SpanRecord span) { queue->add(std::move(span)); };
  return Tracer::root(std::make_shared<Tracer>(settings_.sampler, parent, std::move(sink)));
}

void SpanExport::start() {
  tasks_.spawn("sending of spans", run());
}

Task<> SpanExport::run() {
  while (!stopping_ || !queue_->waiting.empty()) {
    if (queue_->waiting.empty()) {
      co_await queue_->changed.wait();
      continue;
    }
    if (!stopping_ && queue_->waiting.size() < kBatch) {
      queue_->until_sent.expires_after(kDelay);
      (void)co_await queue_->until_sent.async_wait(boost::asio::as_tuple(use_task));
    }
    co_await send_some();
  }
}

Task<> SpanExport::send_some() {
  auto& waiting = queue_->waiting;
  const auto end = waiting.begin() + static_cast<std::ptrdiff_t>(std::min(waiting.size(), kBatch));
  std::vector<SpanRecord> batch{std::make_move_iterator(waiting.begin()), std::make_move_iterator(end)};
  waiting.erase(waiting.begin(), end);
  under_way_ = batch.size();
  auto sent = co_await send_spans(executor_, resolver_, settings_, std::move(batch));
  const std::size_t count = std::exchange(under_way_, 0);
  if (!sent) queue_->lost += count;
  // Log it once, not for each batch.
  if (!sent && !fails_) {
    log::warning("spans are not sent", {{"collector", settings_.collector.text()}, {"error", sent.error().message}});
  }
  if (sent && fails_) log::info("spans are sent again", {{"lost", queue_->lost}});
  fails_ = !sent;
}

Task<> SpanExport::stop() {
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  stopping_ = true;
  queue_->changed.notify_all();
  queue_->until_sent.cancel();
  (void)co_await within(std::chrono::steady_clock::now() + settings_.timeout, [](TaskGroup* tasks) -> Task<bool> {
    co_await tasks->join();
    co_return true;
  }(&tasks_));
  tasks_.cancel();
  co_await tasks_.join();
  queue_->lost += std::exchange(queue_->waiting, {}).size() + under_way_;
  if (queue_->lost > 0) log::warning("spans were lost", {{"lost", queue_->lost}});
}

std::size_t SpanExport::lost() const noexcept {
  return queue_->lost;
}

}  // namespace skiff::container
