#include "container/cluster/pod/gone_pod.hpp"

#include <utility>

#include "container/net/time.hpp"

namespace skiff::container {
namespace {

using kube::Object;

/// True if the node does not exist any more, or another one has its name.
Task<bool> is_node_gone(kube::Client* client, std::string name, std::string since) {
  if (name.empty()) co_return false;
  const auto node = co_await client->get(kube::kNodes, {}, std::move(name));
  if (!node) co_return node.error().not_found();
  const auto made = node->created();
  const auto started = net::parse_time(since);
  co_return made&& started && *made > *started;
}

/// True if the event is about this Pod and not about another of its name. The taint controller writes no uid.
bool is_about(const Object& event, const GonePod& pod) {
  const std::string uid = event.text({"involvedObject", "uid"});
  if (!uid.empty()) return uid == pod.uid;
  const auto started = net::parse_time(pod.started_at);
  const auto told = event.created();
  return started && told && *told >= *started;
}

}  // namespace

Task<std::optional<PodEnd>> end_of_gone(kube::Client* client, GonePod pod) {
  std::optional<PodEnd> end;
  if (pod.uid.empty()) co_return end;
  kube::ListOptions about{.field_selector = "involvedObject.kind=Pod,involvedObject.name=" + pod.name};
  auto events = co_await client->list(kube::kEvents, pod.namespace_name, std::move(about));
  if (events) {
    for (const Object& event : events->items) {
      if (!is_about(event, pod)) continue;
      if (auto told = end_in_event(event.text({"reason"}), event.text({"message"}))) end = std::move(told);
    }
  }
  if (end) co_return end;
  const std::string node = pod.node;
  const bool is_gone = co_await is_node_gone(client, node, std::move(pod.started_at));
  if (is_gone) end = PodEnd{EndedBy::node_lost, "its node " + node + " is gone"};
  co_return end;
}

}  // namespace skiff::container
