#include "runtime/reader/log_watch.hpp"

#include <algorithm>
#include <utility>

#include "protocol/http/server/exchange.hpp"

namespace skiff::runtime {
namespace {

/// Time that half a character waits for its other half.
constexpr std::chrono::milliseconds kHoldBack{100};

}  // namespace

LogWatch::LogWatch(Executor executor, std::shared_ptr<sessions::OutputLog> log, Options options)
    : executor_{executor},
      log_{std::move(log)},
      keepalive_{options.keepalive},
      until_{options.until.value_or(SteadyTime::max())} {
  if (!options.token_end) return;
  expiry_ = std::make_unique<Expiry>(executor_, options.token_end, [this] {
    expired_ = true;
    log_->wake();
  });
}

Task<> LogWatch::watch_peer(protocol::HttpExchange& http) {
  return http.watch_peer([this] {
    client_gone_ = true;
    log_->wake();
  });
}

Task<Wake> LogWatch::until_exit() {
  while (!log_->exit_status()) {
    const Wake wake = look(false);
    if (wake != Wake::output) co_return wake;
    co_await log_->changed();
  }
  co_return Wake::output;
}

Task<> LogWatch::gather(std::chrono::milliseconds time) {
  const SteadyTime until = SteadyTime::clock::now() + time;
  set_alarm(until);
  while (!log_->exit_status() && SteadyTime::clock::now() < until) co_await log_->changed();
}

Wake LogWatch::look(bool holding) {
  if (expired_) return Wake::expired;
  if (!holding) release_at_ = SteadyTime::max();
  const bool has_keepalive = keepalive_.count() > 0;
  if (!has_keepalive && !holding && until_ == SteadyTime::max()) {
    if (alarm_) alarm_->clear();
    return client_gone_ ? Wake::client_gone : Wake::output;
  }
  const SteadyTime now = SteadyTime::clock::now();
  if (now >= until_) return Wake::overdue;
  if (client_gone_) return Wake::client_gone;
  if (std::exchange(sent_, false) && has_keepalive) quiet_at_ = now + keepalive_;
  if (now >= quiet_at_) {
    sent_ = true;
    return Wake::keepalive;
  }
  const bool held_long = holding && now >= release_at_;
  release_at_ = holding && !held_long ? now + kHoldBack : SteadyTime::max();
  if (held_long) return Wake::release;
  set_alarm(std::min({until_, quiet_at_, release_at_}));
  return Wake::output;
}

bool LogWatch::overdue() const {
  return until_ != SteadyTime::max() && SteadyTime::clock::now() >= until_;
}

void LogWatch::set_alarm(SteadyTime time) {
  if (!alarm_) alarm_.emplace(executor_, [log = log_.get()] { log->wake(); });
  alarm_->expires_at(time);
}

}  // namespace skiff::runtime
