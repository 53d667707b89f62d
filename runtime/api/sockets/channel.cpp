#include "runtime/api/sockets/channel.hpp"

#include <array>
#include <utility>

#include "protocol/json/text.hpp"
#include "runtime/reader/log_reader.hpp"

namespace skiff::runtime::api {
namespace {

using sessions::LogItem;

constexpr std::chrono::milliseconds kStall{1000};
/// End-of-input messages that may wait beside the queued bytes, so that the end after accepted bytes is accepted, too.
constexpr std::size_t kMostEnds = 64;

}  // namespace

SocketChannel::SocketChannel(protocol::WebSocket& socket, std::shared_ptr<sessions::Command> command, Options options,
                             Executor executor, TaskGroup& tasks)
    : executor_{executor},
      tasks_{tasks},
      socket_{socket},
      command_{std::move(command)},
      options_{std::move(options)},
      writer_{Form::json_frame, options_.tell_channel ? std::optional{options_.channel} : std::nullopt},
      input_changed_{executor} {}

Task<Result<>> SocketChannel::send_events(std::string events) {
  std::string_view rest{events};
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::array parts{rest.substr(0, end)};
    rest.remove_prefix(end + 1);
    SKIFF_CO_TRY_VOID(co_await socket_.send(protocol::WebSocket::Kind::text, parts));
  }
  co_return Result<>{};
}

Task<Result<>> SocketChannel::send_error(Error error) {
  std::string text;
  writer_.error(text, error);
  co_return co_await send_events(std::move(text));
}

Task<Result<>> SocketChannel::send_item(LogItem item) {
  using Kind = protocol::WebSocket::Kind;
  if (item.kind == LogItem::Kind::output && options_.form != SocketForm::json) {
    if (options_.form == SocketForm::terminal) {
      const std::array parts{item.bytes.view()};
      co_return co_await socket_.send(Kind::binary, parts);
    }
    const BinaryHeader header{.kind = BinaryHeader::kOutput,
                              .stream = static_cast<std::uint8_t>(item.stream),
                              .flags = item.late ? BinaryHeader::kLate : std::uint8_t{0},
                              .channel = options_.channel,
                              .offset = item.offset,
                              .time_us = static_cast<std::uint64_t>(item.time.time_since_epoch().count())};
    const auto bytes = header.encode();
    const std::array parts{std::string_view{bytes.data(), bytes.size()}, item.bytes.view()};
    co_return co_await socket_.send(Kind::binary, parts);
  }
  if (options_.form == SocketForm::terminal) co_return Result<>{};  // a terminal shows output only
  std::string text;
  writer_.item(text, item, *command_->log());
  co_return co_await send_events(std::move(text));
}

Task<Result<>> SocketChannel::send_log(std::shared_ptr<SocketChannel> self) {
  const Options& options = self->options_;
  SKIFF_CO_TRY_VOID(co_await self->send_start());
  LogReader reader{*options.turns,
                   self->command_->log(),
                   {.from = options.from, .lossless = options.lossless, .until_end = options.until_end}};
  while (!reader.over()) {
    const Wake wake = co_await reader.ready(self->writer_.holding());
    SKIFF_CO_TRY_VOID(co_await self->send_items(&reader, wake));
  }
  co_return Result<>{};
}

Task<Result<>> SocketChannel::send_start() {
  if (options_.announce.empty() || options_.form == SocketForm::terminal) co_return Result<>{};
  co_await command_->started();
  std::string text;
  writer_.started(text, *command_, options_.announce);
  co_return co_await send_events(std::move(text));
}

Task<Result<>> SocketChannel::send_items(LogReader* reader, Wake wake) {
  if (wake == Wake::release) {
    std::string text;
    writer_.release(text);
    SKIFF_CO_TRY_VOID(co_await send_events(std::move(text)));
  }
  while (auto item = reader->next()) SKIFF_CO_TRY_VOID(co_await send_item(std::move(*item)));
  co_return Result<>{};
}

Task<Result<>> SocketChannel::offer_input(std::string bytes, std::optional<std::uint64_t> offset) {
  return offer({std::move(bytes), offset, false});
}

Task<Result<>> SocketChannel::offer_end_of_input() {
  return offer({{}, {}, true});
}

Task<Result<>> SocketChannel::offer(Input input) {
  const auto self = shared_from_this();
  const auto full = [&] {
    if (input.end) return ends_ >= kMostEnds;
    return !input_.empty() && input_bytes_ + input.cost() > options_.stdin_bytes;
  };
  while (full() && !stalled_) {
    if (!input_stall_) {
      input_stall_.emplace(executor_, [this] {
        stalled_ = true;
        input_changed_.notify_all();
      });
    }
    input_stall_->expires_after(kStall);
    const std::uint64_t before = command_->stdin_offset();
    co_await input_changed_.wait();
    // `feed` notifies after a whole message. A slow command may have read a part of one, which is progress, too.
    if (stalled_ && command_->stdin_offset() != before) stalled_ = false;
  }
  if (input_stall_) input_stall_->clear();
  if (!command_->stdin_open() && command_->state() != sessions::State::starting) {
    co_return fail(Errc::stdin_closed, "stdin of the command is closed");
  }
  if (full()) {
    co_return fail(Errc::resource_exhausted,
                   "the command does not read its stdin, and its queue is full: this input was refused");
  }
  if (input.end) {
    ++ends_;
  } else {
    input_bytes_ += input.cost();
  }
  input_.push_back(std::move(input));
  input_changed_.notify_all();
  if (!std::exchange(feeding_, true)) tasks_.spawn("feed", feed(self));
  co_return Result<>{};
}

Task<> SocketChannel::feed(std::shared_ptr<SocketChannel> self) {
  for (;;) {
    while (self->input_.empty()) co_await self->input_changed_.wait();
    Input input = std::move(self->input_.front());
    self->input_.pop_front();
    Result<> done;
    if (input.end) {
      done = co_await self->command_->close_stdin();
      --self->ends_;
    } else {
      const std::size_t cost = input.cost();
      Slice bytes{std::move(input.bytes)};
      auto written = co_await self->command_->write_stdin(std::move(bytes), input.offset);
      self->input_bytes_ -= cost;
      if (!written) done = std::unexpected{written.error()};
    }
    self->stalled_ = false;
    self->input_changed_.notify_all();
    if (!done && self->options_.form != SocketForm::terminal) {
      if (auto told = co_await self->send_error(done.error()); !told) co_return;
    }
    if (!done && done.error().code == Errc::stdin_closed) {
      self->input_.clear();
      self->input_bytes_ = 0;
      self->ends_ = 0;
      self->input_changed_.notify_all();
    }
  }
}

}  // namespace skiff::runtime::api
