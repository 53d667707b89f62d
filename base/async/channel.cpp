#include "base/async/channel.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <boost/asio/post.hpp>

namespace skiff {

void ToReactor::wake(const std::shared_ptr<State>& state) {
  boost::asio::post(state->executor, [state] { state->arrived.notify_all(); });
}

bool ToReactor::push(std::string block) {
  std::unique_lock lock{state_->mutex};
  if (!state_->left && state_->bytes >= state_->most) {
    lock.unlock();
    wait_for_room();
    lock.lock();
  }
  if (state_->left) return false;
  state_->bytes += block.size();
  state_->blocks.push_back(std::move(block));
  const bool first = state_->blocks.size() == 1;
  lock.unlock();
  if (first) wake(state_);
  return true;
}

void ToReactor::wait_for_room() {
  // The turn to come back may take a while: no other thread may find the lock taken meanwhile.
  BlockingPool::Aside aside{state_->pool, BlockingPool::Return::in_turn};
  std::unique_lock lock{state_->mutex};
  state_->room.wait(lock, [this] { return state_->left || state_->bytes <= state_->most / 2; });
  if (state_->left) aside.returns(BlockingPool::Return::at_once);
}

void ToReactor::finish() {
  {
    const std::lock_guard lock{state_->mutex};
    state_->finished = true;
  }
  wake(state_);
}

Task<std::optional<std::string>> ToReactor::pop(std::shared_ptr<State> state) {
  for (;;) {
    {
      const std::lock_guard lock{state->mutex};
      if (!state->blocks.empty()) {
        std::string block = std::move(state->blocks.front());
        state->blocks.pop_front();
        state->bytes -= block.size();
        if (state->bytes <= state->most / 2) state->room.notify_one();
        co_return block;
      }
      if (state->finished) co_return std::nullopt;
    }
    co_await state->arrived.wait();
  }
}

void ToReactor::leave() {
  {
    const std::lock_guard lock{state_->mutex};
    state_->left = true;
  }
  state_->room.notify_all();
}

void ToThread::wake(const std::shared_ptr<State>& state) {
  boost::asio::post(state->executor, [state] { state->taken.notify_all(); });
}

Task<bool> ToThread::push(std::shared_ptr<State> state, std::string block) {
  for (;;) {
    {
      const std::lock_guard lock{state->mutex};
      if (state->left) co_return false;
      if (state->bytes < state->most) {
        state->bytes += block.size();
        state->blocks.push_back(std::move(block));
        state->arrived.notify_one();
        co_return true;
      }
    }
    co_await state->taken.wait();
  }
}

void ToThread::finish(bool whole) {
  {
    const std::lock_guard lock{state_->mutex};
    state_->finished = true;
    state_->whole = whole;
  }
  state_->arrived.notify_all();
}

void ToThread::wait_for_more() {
  BlockingPool::Aside aside{state_->pool, BlockingPool::Return::in_turn};
  std::unique_lock lock{state_->mutex};
  state_->arrived.wait(lock, [this] { return !state_->blocks.empty() || state_->finished; });
  if (state_->blocks.empty()) aside.returns(BlockingPool::Return::at_once);
}

std::optional<std::size_t> ToThread::read(std::span<char> into) {
  std::unique_lock lock{state_->mutex};
  if (state_->blocks.empty() && !state_->finished) {
    lock.unlock();
    wait_for_more();
    lock.lock();
  }
  if (state_->blocks.empty()) return state_->whole ? std::optional<std::size_t>{0} : std::nullopt;
  const std::string& block = state_->blocks.front();
  const std::size_t count = std::min(into.size(), block.size() - state_->begun);
  std::memcpy(into.data(), block.data() + state_->begun, count);
  state_->begun += count;
  if (state_->begun < block.size()) return count;
  const bool was_full = state_->bytes >= state_->most;
  state_->bytes -= block.size();
  state_->blocks.pop_front();
  state_->begun = 0;
  lock.unlock();
  if (was_full) wake(state_);
  return count;
}

void ToThread::leave() {
  {
    const std::lock_guard lock{state_->mutex};
    state_->left = true;
  }
  wake(state_);
}

}  // namespace skiff
