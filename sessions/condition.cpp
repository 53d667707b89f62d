#include "sessions/condition.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <re2/re2.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/this_coro.hpp>

#include "base/async/timer.hpp"
#include "base/unique_fd.hpp"
#include "sessions/host/name_addresses.hpp"

namespace skiff::sessions {
namespace asio = boost::asio;
namespace {

constexpr std::size_t kBlock = std::size_t{64} << 10U;
constexpr std::size_t kMostMatched = std::size_t{4} << 10U;
constexpr std::chrono::milliseconds kFirstLook{2};
constexpr std::chrono::milliseconds kSlowestLook{100};

std::string read_all(const char* path) {
  const UniqueFd file{::open(path, O_RDONLY | O_CLOEXEC)};
  std::string text;
  std::array<char, 16384> block{};
  for (ssize_t got = 0; file && (got = ::read(file.get(), block.data(), block.size())) > 0;) {
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  return text;
}

bool is_of_a_name(std::string_view address) {
  std::uint32_t binary = 0;
  std::from_chars(address.data(), address.data() + address.size(), binary, 16);
  return address.size() == 8 && is_for_a_name(ntohl(binary));
}

/// Lines are "sl local_address rem_address st ...". Addresses and ":PORT" are in hex; state 0A is LISTEN.
void append_listeners(std::vector<std::uint16_t>& ports, std::string_view table) {
  while (!table.empty()) {
    const std::size_t end = table.find('\n');
    const std::string_view line = table.substr(0, end);
    table = end == std::string_view::npos ? std::string_view{} : table.substr(end + 1);
    const std::size_t local = line.find(": ");
    if (local == std::string_view::npos) continue;
    const std::size_t colon = line.find(':', local + 2);
    if (colon == std::string_view::npos || colon + 5 > line.size()) continue;
    const std::size_t remote = line.find(' ', colon);
    const std::size_t state = remote == std::string_view::npos ? remote : line.find(' ', remote + 1);
    if (state == std::string_view::npos || line.substr(state + 1, 2) != "0A") continue;
    if (is_of_a_name(line.substr(local + 2, colon - local - 2))) continue;
    std::uint16_t port = 0;
    std::from_chars(line.data() + colon + 1, line.data() + colon + 5, port, 16);
    ports.push_back(port);
  }
}

std::vector<std::uint16_t> listening_tcp_ports() {
  std::vector<std::uint16_t> ports;
  append_listeners(ports, read_all("/proc/net/tcp"));
  append_listeners(ports, read_all("/proc/net/tcp6"));
  std::ranges::sort(ports);
  return ports;
}

RE2::Options pattern_options() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(std::int64_t{1} << 20U);
  options.set_encoding(RE2::Options::EncodingLatin1);  // output is bytes, not always UTF-8
  return options;
}

}  // namespace

Task<bool> ListeningTcp::has(std::uint16_t port, SteadyTime since) {
  while (as_of_ < since) {
    if (looking_) {
      co_await looked_.wait();
      continue;
    }
    // However this read ends, the next caller may read.
    struct Looking {
      explicit Looking(ListeningTcp& of) : all{of} { all.looking_ = true; }
      ~Looking() {
        all.looking_ = false;
        all.looked_.notify_all();
      }
      ListeningTcp& all;
    } const looking{*this};
    const SteadyTime began = std::chrono::steady_clock::now();
    auto ports = co_await disk_.run(listening_tcp_ports);
    ports_ = std::move(ports);
    as_of_ = began;
  }
  co_return std::ranges::binary_search(ports_, port);
}

Task<> until_listening(ListeningTcp* listening, std::uint16_t port) {
  Timer timer{co_await asio::this_coro::executor};
  SteadyTime since = std::chrono::steady_clock::now();
  for (auto pause = kFirstLook;; pause = std::min(pause * 2, kSlowestLook)) {
    const bool is_there = co_await listening->has(port, since);
    if (is_there) co_return;
    timer.expires_after(pause);
    co_await timer.async_wait(use_task);
    // A recent read by another waiter is enough.
    since = std::chrono::steady_clock::now() - pause / 2;
  }
}

Task<Result<>> until_exists(BlockingPool* disk, std::shared_ptr<const fs::Tree> tree, std::string path) {
  Timer timer{co_await asio::this_coro::executor};
  for (auto pause = kFirstLook;; pause = std::min(pause * 2, kSlowestLook)) {
    auto look = [&]() -> Result<> {
      SKIFF_TRY(auto object, tree->open_object(path, fs::Links::keep));
      return {};
    };
    auto found = co_await disk->run(std::move(look));
    if (found) co_return found;
    const Errc code = found.error().code;
    if (code == Errc::path_escapes_root || code == Errc::invalid_field || code == Errc::name_too_long) co_return found;
    timer.expires_after(pause);
    co_await timer.async_wait(use_task);
  }
}

Task<Result<OutputPattern>> OutputPattern::compile(PatternThread* thread, std::string pattern) {
  auto check = [&pattern]() -> Result<> {
    const RE2 expression{pattern, pattern_options()};
    if (expression.ok()) return {};
    return fail(Errc::invalid_field, "not a pattern that RE2 takes: " + expression.error(), "/for/output/pattern");
  };
  SKIFF_CO_TRY_VOID(co_await thread->run(std::move(check)));
  co_return OutputPattern{thread, std::move(pattern)};
}

/// The bytes of one stream that are to be searched, after up to 4 KiB that were searched before.
class OutputPattern::Window {
 public:
  void add(const LogItem& item) {
    text_ += item.bytes.view();
    pieces_.push_back({.end = text_.size(), .next = item.next});
  }
  [[nodiscard]] std::size_t fresh() const noexcept { return text_.size() - searched_; }

  [[nodiscard]] std::optional<Found> search(const RE2& expression) {
    if (fresh() == 0) return std::nullopt;
    re2::StringPiece match;
    if (expression.Match(text_, before_, text_.size(), RE2::UNANCHORED, &match, 1)) {
      const auto end = static_cast<std::size_t>(match.data() - text_.data()) + match.size();
      const auto piece = std::ranges::lower_bound(pieces_, end, {}, &Piece::end);
      return Found{true, piece->next, std::string{match.data(), match.size()}};
    }
    if (text_.size() > kMostMatched + 1) {
      // Keep one byte before what may match, for ^ and \b.
      text_.erase(0, text_.size() - kMostMatched - 1);
      before_ = 1;
    }
    // Hold no spare capacity while waiting: the next output may come much later.
    text_.shrink_to_fit();
    searched_ = text_.size();
    pieces_ = std::vector<Piece>(1, {.end = searched_, .next = pieces_.back().next});
    return std::nullopt;
  }

  void clear() { (void)std::exchange(*this, {}); }  // assigning an empty text would keep the memory

 private:
  struct Piece {
    std::size_t end;     ///< in the text
    std::uint64_t next;  ///< in the log
  };
  std::string text_;
  std::vector<Piece> pieces_;
  std::size_t searched_ = 0;
  std::size_t before_ = 0;
};

Task<OutputPattern::Found> OutputPattern::search(std::shared_ptr<OutputLog> log) const {
  PatternThread* const thread = thread_;
  const std::string pattern = text_;
  Cursor cursor{log, {}};
  std::array<Window, 2> windows;
  // Compile the pattern for each search, so that a waiting search holds no automaton. That costs less than waking the
  // thread.
  const auto look = [&]() -> std::optional<Found> {
    const RE2 expression{pattern, pattern_options()};
    for (Window& one : windows) {
      if (auto found = one.search(expression)) return found;
    }
    return std::nullopt;
  };
  for (;;) {
    auto item = cursor.next(kBlock);
    const bool output = item && item->kind == LogItem::Kind::output;
    Window& window = windows[output && item->stream == Stream::err ? 1 : 0];
    if (output) {
      window.add(*item);
      if (window.fresh() < kBlock) continue;
    }
    // Search many small items together: each byte is searched once, and the overlap of 4 KiB twice for each block.
    if (windows[0].fresh() + windows[1].fresh() > 0) {
      if (auto found = co_await thread->run(look)) co_return std::move(*found);
    }
    if (!item) {
      co_await cursor.ready();
    } else if (item->kind == LogItem::Kind::end) {
      co_return Found{false, item->next, {}};
    } else if (item->kind == LogItem::Kind::gap) {
      for (Window& one : windows) one.clear();
    }
  }
}

}  // namespace skiff::sessions
