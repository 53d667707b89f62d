#include "container/serve/api/list_stream.hpp"

#include <charconv>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/async/beside.hpp"
#include "container/serve/answer.hpp"
#include "container/serve/api/reader_right.hpp"
#include "container/serve/list/list_feeds.hpp"
#include "container/serve/service.hpp"
#include "protocol/json/sse.hpp"
#include "protocol/json/text.hpp"

namespace skiff::container::serve::own {
namespace {

using protocol::HttpResponse;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kProbeReader{15};
constexpr std::chrono::seconds kSilence{15};
/// How many bytes are sent at once: what a slow client makes the server hold.
constexpr std::size_t kPieceBytes = std::size_t{256} << 10U;

std::string_view word_of(ListEvent::Kind kind) {
  using enum ListEvent::Kind;
  switch (kind) {
    case added:
      return "added";
    case changed:
      return "changed";
    case removed:
      return "removed";
    case unavailable:
      return "unavailable";
    case available:
      return "available";
  }
  return {};
}

void append_error(std::string& data, const Error& error) {
  protocol::append_json_text(data, "code", name(error.code));
  protocol::append_json_text(data, "detail", error.message);
}

/// The client's place in a feed, and the text of what comes after it.
class Place {
 public:
  /// `cursor` is the id of the last event that the client has; empty: it has none.
  Place(const ListFeed* feed, std::string_view cursor, std::optional<std::string> owner)
      : feed_{feed}, owner_{std::move(owner)} {
    const auto number = number_of(cursor);
    if (number) {
      number_ = *number;
    } else {
      is_missing_ = !cursor.empty();
      begin_snapshot();
    }
  }

  /// The next piece; empty: there is nothing now.
  [[nodiscard]] std::string next() {
    std::string text;
    if (!snapshot_ && !feed_->keeps_after(number_)) {
      is_missing_ = true;
      begin_snapshot();
    }
    if (std::exchange(is_missing_, false)) {
      append(text, {}, "gap", R"("detail":"the events after the cursor are not kept: all sandboxes follow")");
    }
    if (snapshot_) append_snapshot(text);
    while (!snapshot_ && text.size() < kPieceBytes && number_ < feed_->newest()) append_event(text, ++number_);
    return text;
  }

 private:
  struct Snapshot {
    std::vector<std::shared_ptr<const Listed>> all;
    std::size_t sent = 0;
    std::shared_ptr<const Error> trouble;
  };

  [[nodiscard]] std::string id() const { return feed_->name() + "-" + std::to_string(number_); }

  [[nodiscard]] std::optional<std::uint64_t> number_of(std::string_view cursor) const {
    if (!cursor.starts_with(feed_->name() + "-")) return std::nullopt;
    cursor.remove_prefix(feed_->name().size() + 1);
    std::uint64_t number = 0;
    const char* const end = cursor.data() + cursor.size();
    const auto [stopped, error] = std::from_chars(cursor.data(), end, number);
    if (error != std::errc{} || stopped != end || number > feed_->newest()) return std::nullopt;
    return number;
  }

  [[nodiscard]] bool is_wanted(const Listed& one) const { return !owner_ || one.owner == *owner_; }

  void begin_snapshot() {
    number_ = feed_->newest();
    snapshot_.emplace(Snapshot{.all = feed_->all(), .trouble = feed_->trouble()});
  }

  /// Only the last piece has an id: a client that loses the connection before it begins again.
  void append_snapshot(std::string& text) {
    std::string data = R"("items":[)";
    bool is_first = true;
    for (; snapshot_->sent < snapshot_->all.size() && data.size() < kPieceBytes; ++snapshot_->sent) {
      const Listed& one = *snapshot_->all[snapshot_->sent];
      if (!is_wanted(one)) continue;
      if (!std::exchange(is_first, false)) data += ',';
      data += one.json;
    }
    const bool is_last = snapshot_->sent == snapshot_->all.size();
    data += is_last ? R"(],"more":false)" : R"(],"more":true)";
    append(text, is_last ? id() : std::string{}, "snapshot", data);
    if (!is_last) return;
    if (snapshot_->trouble) append_trouble(text, id(), *snapshot_->trouble);
    snapshot_.reset();
  }

  void append_event(std::string& text, std::uint64_t number) const {
    const ListEvent& event = feed_->event(number);
    if (event.trouble) return append_trouble(text, id(), *event.trouble);
    if (!event.sandbox) return append(text, id(), word_of(event.kind), {});
    if (is_wanted(*event.sandbox)) append(text, id(), word_of(event.kind), R"("sandbox":)" + event.sandbox->json);
  }

  static void append_trouble(std::string& text, const std::string& id, const Error& trouble) {
    std::string data{'{'};
    append_error(data, for_tenants(trouble));
    append(text, id, word_of(ListEvent::Kind::unavailable), data.substr(1));
  }

  /// `members` is the inner text of an object.
  static void append(std::string& text, const std::string& id, std::string_view type, std::string_view members) {
    std::string data{'{'};
    protocol::append_json_text(data, "type", type);
    if (!id.empty()) protocol::append_json_text(data, "cursor", id);
    if (!members.empty()) data += ',';
    data += members;
    data += '}';
    protocol::append_sse(text, id, type, data);
  }

  const ListFeed* feed_;
  std::optional<std::string> owner_;
  std::uint64_t number_ = 0;               ///< of the last event that was sent, or is in the snapshot
  bool is_missing_ = false;                ///< the client is to be told that it has missed something
  std::optional<Snapshot> snapshot_ = {};  ///< what is being sent
};

/// One client that reads the events.
class Stream {
 public:
  Stream(Call* call, ListFeed* feed, Place place) : call_{call}, feed_{feed}, place_{std::move(place)}, right_{call} {}

  /// Runs beside `run`.
  static Task<> watch(Stream* self) {
    self->has_left_ = co_await self->call_->http.peer_closed();
    if (self->has_left_) self->feed_->changed().notify_all();
  }

  static Task<Result<>> run(Stream* self) {
    protocol::HttpExchange& http = self->call_->http;
    http.probe_peer(kProbeReader);
    SKIFF_CO_TRY_VOID(co_await http.start(
        {.headers = {{"Content-Type", protocol::kEventStreamType}, {"Cache-Control", "no-store"}}}));
    while (!self->has_left_) {
      if (auto end = co_await self->find_end()) co_return co_await self->say_end(std::move(*end));
      SKIFF_CO_TRY(const bool is_sent, co_await self->send());
      if (!is_sent && !self->has_left_) co_await self->feed_->changed().wait();
    }
    co_return fail(Errc::cancelled, "the client has left");
  }

 private:
  /// Why no more events are sent.
  Task<std::optional<Error>> find_end() {
    if (auto end = co_await right_.find_end()) co_return end;
    if (!feed_->is_over()) co_return std::nullopt;
    co_return Error{.code = Errc::draining, .message = "this server is about to stop: connect again"};
  }

  Task<Result<bool>> send() {
    std::string text = place_.next();
    const SteadyTime now = steady_clock::now();
    if (text.empty() && now - wrote_at_ < kSilence) co_return false;
    if (text.empty()) text = protocol::kSseKeepalive;
    wrote_at_ = now;
    SKIFF_CO_TRY_VOID(co_await call_->http.write(text));
    co_return true;
  }

  Task<Result<>> say_end(Error error) {
    std::string data{'{'};
    protocol::append_json_text(data, "type", "error");
    append_error(data, error);
    std::string text;
    protocol::append_sse(text, {}, "error", data + "}");
    SKIFF_CO_TRY_VOID(co_await call_->http.write(text));
    co_return co_await call_->http.finish();
  }

  Call* call_;
  ListFeed* feed_;
  Place place_;
  ReaderRight right_;
  bool has_left_ = false;
  SteadyTime wrote_at_ = steady_clock::now();
};

/// Last-Event-ID is newer than the parameter: a browser that reconnects sends the same address again.
std::string cursor_of(const protocol::HttpRequest& request) {
  if (const auto last = request.headers.find("Last-Event-ID")) return std::string{*last};
  return std::string{request.target.parameter("cursor").value_or("")};
}

}  // namespace

Task<Result<HttpResponse>> stream_list(Call* call) {
  const protocol::HttpRequest& request = call->http.request();
  std::optional<std::string> owner;
  if (const auto wanted = request.target.parameter("owner")) owner = *wanted;
  const ListFeeds::Reader reader = call->service.lists().join(call->key.tenant);
  SKIFF_CO_TRY_VOID(co_await reader.feed().await_current());
  Stream stream{call, &reader.feed(), Place{&reader.feed(), cursor_of(request), std::move(owner)}};
  SKIFF_CO_TRY_VOID(co_await run_beside(Stream::watch(&stream), Stream::run(&stream)));
  co_return HttpResponse{};  // has been sent
}

}  // namespace skiff::container::serve::own
