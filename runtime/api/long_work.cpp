#include "runtime/api/long_work.hpp"

#include "base/async/beside.hpp"
#include "base/async/timer.hpp"
#include "fs/content/target.hpp"

namespace skiff::runtime::api {

bool is_long(const Call& call) {
  const std::string_view with = call.route.long_with;
  if (with == kAlwaysLong || (!with.empty() && call.query(with))) return true;
  return call.http.request().headers.get("If-Match").contains("\"h-");
}

bool wants_long_hash(const fs::Entry& entry, const std::optional<std::string>& tag) {
  return !tag && entry.type == fs::EntryType::file && entry.size <= fs::kMostHashedForTag &&
         !fs::time_tag_is_final(entry);
}

Task<> stop_without_client(protocol::HttpExchange* http, std::stop_source* stop) {
  const bool shut = co_await http->peer_closed();
  if (!shut) co_return;
  Timer patience{http->executor(), kShutPatience};
  co_await patience.async_wait(use_task);
  stop->request_stop();
}

Task<> run_long(Call* call, StoppableJob* job) {
  std::stop_source stop;
  auto work = [job, &stop] {
    (*job)(stop.get_token());
    return true;
  };
  Task<bool> working = call->agent.pools.long_work.run(std::move(work));
  (void)co_await run_beside(stop_without_client(&call->http, &stop), std::move(working));
}

}  // namespace skiff::runtime::api
