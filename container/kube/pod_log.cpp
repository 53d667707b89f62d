#include "container/kube/pod_log.hpp"

#include <utility>

namespace skiff::kube {

Task<Outcome<std::string>> read_log(Client* client, std::string namespace_name, std::string pod, LogOptions options) {
  const auto number = [](const std::optional<std::uint64_t>& value) {
    return value ? std::to_string(*value) : std::string{};
  };
  const std::string query = Query{}
                                .add("container", options.container)
                                .add("previous", options.previous ? "true" : "")
                                .add("timestamps", options.timestamps ? "true" : "")
                                .add("tailLines", number(options.tail_lines))
                                .add("limitBytes", number(options.limit_bytes))
                                .add("sinceSeconds", number(options.since_seconds))
                                .text();
  Call call{.target = object_path(kPods, namespace_name, pod, "log") + query,
            .what = "read the log of pod " + namespace_name + "/" + pod};
  SKIFF_CO_TRY(auto reply, co_await client->transport().send(std::move(call)));
  co_return std::move(reply.body);
}

}  // namespace skiff::kube
