#include "runtime/api/file_watch_route.hpp"

#include <fcntl.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "base/beside.hpp"
#include "base/clock.hpp"
#include "fs/watch.hpp"
#include "protocol/json_text.hpp"
#include "protocol/sse.hpp"
#include "protocol/utf8.hpp"
#include "runtime/api/file_call.hpp"

namespace skiff::runtime::api {
namespace asio = boost::asio;
namespace {

using protocol::append_json_key;
using protocol::append_json_string;
using Descriptor = asio::posix::basic_stream_descriptor<Executor>;
using Timer =
    asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, Executor>;

/// Events that go out at once.
constexpr std::size_t kBatch = 256;

std::string_view word(fs::WatchEvent::Type type) {
  switch (type) {
    case fs::WatchEvent::Type::created:
      return "created";
    case fs::WatchEvent::Type::modified:
      return "modified";
    case fs::WatchEvent::Type::deleted:
      return "deleted";
    case fs::WatchEvent::Type::renamed:
      return "renamed";
    case fs::WatchEvent::Type::overflow:
      break;
  }
  return "overflow";
}

void append_event(std::string& out, const fs::WatchEvent& event) {
  std::string data{'{'};
  const auto text = [&data](std::string_view key, std::string_view value) {
    append_json_key(data, key);
    append_json_string(data, protocol::to_valid_utf8(value));
  };
  text("type", word(event.type));
  text("path", event.path);
  if (event.type == fs::WatchEvent::Type::renamed) text("from", event.from);
  append_json_key(data, "is_directory");
  data += event.is_folder ? "true" : "false";
  const std::string cursor = std::to_string(event.cursor);
  append_json_key(data, "cursor");
  data += cursor + '}';
  protocol::append_sse(out, cursor, word(event.type), data);
}

/// One client that watches one folder.
class Watcher {
 public:
  Watcher(Call& call, fs::Watch watch, std::uint64_t cursor)
      : call_{call},
        watch_{std::move(watch)},
        cursor_{cursor},
        ready_{call.agent.executor, ::fcntl(watch_.fd(), F_DUPFD_CLOEXEC, 0)},
        timer_{call.agent.executor} {}

  static Task<> watch_peer(std::shared_ptr<Watcher> self) {
    const bool gone = co_await self->call_.http.peer_closed();
    if (!gone) co_return;
    self->peer_gone_ = true;
    self->ready_.cancel();
  }

  static Task<Result<>> run(std::shared_ptr<Watcher> self) {
    auto& http = self->call_.http;
    protocol::HttpResponse head{200, {{"Content-Type", protocol::kEventStreamType}, {"Cache-Control", "no-store"}}};
    // What happens from here on is seen: a client that has read the head can begin.
    head.headers.set("X-Skiff-Cursor", std::to_string(self->cursor_));
    if (auto begun = co_await http.start(std::move(head)); !begun) co_return begun;
    while (!self->peer_gone_) {
      auto turn = [self] { return self->watch_.drain(); };
      auto more = co_await self->call_.agent.search.run(std::move(turn));
      if (!more) co_return std::unexpected{std::move(more.error())};
      if (auto sent = co_await send(self); !sent) co_return sent;
      if (self->watch_.ended()) break;
      if (!*more) {
        if (auto waited = co_await wait(self); !waited) co_return waited;
      }
    }
    co_return co_await http.finish();
  }

 private:
  static Task<Result<>> send(std::shared_ptr<Watcher> self) {
    for (;;) {
      const auto events = self->watch_.after(self->cursor_, kBatch);
      if (events.empty()) co_return Result<>{};
      std::string text;
      for (const fs::WatchEvent& event : events) append_event(text, event);
      self->cursor_ = events.back().cursor;
      if (auto sent = co_await self->call_.http.write(text); !sent) co_return sent;
    }
  }

  /// Until there is news, a held rename is due, or it is time for a sign of life.
  static Task<Result<>> wait(std::shared_ptr<Watcher> self) {
    const auto quiet = std::chrono::steady_clock::now() + self->call_.agent.settings.keepalive;
    const auto due = self->watch_.deadline();
    self->timer_.expires_at(due ? std::min(*due, quiet) : quiet);
    self->timer_.async_wait([weak = std::weak_ptr{self}](const boost::system::error_code& error) {
      const auto alive = weak.lock();
      if (!error && alive) alive->ready_.cancel();
    });
    co_await self->ready_.async_wait(Descriptor::wait_read, asio::as_tuple(use_task));
    self->timer_.cancel();
    if (std::chrono::steady_clock::now() < quiet) co_return Result<>{};
    co_return co_await self->call_.http.write(protocol::kSseKeepalive);
  }

  Call& call_;
  fs::Watch watch_;
  std::uint64_t cursor_;
  Descriptor ready_;
  Timer timer_;
  bool peer_gone_ = false;
};

}  // namespace

Task<Result<>> watch_files(Call& call) {
  auto file = FileCall::of(call);
  if (!file) co_return std::unexpected{std::move(file.error())};
  auto recursive = call.query_flag("recursive");
  if (!recursive) co_return std::unexpected{std::move(recursive.error())};
  auto cursor = call.query_number("cursor", std::numeric_limits<std::int64_t>::max());
  if (!cursor) co_return std::unexpected{std::move(cursor.error())};
  const std::string path{call.query("path").value_or("")};
  // Cursors go on growing from one watch to the next: one of an earlier connection is known to be of the past, and the
  // first event then says that something may have been missed.
  const auto now = std::chrono::floor<std::chrono::microseconds>(wall_now()).time_since_epoch().count();
  fs::WatchOptions options{
      .prefix = relative_prefix(path), .recursive = *recursive, .first_cursor = static_cast<std::uint64_t>(now)};
  auto open = [&]() -> Result<fs::Watch> {
    auto folder = file->tree->open_folder(path);
    if (!folder) return std::unexpected{std::move(folder.error())};
    return fs::Watch::open(std::move(*folder), options, {});
  };
  auto watch = co_await call.agent.search.run(std::move(open));
  if (!watch) co_return std::unexpected{std::move(watch.error())};
  const std::uint64_t from = cursor->value_or(watch->newest());
  auto watcher = std::make_shared<Watcher>(call, std::move(*watch), from);
  co_return co_await run_beside(Watcher::watch_peer(watcher), Watcher::run(watcher));
}

}  // namespace skiff::runtime::api
