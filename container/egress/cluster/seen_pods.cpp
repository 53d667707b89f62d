#include "container/egress/cluster/seen_pods.hpp"

#include <utility>

#include "container/cluster/egress/objects.hpp"
#include "container/cluster/labels.hpp"
#include "container/kube/objects/pod.hpp"
#include "protocol/net/address.hpp"

namespace skiff::container::egress {
namespace {

std::vector<std::string> addresses_of(const kube::Object& pod) {
  std::set<std::string> found;
  const auto add = [&](const std::string& text) {
    // The one form in which peers of sockets are written, too.
    if (const auto address = protocol::Address::ip(text, 1)) found.insert(address->host());
  };
  add(kube::pod_ip(pod));
  if (const nlohmann::json* all = pod.find({"status", "podIPs"}); all != nullptr && all->is_array()) {
    for (const nlohmann::json& one : *all) add(kube::Object{one}.text({"ip"}));
  }
  return {found.begin(), found.end()};
}

/// An annotation, up to a length at which it is not read any more: whoever writes Pods could fill the proxy's memory.
std::string annotation_of(const kube::Object& pod, std::string_view name) {
  return pod.annotation(name).substr(0, kLargestEgressPolicy + 1);
}

}  // namespace

SeenPod SeenPod::of(const kube::Object& pod) {
  SeenPod seen{.name = pod.name(),
               .uid = pod.uid(),
               .sandbox = labels::get(pod, labels::kName),
               .id = pod.label(labels::kSandbox),
               .policy = annotation_of(pod, kEgressAnnotation),
               .secrets = annotation_of(pod, kEgressSecretsAnnotation)};
  const std::string phase = kube::pod_phase(pod);
  if (phase == "Succeeded" || phase == "Failed") return seen;
  seen.addresses = addresses_of(pod);
  seen.is_ready = kube::is_pod_ready(pod);
  seen.is_fenced = pod.label(labels::kNetwork) == kEgressNetwork && !seen.id.empty() && !pod.is_being_deleted() &&
                   !pod.is_true({"spec", "hostNetwork"});
  return seen;
}

void SeenPods::put(SeenPod pod) {
  erase(pod.name);
  for (const std::string& address : pod.addresses) at_[address].insert(pod.name);
  const std::string name = pod.name;
  pods_.insert_or_assign(name, std::move(pod));
}

void SeenPods::erase(std::string_view name) {
  const auto found = pods_.find(name);
  if (found == pods_.end()) return;
  for (const std::string& address : found->second.addresses) {
    auto& those = at_[address];
    those.erase(found->first);
    if (those.empty()) at_.erase(address);
  }
  pods_.erase(found);
}

const SeenPod* SeenPods::find(std::string_view name) const {
  const auto found = pods_.find(name);
  return found == pods_.end() ? nullptr : &found->second;
}

const SeenPod* SeenPods::at(std::string_view address) const {
  const auto found = at_.find(address);
  return found == at_.end() || found->second.size() != 1 ? nullptr : find(*found->second.begin());
}

std::set<std::string> SeenPods::names() const {
  std::set<std::string> all;
  for (const auto& [name, pod] : pods_) all.insert(name);
  return all;
}

}  // namespace skiff::container::egress
