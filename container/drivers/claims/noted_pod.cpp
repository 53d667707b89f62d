#include "container/drivers/claims/noted_pod.hpp"

#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "container/cluster/labels.hpp"
#include "container/drivers/claims/objects.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using nlohmann::json;

constexpr std::string_view kNotedPod = "skiff.dev/pod";

json note(const NotedPod& pod) {
  return {{"metadata", {{"annotations", {{kNotedPod, protocol::to_json(pod)}}}}}};
}

}  // namespace

std::optional<NotedPod> noted_pod(const Object& object) {
  const std::string text = object.annotation(kNotedPod);
  if (text.empty() || !labels::is_ours(object)) return std::nullopt;
  std::vector<std::string> from_a_newer_skiff;
  auto noted = protocol::decode<NotedPod>(text, {}, &from_a_newer_skiff);
  return noted ? std::move(*noted) : NotedPod{};
}

bool lacks_note(const Object& object) {
  const auto noted = noted_pod(object);
  return labels::is_ours(object) && (!noted || noted->uid.empty());
}

json up_note(const Object& pod, std::string lost_with) {
  return note({.uid = pod.uid(),
               .node = pod.text({"spec", "nodeName"}),
               .started_at = pod.text({"status", "startTime"}),
               .lost_with = std::move(lost_with)});
}

json down_note(std::string lost_with) {
  return note({.lost_with = std::move(lost_with)});
}

void describe_loss(Sandbox& sandbox, const std::optional<PodEnd>& end) {
  sandbox.state = SandboxState::failed;
  sandbox.was_broken = true;
  sandbox.address.clear();
  sandbox.reason = end ? "its Pod is gone, and a new one took its place: " + end->why
                       : "its Pod was deleted, by a drain of its node or by somebody, and a new one took its place";
  if (end) sandbox.details["ended_by"] = word_of(end->by);
}

std::string loss_before_start(const Object& object, const Sandbox& now) {
  if (now.was_broken) return keeps_files(spec_of(object)) ? std::string{} : now.reason;
  const auto noted = noted_pod(object);
  return noted ? noted->lost_with : std::string{};
}

}  // namespace skiff::container
