#include "runtime/mcp/job.hpp"

#include <utility>

#include "base/async/beside.hpp"

namespace skiff::runtime::mcp {
namespace {

Task<> do_work(std::shared_ptr<Job> job, const Work* work) {
  // Closes the outbox however the work ends, so that nobody waits for an answer any longer.
  const struct Closing {
    ~Closing() { outbox.close(); }
    Outbox& outbox;
  } closing{*job->outbox};
  std::string answer = co_await (*work)();
  job->outbox->finish(std::move(answer));
}

Task<> until_closed(std::shared_ptr<Job> job) {
  while (!job->outbox->closed()) co_await job->outbox->changed.wait();
}

}  // namespace

Task<> run_job(std::shared_ptr<Job> job, Work work) {
  co_await run_beside(do_work(job, &work), until_closed(job));
}

}  // namespace skiff::runtime::mcp
