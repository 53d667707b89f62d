#include "container/kube/watch.hpp"

#include <chrono>
#include <cstdint>
#include <span>
#include <utility>

#include "base/async/deadline.hpp"
#include "base/id.hpp"
#include "container/kube/retry.hpp"
#include "protocol/json/schema.hpp"

namespace skiff::kube {
namespace {

using Json = nlohmann::json;

/// An object may have at most 1.5 MiB in etcd and 3 MiB in a request.
constexpr std::size_t kLongestLine = 8 * 1024 * 1024;
constexpr std::size_t kWatchPiece = 16 * 1024;
constexpr protocol::JsonLimits kLineLimits{.max_bytes = kLongestLine, .max_depth = 256};
/// A bookmark comes about once a minute: a connection without a byte for longer is dead, or not worth waiting for.
constexpr std::chrono::seconds kSilence{100};
/// Range, in seconds, in which the server ends a watch by itself. Each watch picks a random time, so that not all come
/// back at once.
constexpr unsigned kShortest = 240;
constexpr unsigned kLongest = 480;
constexpr std::chrono::seconds kServed{10};

std::string timeout_seconds() {
  std::uint8_t random = 0;
  random_bytes(std::as_writable_bytes(std::span{&random, 1}));
  return std::to_string(kShortest + (kLongest - kShortest) * random / 255);
}

}  // namespace

Watch::Watch(Client* client, WatchOptions options)
    : client_{client},
      options_{std::move(options)},
      what_{"watch " + options_.resource.name()},
      version_{options_.resource_version},
      piece_(kWatchPiece),
      backoff_{client->transport().retry_limits()} {}

Watch::~Watch() = default;

Task<Outcome<WatchEvent>> Watch::snapshot() {
  ListOptions options{
      .label_selector = options_.label_selector, .field_selector = options_.field_selector, .one_moment = true};
  if (options_.take_page) {
    SKIFF_CO_TRY(version_, co_await client_->each_page(options_.resource, options_.namespace_name, std::move(options),
                                                       options_.take_page));
    co_return WatchEvent{.kind = WatchEvent::Kind::snapshot, .objects = {}};
  }
  SKIFF_CO_TRY(auto page, co_await client_->list(options_.resource, options_.namespace_name, std::move(options)));
  version_ = std::move(page.resource_version);
  co_return WatchEvent{.kind = WatchEvent::Kind::snapshot, .objects = std::move(page.items)};
}

Task<Outcome<>> Watch::connect() {
  const std::string query = Query{}
                                .add("watch", "true")
                                .add("allowWatchBookmarks", "true")
                                .add("resourceVersion", version_)
                                .add("labelSelector", options_.label_selector)
                                .add("fieldSelector", options_.field_selector)
                                .add("timeoutSeconds", timeout_seconds())
                                .text();
  Call call{.target = collection_path(options_.resource, options_.namespace_name) + query,
            .what = what_,
            .metadata_only = options_.metadata_only};
  received_.clear();
  searched_ = 0;
  SKIFF_CO_TRY(connection_, co_await client_->transport().stream(std::move(call), kSilence));
  ++connections_;
  connected_at_ = std::chrono::steady_clock::now();
  co_return Outcome<>{};
}

/// Reads one line; nullopt when the connection ended for any reason: the next one delivers what was missed.
Task<std::optional<std::string>> Watch::read_line() {
  for (;;) {
    const std::size_t end = received_.find('\n', searched_);
    if (end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      searched_ = 0;
      co_return line;
    }
    searched_ = received_.size();
    if (searched_ > kLongestLine) co_return std::nullopt;
    auto got = co_await connection_->read_some(piece_);
    if (!got || *got == 0) co_return std::nullopt;
    received_.append(piece_.data(), *got);
  }
}

Outcome<std::optional<WatchEvent>> Watch::take_error(const Json& status) {
  Failure failure = read_status(status.dump(-1, ' ', false, Json::error_handler_t::replace), what_);
  connection_.reset();
  if (failure.expired() || failure.status.reason == "Expired") {
    version_.clear();
    return std::nullopt;
  }
  // The server's own trouble counts as the end of the connection.
  if (failure.status.code >= 500) return failed(std::move(failure.error));
  return std::unexpected{std::move(failure)};
}

/// Parses one line; nullopt for a line that only moves the version, and for an end after which a new snapshot follows.
Outcome<std::optional<WatchEvent>> Watch::take(std::string_view line) {
  auto json = protocol::parse_json(line, kLineLimits);
  if (!json || !json->is_object()) {
    connection_.reset();
    return failed({Errc::invalid_request, what_ + ": the API server sent a line that is not an event"});
  }
  Object event{std::move(*json)};
  const std::string type = event.text({"type"});
  const Json* about = event.find({"object"});
  if (about == nullptr || !about->is_object()) {
    connection_.reset();
    return failed({Errc::invalid_request, what_ + ": the API server sent an event without an object"});
  }
  if (type == "ERROR") return take_error(*about);
  Object object{std::move(event.json["object"])};
  if (std::string version = object.resource_version(); !version.empty()) version_ = std::move(version);
  WatchEvent out;
  if (type == "ADDED") {
    out.kind = WatchEvent::Kind::added;
  } else if (type == "MODIFIED") {
    out.kind = WatchEvent::Kind::modified;
  } else if (type == "DELETED") {
    out.kind = WatchEvent::Kind::deleted;
  } else {
    return std::nullopt;  // BOOKMARK, and types that later versions may add
  }
  out.objects.push_back(std::move(object));
  return out;
}

/// Waits if that may help; otherwise returns the failure.
Task<Outcome<>> Watch::wait_after(Failure failure) {
  // The end of a connection that has served for a while is normal.
  if (std::chrono::steady_clock::now() - connected_at_ > kServed) backoff_.reset();
  const auto wait = wait_before_retry(backoff_, failure, true, client_->transport().waited_for());
  if (!wait) {
    backoff_.reset();
    co_return std::unexpected{std::move(failure)};
  }
  co_await pause(*wait);
  co_return Outcome<>{};
}

Task<Outcome<WatchEvent>> Watch::next() {
  for (;;) {
    if (!connection_) {
      if (version_.empty()) co_return co_await snapshot();
      auto connected = co_await connect();
      if (!connected) {
        if (connected.error().expired()) {
          version_.clear();
          co_await pause(backoff_.grow());
          continue;
        }
        SKIFF_CO_TRY_VOID(co_await wait_after(std::move(connected.error())));
        continue;
      }
    }
    auto line = co_await read_line();
    if (!line) {
      connection_.reset();
      // A connection that always ends at once is as bad as one that cannot be opened.
      Failure cut{.error = {Errc::io_error, what_ + ": the API server ends every watch at once"},
                  .may_have_happened = true};
      SKIFF_CO_TRY_VOID(co_await wait_after(std::move(cut)));
      continue;
    }
    auto event = take(*line);
    if (!event) {
      SKIFF_CO_TRY_VOID(co_await wait_after(std::move(event.error())));
      continue;
    }
    if (!connection_) {
      co_await pause(backoff_.grow());  // expired: do not list without pause when the server says so every time
      continue;
    }
    backoff_.reset();
    if (*event) co_return std::move(**event);
  }
}

}  // namespace skiff::kube
