#include "base/async/blocking_pool.hpp"

#include <pthread.h>

#include <algorithm>
#include <exception>
#include <system_error>

#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/worker_thread.hpp"

namespace skiff {
namespace asio = boost::asio;
namespace {

thread_local BlockingPool* this_threads_pool = nullptr;

}  // namespace

BlockingPool::BlockingPool(std::string_view name, std::size_t threads, std::size_t places)
    : name_{name}, most_{threads}, places_{places} {
  const std::lock_guard lock{mutex_};
  const auto first = threads_.emplace(threads_.end());
  *first = start_worker([this, first] { serve(first); });
  ++idle_;
}

BlockingPool::~BlockingPool() {
  std::unique_lock lock{mutex_};
  stopping_ = true;
  ready_.notify_all();
  // From here on no thread removes itself; jobs that stand aside may still need further threads.
  while (!threads_.empty()) {
    std::thread thread = std::move(threads_.front());
    threads_.pop_front();
    lock.unlock();
    thread.join();
    lock.lock();
  }
  if (ended_.joinable()) ended_.join();
}

void BlockingPool::post(std::move_only_function<void()> job) {
  {
    const std::lock_guard lock{mutex_};
    jobs_.push_back(std::move(job));
    add_thread();
  }
  ready_.notify_one();
}

Task<> BlockingPool::run_job(std::move_only_function<void()>* job) {
  const Executor executor = co_await asio::this_coro::executor;
  std::exception_ptr failure;
  co_await asio::async_initiate<const asio::use_awaitable_t<Executor>, void()>(
      [&](auto handler) {
        // The guard keeps the reactor running while the only outstanding work is on another thread.
        post(
            [&failure, job, executor, handler = std::move(handler), guard = asio::make_work_guard(executor)]() mutable {
              try {
                (*job)();
              } catch (...) {
                failure = std::current_exception();
              }
              asio::post(executor, std::move(handler));
              guard.reset();
            });
      },
      use_task);
  if (failure) std::rethrow_exception(failure);
}

BlockingPool* BlockingPool::current() noexcept {
  return this_threads_pool;
}

bool BlockingPool::crowded(std::size_t further) {
  const std::lock_guard lock{mutex_};
  return running_ + aside_ + further > places_;
}

void BlockingPool::add_thread() {
  if (running_ >= most_ || idle_ >= std::min(jobs_.size(), most_ - running_)) return;
  const auto added = threads_.emplace(threads_.end());
  try {
    *added = start_worker([this, added] { serve(added); });
    ++idle_;
  } catch (const std::system_error&) {
    // EAGAIN, pthread_create(3): the existing threads do the work.
    threads_.erase(added);
  }
}

void BlockingPool::pass_on() {
  while (running_ < most_) {
    if (!jobs_.empty() && (returning_.empty() || returned_last_)) {
      add_thread();
      if (idle_ > 0) {
        ready_.notify_one();  // that thread calls pass_on as well once it has begun
        return;
      }
    }
    if (returning_.empty()) return;
    returned_last_ = true;
    Returning& next = *returning_.front();
    returning_.pop_front();
    --aside_;
    ++running_;
    next.may_run = true;
    next.granted.notify_one();
  }
}

void BlockingPool::serve(Threads::iterator self) {
  pthread_setname_np(pthread_self(), name_.data());
  this_threads_pool = this;

  std::unique_lock lock{mutex_};
  for (;;) {
    ready_.wait(lock, [this] { return may_begin() || (stopping_ ? jobs_.empty() : idle_ > most_); });
    --idle_;
    if (!may_begin()) break;
    {
      auto job = std::move(jobs_.front());
      jobs_.pop_front();
      ++running_;
      returned_last_ = false;
      if (stopping_ && jobs_.empty()) ready_.notify_all();
      if (!returning_.empty()) pass_on();
      lock.unlock();
      job();
    }
    lock.lock();
    --running_;
    ++idle_;
    if (!returning_.empty()) pass_on();
  }
  if (stopping_) return;
  std::thread before = std::exchange(ended_, std::move(*self));
  threads_.erase(self);
  lock.unlock();
  if (before.joinable()) before.join();
}

BlockingPool::Aside::Aside(BlockingPool* pool, Return how) : pool_{pool}, how_{how} {
  if (pool_ == nullptr) return;
  const std::lock_guard lock{pool_->mutex_};
  if (pool_->aside_ >= pool_->places_) {
    pool_ = nullptr;
    return;
  }
  --pool_->running_;
  ++pool_->aside_;
  pool_->pass_on();
}

BlockingPool::Aside::~Aside() {
  if (pool_ == nullptr) return;
  std::unique_lock lock{pool_->mutex_};
  if (how_ == Return::at_once) {
    --pool_->aside_;
    ++pool_->running_;
    return;
  }
  Returning self;
  pool_->returning_.push_back(&self);
  pool_->pass_on();
  self.granted.wait(lock, [&self] { return self.may_run; });
}

}  // namespace skiff
