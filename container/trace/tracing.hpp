#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/trace/trace_settings.hpp"

/// Spans of one trace (OpenTelemetry, "Tracing API"). Where nothing is traced, all calls do nothing, so callers need
/// not check. Reactor thread only.
namespace skiff::container {

/// Values of OpenTelemetry's enum SpanKind.
enum class SpanKind : std::uint8_t { internal = 1, server = 2, client = 3 };

using AttributeValue = std::variant<std::string, std::int64_t>;
using Attributes = std::vector<std::pair<std::string, AttributeValue>>;

struct SpanEvent {
  WallTime time;
  std::string name;
  Attributes attributes;
};

/// A span in the form in which it is sent. Ids are lower-case hex.
struct SpanRecord {
  std::string trace_id;
  std::string span_id;
  std::string parent_id;  ///< empty: the trace begins with it
  std::string name;
  SpanKind kind = SpanKind::internal;
  WallTime began;
  std::chrono::microseconds took{0};
  Attributes attributes;
  std::vector<SpanEvent> events;
  bool failed = false;
  std::string message;  ///< text of a failure
};

class Tracer;
class Span;

/// The place in a trace where a span may begin; empty where nothing is traced.
class TraceParent {
 public:
  TraceParent() = default;
  TraceParent(std::shared_ptr<Tracer> tracer, std::string span_id)
      : tracer_{std::move(tracer)}, span_id_{std::move(span_id)} {}

  explicit operator bool() const noexcept { return tracer_ != nullptr; }
  [[nodiscard]] Span begin(std::string_view name, SpanKind kind = SpanKind::internal) const;
  /// The value of the `traceparent` header for requests from here (W3C Trace Context, section 3.2); empty where nothing
  /// is traced.
  [[nodiscard]] std::string traceparent() const;

 private:
  std::shared_ptr<Tracer> tracer_;
  std::string span_id_;
};

/// A piece of work. It ends with the object, if not before.
class Span {
 public:
  Span() = default;
  Span(Span&&) noexcept = default;
  Span& operator=(Span&& other) noexcept;
  ~Span() { end(); }

  /// Replaces the name with which the span began.
  void rename(std::string name);
  void set(std::string key, AttributeValue value);
  /// Records an event that happens now; at most 128 of them are kept.
  void event(std::string name, Attributes attributes = {});
  void fail(const Error& error);
  /// Records the error of `outcome`, if it has one.
  template <class T>
  void note(const Result<T>& outcome) {
    if (!outcome) fail(outcome.error());
  }
  void end() noexcept;

  /// True if the span is recorded.
  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }
  /// The parent for spans within this one.
  [[nodiscard]] TraceParent here() const;

 private:
  friend class TraceParent;
  struct State;
  struct Forget {
    void operator()(State* state) const noexcept;
  };
  std::unique_ptr<State, Forget> state_;
};

/// One trace. It keeps the spans that have ended, at most 2,048, or passes each to a sink.
class Tracer {
 public:
  using Sink = std::function<void(SpanRecord span)>;

  explicit Tracer(const TraceSettings& settings) : Tracer{settings.sampler, settings.parent} {}
  /// `parent` is a valid traceparent, or empty. With a `sink` the tracer keeps no spans.
  Tracer(const TraceSampler& sampler, std::string_view parent, Sink sink = {});

  /// The parent of the first span: in the trace of `parent`, or in a new one.
  [[nodiscard]] static TraceParent root(std::shared_ptr<Tracer> tracer);

  [[nodiscard]] const std::string& trace_id() const noexcept { return trace_id_; }
  /// True if this trace is recorded.
  [[nodiscard]] bool sampled() const noexcept { return sampled_; }

  void add(SpanRecord span);
  /// The spans in the order of their ends.
  [[nodiscard]] const std::vector<SpanRecord>& ended() const noexcept { return ended_; }
  /// Number of spans for which there was no room.
  [[nodiscard]] std::size_t dropped() const noexcept { return dropped_; }

 private:
  std::string trace_id_;
  std::string parent_id_;
  Sink sink_;
  bool sampled_ = true;
  std::vector<SpanRecord> ended_;
  std::size_t dropped_ = 0;
};

/// True if a trace belongs to the recorded `ratio` of all traces. The last 8 bytes of its id decide, as in other
/// implementations (OpenTelemetry, "TraceIdRatioBased"), so that all parts of a system choose the same traces.
[[nodiscard]] bool is_chosen(std::string_view trace_id, double ratio) noexcept;

}  // namespace skiff::container
