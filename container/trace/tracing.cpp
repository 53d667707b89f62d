#include "container/trace/tracing.hpp"

#include <array>
#include <charconv>
#include <cstddef>

#include "base/id.hpp"

namespace skiff::container {
namespace {

constexpr std::size_t kMostSpans = 2048;
constexpr std::size_t kMostEvents = 128;

/// Random bytes in hex, never all zeros, which W3C Trace Context defines as invalid.
template <std::size_t bytes>
std::string random_id() {
  std::array<std::byte, bytes> raw{};
  bool is_zero = true;
  while (is_zero) {
    random_bytes(raw);
    for (const std::byte one : raw) is_zero = is_zero && one == std::byte{0};
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte one : raw) {
    text += kDigits[std::to_integer<std::size_t>(one >> 4)];
    text += kDigits[std::to_integer<std::size_t>(one & std::byte{0xf})];
  }
  return text;
}

std::string traceparent_of(const Tracer& tracer, const std::string& span_id) {
  return "00-" + tracer.trace_id() + "-" + span_id + (tracer.sampled() ? "-01" : "-00");
}

bool decide(const TraceSampler& sampler, std::string_view parent, std::string_view trace_id) {
  // The sampled flag is the lowest bit of the last hex digit.
  if (sampler.parent_based && !parent.empty()) return std::string_view{"13579bdf"}.contains(parent.back());
  switch (sampler.root) {
    case TraceSampler::Root::always_on:
      return true;
    case TraceSampler::Root::always_off:
      return false;
    case TraceSampler::Root::ratio:
      return is_chosen(trace_id, sampler.ratio);
  }
  return true;
}

}  // namespace

bool is_chosen(std::string_view trace_id, double ratio) noexcept {
  const std::string_view tail = trace_id.substr(trace_id.size() - 16);
  std::uint64_t value = 0;
  std::from_chars(tail.data(), tail.data() + tail.size(), value, 16);
  if (ratio >= 1) return true;
  constexpr double kWhole = 9223372036854775808.0;  // 2^63
  return (value >> 1U) < static_cast<std::uint64_t>(ratio * kWhole);
}

struct Span::State {
  std::shared_ptr<Tracer> tracer;
  SpanRecord record;
  SteadyTime began;
};

void Span::Forget::operator()(State* state) const noexcept {
  delete state;
}

Span& Span::operator=(Span&& other) noexcept {
  end();
  state_ = std::move(other.state_);
  return *this;
}

void Span::rename(std::string name) {
  if (state_) state_->record.name = std::move(name);
}

void Span::set(std::string key, AttributeValue value) {
  if (state_) state_->record.attributes.emplace_back(std::move(key), std::move(value));
}

void Span::event(std::string name, Attributes attributes) {
  if (!state_ || state_->record.events.size() >= kMostEvents) return;
  state_->record.events.push_back({.time = wall_now(), .name = std::move(name), .attributes = std::move(attributes)});
}

void Span::fail(const Error& error) {
  if (!state_) return;
  set("error.type", std::string{skiff::name(error.code)});
  state_->record.failed = true;
  state_->record.message = error.message;
}

void Span::end() noexcept {
  if (!state_) return;
  // The wall clock may be set meanwhile; a span never ends before it began.
  const auto took = std::chrono::steady_clock::now() - state_->began;
  state_->record.took = std::chrono::duration_cast<std::chrono::microseconds>(took);
  state_->tracer->add(std::move(state_->record));
  state_.reset();
}

TraceParent Span::here() const {
  return state_ ? TraceParent{state_->tracer, state_->record.span_id} : TraceParent{};
}

Span TraceParent::begin(std::string_view name, SpanKind kind) const {
  Span span;
  if (!tracer_) return span;
  span.state_.reset(new Span::State{.tracer = tracer_,
                                    .record = {.trace_id = tracer_->trace_id(),
                                               .span_id = random_id<8>(),
                                               .parent_id = span_id_,
                                               .name = std::string{name},
                                               .kind = kind,
                                               .began = wall_now(),
                                               .attributes = {},
                                               .events = {},
                                               .message = {}},
                                    .began = std::chrono::steady_clock::now()});
  return span;
}

std::string TraceParent::traceparent() const {
  return tracer_ ? traceparent_of(*tracer_, span_id_) : std::string{};
}

Tracer::Tracer(const TraceSampler& sampler, std::string_view parent, Sink sink) : sink_{std::move(sink)} {
  // "00-" trace id "-" parent id "-" flags
  if (parent.empty()) {
    trace_id_ = random_id<16>();
  } else {
    trace_id_ = parent.substr(3, 32);
    parent_id_ = parent.substr(36, 16);
  }
  sampled_ = decide(sampler, parent, trace_id_);
}

TraceParent Tracer::root(std::shared_ptr<Tracer> tracer) {
  std::string parent = tracer->parent_id_;
  return TraceParent{std::move(tracer), std::move(parent)};
}

void Tracer::add(SpanRecord span) {
  if (!sampled_) return;
  if (sink_) {
    sink_(std::move(span));
    return;
  }
  // Keep a place for the last span to end: that of the command, which is the parent of all others.
  if (ended_.size() >= kMostSpans || (ended_.size() == kMostSpans - 1 && span.parent_id != parent_id_)) {
    ++dropped_;
    return;
  }
  ended_.push_back(std::move(span));
}

}  // namespace skiff::container
