#include "container/serve/fleet/host_rules.hpp"

namespace skiff::container::serve {
namespace {

/// Grace for the processes of a sandbox that its client removes, and so does not need any more.
constexpr std::chrono::seconds kRemovalGrace{2};

/// True if agent-sandbox's controller manages the Pods.
bool has_controller(const Driver& driver) {
  return driver.name() == "claim";
}

}  // namespace

bool is_claimed(const Driver& driver, const SandboxSpec& spec) {
  return has_controller(driver) && (!spec.pod.pool.empty() || !spec.pod.template_name.empty());
}

Removal swift_removal(const Driver& driver) {
  Removal how;
  if (!has_controller(driver)) how.grace = kRemovalGrace;
  return how;
}

bool may_have_egress(const Driver& driver, const SandboxSpec& spec) {
  const bool is_narrower = spec.pod.network != PodOptions{}.network;
  if (driver.name() == "pod") return !is_narrower;
  return driver.name() == "box" && (!spec.names_network || !is_narrower);
}

bool is_open(const Driver& driver, const SandboxSpec& spec) {
  return spec.pod.network == "open" && (driver.name() != "box" || spec.names_network);
}

Result<> check_removal(const Driver& driver, const Removal& how) {
  if (!how.grace || !has_controller(driver)) return {};
  return fail(Errc::not_supported, "agent-sandbox's controller decides how long sandboxes have to end: omit grace_ms",
              "grace_ms");
}

Result<> check_request(const Driver& driver, const SandboxSpec& spec, const CreateRequest& request) {
  if (request.egress && !may_have_egress(driver, spec)) {
    return fail(Errc::not_supported,
                "sandboxes from this template have no egress by name: its driver does not offer it here, or its own "
                "network is narrower; the server's operator makes a template without `network`",
                "egress");
  }
  if (!is_claimed(driver, spec)) return {};
  if (request.network) {
    return fail(Errc::not_supported,
                "this template belongs to agent-sandbox, which decides the network: choose another template",
                "network");
  }
  if (request.on_end == OnEnd::stop) {
    return fail(Errc::not_supported,
                "this template belongs to agent-sandbox, and a claim is deleted with its files when its lease ends: "
                "choose another template",
                "on_end");
  }
  return {};
}

}  // namespace skiff::container::serve
