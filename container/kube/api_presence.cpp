#include "container/kube/api_presence.hpp"

#include <utility>

#include "base/async/deadline.hpp"
#include "base/async/with_timeout.hpp"
#include "base/clock.hpp"
#include "base/log/log.hpp"

namespace skiff::kube {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenQuestions{1'000};
constexpr unsigned kServerFault = 500;

std::unexpected<Failure> unanswered() {
  return std::unexpected{
      Failure{.error = {Errc::cluster_unavailable, "the API server does not answer", std::string{kClusterFault}}}};
}

}  // namespace

bool is_servers_fault(const Failure& failure) {
  return failure.status.code == 0 || failure.status.code >= kServerFault;
}

ApiPresence::ApiPresence(Client* client, Executor executor, Resource resource, std::string namespace_name,
                         std::string labels)
    : client_{client},
      resource_{std::move(resource)},
      namespace_name_{std::move(namespace_name)},
      labels_{std::move(labels)},
      decided_{executor},
      tasks_{executor} {}

Task<> ApiPresence::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

void ApiPresence::doubt() {
  is_in_doubt_ = true;
  begin_asking();
}

void ApiPresence::begin_asking() {
  if (std::exchange(is_asking_, true)) return;
  tasks_.spawn("ask whether the API server is back", ask_until_answered());
}

Task<> ApiPresence::ask_until_answered() {
  for (;;) {
    // Like most requests, it needs etcd, too.
    auto answer =
        co_await within(steady_clock::now() + kAway,
                        client_->list_page(resource_, namespace_name_, {.label_selector = labels_, .page = 1}));
    if (answer && (*answer || !is_servers_fault(answer->error()))) break;
    is_in_doubt_ = true;
    if (!std::exchange(is_away_, true)) log::warning("the API server does not answer", {{"place", namespace_name_}});
    decided_.notify_all();
    co_await pause(kBetweenQuestions);
  }
  if (std::exchange(is_away_, false)) log::info("the API server answers again", {{"place", namespace_name_}});
  is_asking_ = is_in_doubt_ = false;
  decided_.notify_all();
}

Task<Result<>> ApiPresence::check() {
  const bool is_known = steady_clock::now() - client_->transport().served_at() < kReadPatience;
  if (is_known && !is_in_doubt_) co_return Result<>{};
  begin_asking();
  while (is_asking_ && !is_away_) co_await decided_.wait();
  if (!is_away_) co_return Result<>{};
  co_return fail(Errc::cluster_unavailable, "the API server does not answer");
}

Task<Outcome<Object>> ApiPresence::read(Resource resource, std::string namespace_name, std::string name,
                                        std::chrono::milliseconds patience) {
  if (is_away_) co_return unanswered();
  auto answer = co_await within(steady_clock::now() + patience,
                                client_->get(std::move(resource), std::move(namespace_name), std::move(name)));
  if (answer && (*answer || !is_servers_fault(answer->error()))) co_return std::move(*answer);
  doubt();
  if (answer) co_return std::move(*answer);
  co_return unanswered();
}

}  // namespace skiff::kube
