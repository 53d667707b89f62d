#include "container/sandbox/pools.hpp"

#include <algorithm>
#include <utility>

namespace skiff::container {
namespace {

constexpr std::size_t kLongestPoolName = 40;

Error decided_by_the_pool(const std::string& flag) {
  return {Errc::invalid_field,
          flag + ": the pool decides this for its sandboxes; use the flag with `skiff pool create`", flag};
}

}  // namespace

Result<> check_pool_name(std::string_view name) {
  if (auto valid = check_name(name); valid && name.size() <= kLongestPoolName) return {};
  return fail(Errc::invalid_field,
              "\"" + std::string{name.substr(0, 80)} +
                  "\" is not a name for a pool: expected a lower-case letter, then letters, digits and -, at most 40",
              "name");
}

Result<> check_pool(const PoolSpec& wanted) {
  SKIFF_TRY_VOID(check_pool_name(wanted.name));
  if (wanted.size > kLargestPool) {
    return fail(Errc::invalid_field, "--size " + std::to_string(wanted.size) + ": expected 0 to 1000", "--size");
  }
  const PodOptions& pod = wanted.sandbox.pod;
  const auto refuse = [](bool is_given, const std::string& flag) -> Result<> {
    if (!is_given) return {};
    return fail(Errc::invalid_field, flag + " is for a single sandbox: use it with `skiff up --pool`", flag);
  };
  SKIFF_TRY_VOID(check_each_pod_option(
      [&](const auto& option) { return refuse(option.is_of_one && !option.is_default(pod), option.flag_text()); }));
  for (const auto& [is_given, flag] :
       {std::pair{pod.network.starts_with("cidr="), "--network"}, std::pair{!wanted.sandbox.labels.empty(), "--label"},
        std::pair{wanted.sandbox.lease.ttl.has_value(), "--ttl"},
        std::pair{wanted.sandbox.lease.idle_ttl.has_value(), "--idle-ttl"}}) {
    SKIFF_TRY_VOID(refuse(is_given, flag));
  }
  if (wanted.sandbox.is_fenced && pod.network != "open") {
    return fail(Errc::invalid_field, "--egress: its sandboxes reach names alone; omit --network", "--egress");
  }
  if (pod.agent_port != kAgentPort && pod.network != "open") {
    return fail(Errc::invalid_field,
                "--agent-port: the policy that --network sets for a pool admits only the default port", "--agent-port");
  }
  return check_pod_options(pod);
}

void leave_to_the_pool(SandboxSpec& wanted, std::span<const std::string> given) {
  const auto is_given = [given](const std::string& flag) { return std::ranges::count(given, flag) > 0; };
  if (!is_given("--image")) wanted.image.clear();
  for_each_pod_option([&](const auto& option) {
    if (option.is_of_pod && !is_given(option.flag_text())) wanted.pod.*option.member = PodOptions{}.*option.member;
  });
  const bool is_default = wanted.pod.service == PodOptions{}.service && !is_given("--service");
  wanted.needs_no_service = is_default && wanted.pod.ports.empty();
}

Result<> check_fits_pool(const SandboxSpec& wanted, const SandboxSpec* pool) {
  if (!wanted.image.empty() && (pool == nullptr || wanted.image != pool->image)) {
    return std::unexpected{decided_by_the_pool("--image")};
  }
  if (!wanted.egress_secrets.empty()) {
    return fail(
        Errc::invalid_field,
        "--egress-secret and --pool: a sandbox that waits in a pool trusts nobody new later; make one without a "
        "pool",
        "--egress-secret");
  }
  if (wanted.has_egress() && (pool == nullptr || !pool->is_fenced)) {
    return fail(Errc::invalid_field,
                "--egress and --pool: the sandboxes of this pool have no fence while they wait; `skiff pool create "
                "POOL --egress` makes a pool of sandboxes that have",
                "--egress");
  }
  // The controller decides how sandboxes from a template are reached.
  if (pool == nullptr && !wanted.pod.allow.empty()) {
    return fail(Errc::invalid_field, "--allow cannot be combined with --pool or --template", "--allow");
  }
  SKIFF_TRY_VOID(check_each_pod_option([&](const auto& option) -> Result<> {
    if (!option.is_of_pod || option.is_default(wanted.pod)) return {};
    if (pool != nullptr && wanted.pod.*option.member == pool->pod.*option.member) return {};
    return std::unexpected{decided_by_the_pool(option.flag_text())};
  }));
  // Options that are valid by themselves may be invalid together.
  return pool == nullptr ? Result<>{} : check_pod_options(complete_from_pool(wanted, *pool).pod);
}

SandboxSpec complete_from_pool(SandboxSpec wanted, const SandboxSpec& pool) {
  SandboxSpec whole = std::move(wanted);
  PodOptions own = std::move(whole.pod);
  whole.image = pool.image;
  whole.env.insert(pool.env.begin(), pool.env.end());
  whole.pod = pool.pod;
  whole.is_fenced = pool.is_fenced;
  for_each_pod_option([&](const auto& option) {
    if (!option.is_of_pod && !option.is_default(own)) whole.pod.*option.member = std::move(own.*option.member);
  });
  // Behind the fence and without a rule it reaches nothing already.
  if (whole.is_fenced && whole.egress.empty() && whole.pod.network == "deny") whole.pod.network = pool.pod.network;
  return whole;
}

Error no_such_pool(std::string_view name) {
  const std::string quoted{name};
  return {Errc::not_found, "there is no pool \"" + quoted + "\": `skiff pool create " + quoted + "` creates one",
          "--pool"};
}

Error pool_exists(std::string_view name) {
  return {Errc::already_exists, "there is a pool \"" + std::string{name} + "\"; `skiff pool scale` changes its size",
          "name"};
}

Error not_full_in_time(std::string_view name, std::size_t ready, std::size_t size) {
  return bring_up_failure(FailureReason::not_ready, "pool \"" + std::string{name} + "\": only " +
                                                        std::to_string(ready) + " of " + std::to_string(size) +
                                                        " sandboxes were ready in time; `--wait` allows more time");
}

}  // namespace skiff::container
