#include "runtime/mcp/clients.hpp"

#include <algorithm>
#include <array>

#include <boost/asio/post.hpp>

#include "base/id.hpp"
#include "protocol/json/base64.hpp"

namespace skiff::runtime::mcp {
namespace {

constexpr std::chrono::milliseconds kSweepTime{60'000};
/// The number of turns of the reactor that a job gets to answer, once its wait is over.
constexpr int kLastTurns = 100;

/// Creates an id that nobody can guess: whoever knows it, and has a credential of the same holder, speaks for the
/// client.
std::string unguessable_id() {
  std::array<std::byte, 18> bytes{};
  random_bytes(bytes);
  return protocol::encode_base64url({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

Result<std::uint64_t> Client::begin(const std::string& request, std::shared_ptr<Job> job) {
  if (requests_.contains(request)) {
    return fail(Errc::invalid_request, "a request with the id " + request + " is under way: take another id", "/id");
  }
  if (requests_.size() >= kMostRequests) {
    return fail(Errc::resource_exhausted, "32 requests are under way: wait for one of them, or cancel it");
  }
  const std::uint64_t stream = ++streams_;
  requests_.emplace(request, Running{stream, std::move(job)});
  return stream;
}

void Client::end(const std::string& request, std::uint64_t stream) {
  const auto found = requests_.find(request);
  if (found == requests_.end() || found->second.stream != stream) return;
  over_.emplace_back(stream, found->second.job->outbox);
  std::size_t bytes = 0;
  for (const auto& [number, outbox] : over_) bytes += outbox->bytes();
  // A connection that sends one of them still holds it.
  while (over_.size() > kKeptStreams || bytes > kKeptBytes) {
    bytes -= over_.front().second->bytes();
    over_.pop_front();
  }
  requests_.erase(found);
  last_used = std::chrono::steady_clock::now();
}

void Client::cancel(const std::string& request) {
  const auto found = requests_.find(request);
  if (found != requests_.end()) found->second.job->cancel();
}

std::shared_ptr<Outbox> Client::stream(std::uint64_t number) const {
  if (number == 0) return news;
  for (const auto& [request, running] : requests_) {
    if (running.stream == number) return running.job->outbox;
  }
  const auto found = std::ranges::find(over_, number, &std::pair<std::uint64_t, std::shared_ptr<Outbox>>::first);
  return found == over_.end() ? nullptr : found->second;
}

void Client::close() {
  for (const auto& [request, running] : requests_) running.job->cancel();
  for (const auto& [uri, job] : subscriptions) job->cancel();
  news->close();
}

Clients::Clients(Executor executor)
    : executor_{executor}, tasks_{executor}, sweep_due_{executor, [this] { sweep(); }} {}

Result<std::shared_ptr<Client>> Clients::add(std::string who, Revision revision) {
  if (closed_) return fail(Errc::draining, "the agent is stopping and takes no new work");
  const auto theirs = std::ranges::count_if(clients_, [&](const auto& one) { return one.second->who == who; });
  const bool has_many = static_cast<std::size_t>(theirs) >= kMostClients - clients_.size();
  if (has_many) {
    const auto idle_since = [&](const auto& one) {
      const bool stays = one.second->busy() || (theirs > 0 && one.second->who != who);
      return stays ? SteadyTime::max() : one.second->last_used;
    };
    const auto oldest = std::ranges::min_element(clients_, {}, idle_since);
    if (idle_since(*oldest) > std::chrono::steady_clock::now() - kGivesPlaceAfter) {
      return fail(Errc::resource_exhausted,
                  "too many clients are connected: end one of them with DELETE, or try again later");
    }
    remove(std::string{oldest->first});
  }
  auto client = std::make_shared<Client>(executor_, unguessable_id(), std::move(who), revision);
  clients_.emplace(client->id, client);
  if (clients_.size() == 1) sweep_due_.expires_after(kSweepTime);
  return client;
}

std::shared_ptr<Client> Clients::find(std::string_view id, std::string_view who) {
  const auto found = clients_.find(id);
  if (found == clients_.end() || found->second->who != who) return nullptr;
  found->second->last_used = std::chrono::steady_clock::now();
  return found->second;
}

void Clients::remove(const std::string& id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  const std::shared_ptr<Client> client = found->second;
  clients_.erase(found);
  client->close();
}

Result<> Clients::start(std::shared_ptr<Job> job, Work work, std::function<void()> over) {
  if (closed_) return fail(Errc::draining, "the agent is stopping and takes no new work");
  const auto theirs = std::ranges::count_if(jobs_, [&](const auto& one) { return one.second->who == job->who; });
  if (static_cast<std::size_t>(theirs) >= kMostJobs - jobs_.size()) {
    return fail(Errc::resource_exhausted, "too many requests and subscriptions are under way: try again later");
  }
  jobs_.emplace(job.get(), job);
  tasks_.spawn("mcp", [](Clients* self, std::shared_ptr<Job> one, Work what, std::function<void()> then) -> Task<> {
    const struct Ending {
      ~Ending() {
        all.jobs_.erase(&job);
        if (then) then();
      }
      Clients& all;
      const Job& job;
      const std::function<void()>& then;
    } ending{*self, *one, then};
    co_await run_job(one, std::move(what));
  }(this, std::move(job), std::move(work), std::move(over)));
  return {};
}

Task<> Clients::close() {
  closed_ = true;
  sweep_due_.clear();
  for (int i = 0; i < kLastTurns && !jobs_.empty(); ++i) co_await boost::asio::post(executor_, use_task);
  while (!clients_.empty()) remove(std::string{clients_.begin()->first});
  // A job that ends removes itself from `jobs_`.
  const auto jobs = jobs_;
  for (const auto& [key, job] : jobs) job->cancel();
  co_await tasks_.join();
}

void Clients::sweep() {
  const auto before = std::chrono::steady_clock::now() - kIdleTime;
  for (auto it = clients_.begin(); it != clients_.end();) {
    const std::shared_ptr<Client> client = (it++)->second;
    if (!client->busy() && client->last_used < before) remove(client->id);
  }
  if (!clients_.empty()) sweep_due_.expires_after(kSweepTime);
}

}  // namespace skiff::runtime::mcp
