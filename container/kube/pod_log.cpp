#include "container/kube/pod_log.hpp"

#include <chrono>
#include <utility>

namespace skiff::kube {
namespace {

Call log_call(const std::string& namespace_name, const std::string& pod, const LogOptions& options, bool follow) {
  const auto number = [](const std::optional<std::uint64_t>& value) {
    return value ? std::to_string(*value) : std::string{};
  };
  const std::string query = Query{}
                                .add("container", options.container)
                                .add("follow", follow ? "true" : "")
                                .add("previous", options.previous ? "true" : "")
                                .add("timestamps", options.timestamps ? "true" : "")
                                .add("tailLines", number(options.tail_lines))
                                .add("limitBytes", number(options.limit_bytes))
                                .text();
  return {.target = object_path(kPods, namespace_name, pod, "log") + query,
          .what = "read the log of pod " + namespace_name + "/" + pod};
}

}  // namespace

Task<Outcome<std::string>> read_log(Client* client, std::string namespace_name, std::string pod, LogOptions options) {
  Call call = log_call(namespace_name, pod, options, false);
  auto reply = co_await client->transport().send(std::move(call));
  if (!reply) co_return std::unexpected{std::move(reply.error())};
  co_return std::move(reply->body);
}

Task<Outcome<std::unique_ptr<protocol::HttpClient>>> follow_log(Client* client, std::string namespace_name,
                                                                std::string pod, LogOptions options) {
  Call call = log_call(namespace_name, pod, options, true);
  co_return co_await client->transport().stream(std::move(call), protocol::kForever);
}

}  // namespace skiff::kube
