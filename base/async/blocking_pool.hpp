#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/async/task.hpp"

namespace skiff {

/// A few threads for calls that may block (process creation, disk). The first thread starts with the pool, because
/// later the system may refuse one: a command can use up the limit of processes. The others start when a job needs
/// them. The destructor runs every job that was posted and joins the threads.
///
/// A job that waits for a client or for the holder of a lock stands aside meanwhile, and another job runs in its place.
/// So the pool may have more threads than running jobs; surplus idle threads end.
class BlockingPool {
 public:
  /// `threads` (1..64) jobs run at a time. Up to `places` more may stand aside; a job that finds no place keeps its
  /// thread. `name` shows in ps(1) and must be a literal of at most 15 characters. Throws std::system_error when the
  /// system refuses a thread (pthread_create(3)).
  BlockingPool(std::string_view name, std::size_t threads, std::size_t places = 0);
  ~BlockingPool();
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;

  /// Runs `job` on a pool thread. Callable from any thread.
  void post(std::move_only_function<void()> job);

  /// The pool whose job this thread runs; null on all other threads.
  [[nodiscard]] static BlockingPool* current() noexcept;

  /// Whether the running jobs, the jobs aside and `further` ones are more than the places. A job that calls this first,
  /// and gives up when it is true, finds a place whenever it has to wait.
  [[nodiscard]] bool crowded(std::size_t further = 0);

  /// How a job comes back from a wait. `in_turn` alternates with the jobs that have not begun, so the limit of running
  /// jobs holds. `at_once` is for a job that holds what others wait for, or that is about to end.
  enum class Return : unsigned char { at_once, in_turn };

  /// A job holds this while it waits for a client or another thread. Only one thread of a job holds it at a time; that
  /// may be another thread than the job's own.
  class Aside {
   public:
    explicit Aside(BlockingPool* pool, Return how = Return::at_once);
    ~Aside();
    Aside(const Aside&) = delete;
    Aside& operator=(const Aside&) = delete;
    void returns(Return how) noexcept { how_ = how; }

   private:
    BlockingPool* pool_;  ///< null: the job kept its thread
    Return how_;
  };

  /// Runs `work` on a pool thread and resumes the caller on its own executor with the result. Cancellation does not
  /// interrupt `work`: the caller waits until it is done, so `work` may refer to the caller's frame. Exceptions of
  /// `work` (std::bad_alloc) are rethrown at the caller.
  template <class Work>
  Task<std::invoke_result_t<Work&>> run(Work work) {
    std::optional<std::invoke_result_t<Work&>> result;
    std::move_only_function<void()> job = [&result, &work] { result.emplace(work()); };
    co_await run_job(&job);
    co_return std::move(*result);
  }

 private:
  /// The part of `run` that does not depend on the type of the job, so it is compiled once.
  Task<> run_job(std::move_only_function<void()>* job);

  /// A job that has waited and waits for its turn to go on.
  struct Returning {
    std::condition_variable granted;
    bool may_run = false;
  };
  using Threads = std::list<std::thread>;

  void serve(Threads::iterator self);
  /// Starts one more thread if a job may begin and no thread is idle for it.
  void add_thread();
  /// Gives free places to the next jobs: those that return and those that have not begun take turns.
  void pass_on();
  [[nodiscard]] bool may_begin() const { return !jobs_.empty() && running_ < most_; }

  const std::string_view name_;
  const std::size_t most_;
  const std::size_t places_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::move_only_function<void()>> jobs_;
  std::deque<Returning*> returning_;
  bool returned_last_ = false;  ///< jobs that return and jobs that have not begun take turns
  Threads threads_;
  std::thread ended_;  ///< the thread that ended last; the next one that ends joins it
  std::size_t idle_ = 0;
  std::size_t running_ = 0;
  std::size_t aside_ = 0;
  bool stopping_ = false;
};

}  // namespace skiff
