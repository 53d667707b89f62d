#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include <boost/asio/this_coro.hpp>

#include "base/async/deadline.hpp"
#include "base/async/finally.hpp"
#include "base/async/task_group.hpp"
#include "protocol/json/text.hpp"
#include "runtime/api/files/call.hpp"
#include "runtime/mcp/tools/resources.hpp"
#include "runtime/mcp/tools/tools.hpp"

namespace skiff::runtime::mcp {
namespace {

constexpr const char* kUpdated = "notifications/resources/updated";
/// The least time between two reports about one resource.
constexpr std::chrono::milliseconds kBetweenUpdates{200};

/// How long one wait for events lasts. Then the watch is checked again.
constexpr std::chrono::hours kLongestLook{1};

using OnChange = std::function<void()>;
using Watch = std::function<Task<>(OnChange)>;

/// Calls `changed` when a log gets output or its command exits, until the log has ended.
Task<> watch_log(std::shared_ptr<sessions::OutputLog> log, OnChange changed) {
  std::uint64_t seen = log->next_offset();
  bool exited = log->exit_status().has_value();
  while (!log->ended()) {
    if (log->next_offset() == seen && log->exit_status().has_value() == exited) {
      co_await log->changed();
      continue;
    }
    seen = log->next_offset();
    exited = log->exit_status().has_value();
    changed();
    co_await pause(kBetweenUpdates);
  }
  if (log->next_offset() != seen || !exited) changed();
}

/// Calls `changed` when the file changes, until the directory that holds it is gone, or the agent stops.
Task<> watch_file(std::shared_ptr<fs::DirectoryWatches::Reader> reader, std::string path, OnChange changed) {
  const auto watch = reader->watch();
  std::uint64_t cursor = watch->newest();
  while (!watch->over()) {
    auto events = co_await fs::DirectoryWatch::events(watch, cursor, 1000, SteadyTime::clock::now() + kLongestLook);
    if (!events) co_return;
    bool is_about_it = false;
    for (const fs::WatchEvent& event : *events) {
      cursor = event.cursor;
      is_about_it =
          is_about_it || event.path == path || event.from == path || event.type == fs::WatchEvent::Type::overflow;
    }
    if (!is_about_it) continue;
    changed();
    co_await pause(kBetweenUpdates);
  }
}

/// Prepares the wait for changes of the resource that `uri` names. The wait can begin when this returns.
Task<Result<Watch>> watch_of(std::shared_ptr<Request> request, std::string uri) {
  SKIFF_CO_TRY(auto resource, ResourceName::parse(uri));
  SKIFF_CO_TRY(auto session, request->session(resource.session));
  if (resource.kind == ResourceName::Kind::log) {
    SKIFF_CO_TRY(auto command, session->find(resource.rest));
    co_return Watch{[log = command->log()](OnChange changed) { return watch_log(log, std::move(changed)); }};
  }
  auto tree = co_await session->tree();
  if (!tree) co_return std::unexpected{std::move(tree.error())};
  // The file's directory is watched, because writers replace the old file with a new one.
  const std::size_t slash = resource.rest.rfind('/');
  const std::string directory = slash == std::string::npos ? "" : resource.rest.substr(0, slash + 1);
  auto open = [tree = *tree, directory] { return tree->open_directory(directory); };
  SKIFF_CO_TRY(auto joined, co_await request->agent.watches.join(std::move(open), api::relative_prefix(directory),
                                                                 false, (*tree)->levels_of(directory)));
  auto reader = std::make_shared<fs::DirectoryWatches::Reader>(std::move(joined));
  co_return Watch{[reader, path = api::relative_prefix(resource.rest)](OnChange changed) {
    return watch_file(reader, path, std::move(changed));
  }};
}

std::string updated_params(const std::string& uri, const std::string& subscription) {
  std::string params{'{'};
  if (!subscription.empty()) {
    params += R"("_meta":{"io.modelcontextprotocol/subscriptionId":)" + subscription + '}';
  }
  protocol::append_json_text(params, "uri", uri);
  return params + '}';
}

Task<std::string> run_watch(Watch watch, OnChange changed) {
  co_await watch(std::move(changed));
  co_return std::string{};
}

/// The URIs of the resources whose changes a listening client wants.
RpcResult<std::vector<std::string>> wanted_uris(const Request& request) {
  std::vector<std::string> uris;
  const auto filter = request.message.params.find("notifications");
  if (filter == request.message.params.end() || !filter->is_object()) {
    return std::unexpected{RpcError{RpcCode::invalid_params, "params.notifications must say what to listen for"}};
  }
  const auto given = filter->find("resourceSubscriptions");
  if (given == filter->end()) return uris;
  const bool is_list =
      given->is_array() && std::ranges::all_of(*given, [](const auto& one) { return one.is_string(); });
  if (!is_list || given->size() > Client::kMostSubscriptions) {
    return std::unexpected{
        RpcError{RpcCode::invalid_params, "resourceSubscriptions must be a list of at most 64 URIs"}};
  }
  for (const auto& one : *given) uris.push_back(one.template get<std::string>());
  return uris;
}

}  // namespace

Task<RpcResult<std::string>> subscribe(std::shared_ptr<Request> request) {
  const std::string uri = request->message.text("uri");
  const std::shared_ptr<Client> client = request->client;
  if (client->subscriptions.contains(uri)) co_return "{}";
  if (client->subscriptions.size() >= Client::kMostSubscriptions) {
    co_return std::unexpected{
        rpc_error(*request, {Errc::resource_exhausted, "a client has at most 64 subscriptions: end one first"})};
  }
  auto watch = co_await watch_of(request, uri);
  if (!watch) co_return std::unexpected{rpc_error(*request, watch.error())};
  auto job = std::make_shared<Job>(request->agent.executor, client->who);
  // Meanwhile the client may have sent this request again, or may have gone.
  if (client->news->closed() || !client->subscriptions.emplace(uri, job).second) co_return "{}";
  OnChange tell = [news = client->news, uri] { news->push(notification_message(kUpdated, updated_params(uri, {}))); };
  auto begun = request->clients.start(
      job, [watch = std::move(*watch), tell] { return run_watch(watch, tell); },
      [weak = std::weak_ptr{client}, uri, job] {
        const auto owner = weak.lock();
        if (!owner) return;
        const auto found = owner->subscriptions.find(uri);
        if (found != owner->subscriptions.end() && found->second == job) owner->subscriptions.erase(found);
      });
  if (!begun) {
    client->subscriptions.erase(uri);
    co_return std::unexpected{rpc_error(*request, begun.error())};
  }
  co_return "{}";
}

Task<RpcResult<std::string>> unsubscribe(std::shared_ptr<Request> request) {
  auto& all = request->client->subscriptions;
  if (const auto found = all.find(request->message.text("uri")); found != all.end()) {
    const std::shared_ptr<Job> job = found->second;
    all.erase(found);
    job->cancel();
  }
  co_return "{}";
}

Task<RpcResult<std::string>> listen_to_subscriptions(std::shared_ptr<Request> request) {
  SKIFF_CO_TRY(auto uris, wanted_uris(*request));
  const std::string& id = request->message.id;
  TaskGroup group{request->agent.executor};
  auto listen = [&](this auto) -> Task<RpcResult<std::string>> {
    std::vector<std::pair<std::string, Watch>> watches;
    for (const std::string& uri : uris) {
      auto watch = co_await watch_of(request, uri);
      if (!watch) co_return std::unexpected{rpc_error(*request, watch.error())};
      watches.emplace_back(uri, std::move(*watch));
    }
    std::string acknowledged = R"({"_meta":{"io.modelcontextprotocol/subscriptionId":)" + id + R"(},"notifications":{)";
    if (!uris.empty()) {
      protocol::append_json_key(acknowledged, "resourceSubscriptions");
      acknowledged += json_of(nlohmann::json(uris));
    }
    request->job->outbox->push(notification_message("notifications/subscriptions/acknowledged", acknowledged + "}}"));
    for (const auto& [uri, watch] : watches) {
      group.spawn("mcp watch", watch([outbox = request->job->outbox, params = updated_params(uri, id)] {
                    outbox->push(notification_message(kUpdated, params));
                  }));
    }
    // The request lasts until it is cancelled, even if all its watches are over.
    Event never{request->agent.executor};
    co_await never.wait();
    co_return R"({"_meta":{"io.modelcontextprotocol/subscriptionId":)" + id + "}}";
  };
  co_return co_await finally(std::move(listen), [&] { return end_tasks(&group); });
}

}  // namespace skiff::runtime::mcp
