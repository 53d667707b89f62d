#include "container/drivers/docker/arguments.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/host/agent.hpp"
#include "container/kube/objects/quantity.hpp"
#include "container/sandbox/dialects.hpp"

namespace skiff::container::docker {
namespace {

using nlohmann::json;

constexpr std::string_view kThisHost = "127.0.0.1";
constexpr std::string_view kE2bHome = "/home/user";
/// Least memory that engines accept: 6 MiB.
constexpr double kLeastMemory = 6.0 * 1024 * 1024;
constexpr double kMostMemory = 1e15;
constexpr double kLeastMillis = 10;
constexpr double kMostMillis = 1e6;

std::unexpected<Error> refuse(const std::string& flag, const std::string& message) {
  return fail(Errc::invalid_field, flag + " " + message, flag);
}

/// The limit of REQUEST[:LIMIT]. A request means nothing on one machine.
Result<std::uint64_t> limit_of(const std::string& text, const std::string& flag, double unit, double least,
                               double most) {
  SKIFF_TRY(auto amounts, parse_amounts(text, flag));
  if (amounts.limit.empty()) return 0;
  const auto value = kube::parse_quantity(amounts.limit);
  if (!value) return refuse(flag, "\"" + amounts.limit + "\": expected an amount as 512Mi, 2Gi, 250m or 2");
  const double amount = std::ceil(*value * unit);
  if (amount < least || amount > most)
    return refuse(flag, "\"" + amounts.limit + "\": engines do not take so little or so much");
  return static_cast<std::uint64_t>(amount);
}

/// Refuses all options that this driver does not offer.
Result<> check_others(const SandboxSpec& spec) {
  static const PodOptions usual;
  PodOptions rest = spec.pod;
  if (rest.network != "open" && rest.network != "deny") {
    return refuse("--network", rest.network + ": the docker driver offers open and deny");
  }
  if (rest.seccomp != "RuntimeDefault" && rest.seccomp != "Unconfined") {
    return refuse("--seccomp", rest.seccomp + ": the docker driver offers RuntimeDefault and Unconfined");
  }
  if (rest.disk != usual.disk) {
    return refuse("--disk", rest.disk + ": the docker driver cannot limit the disk of a container");
  }
  rest.network = usual.network;
  rest.seccomp = usual.seccomp;
  rest.cpu = usual.cpu;
  rest.memory = usual.memory;
  rest.run_as = usual.run_as;
  rest.workdir = usual.workdir;
  rest.agent_port = usual.agent_port;
  rest.entrypoint = usual.entrypoint;
  return refuse_pod_options(rest, "docker");
}

/// An image's name must not be taken for a flag.
Result<> check_image(const std::string& image) {
  const bool is_usual = std::ranges::all_of(image, [](unsigned char c) { return c > ' ' && c != 0x7F; });
  if (is_usual && !image.starts_with('-')) return {};
  return refuse("--image", "\"" + image + "\": expected the name of an image");
}

bool speaks_e2b(const HostRecord& record) {
  return std::ranges::count(record.dialects, kE2bName) > 0;
}

std::string cores(std::uint64_t millis) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%llu.%03llu", static_cast<unsigned long long>(millis / 1000),
                static_cast<unsigned long long>(millis % 1000));
  return text.data();
}

std::string_view pull_word(std::string_view policy) {
  if (policy == "Always") return "always";
  return policy == "Never" ? "never" : "missing";
}

}  // namespace

Result<HostContainer> container_of(const SandboxSpec& spec) {
  SKIFF_TRY_VOID(check_others(spec));
  static const PodOptions usual;
  HostContainer container;
  container.image = spec.image.empty() ? std::string{kDefaultImage} : spec.image;
  SKIFF_TRY_VOID(check_image(container.image));
  SKIFF_TRY(container.memory_bytes, limit_of(spec.pod.memory, "--memory", 1, kLeastMemory, kMostMemory));
  SKIFF_TRY(container.cpu_millis, limit_of(spec.pod.cpu, "--cpu", 1000, kLeastMillis, kMostMillis));
  if (spec.pod.memory != usual.memory) container.named_limits.emplace_back("--memory");
  if (spec.pod.cpu != usual.cpu) container.named_limits.emplace_back("--cpu");
  SKIFF_TRY_VOID(parse_run_as(spec.pod.run_as));
  SKIFF_TRY_VOID(parse_entrypoint(spec.pod.entrypoint));
  container.run_as = spec.pod.run_as;
  container.network = spec.pod.network;
  container.seccomp = spec.pod.seccomp;
  container.pull_policy = spec.pod.pull_policy;
  container.workdir = spec.pod.workdir;
  container.entrypoint = spec.pod.entrypoint;
  container.agent_port = spec.pod.agent_port;
  return container;
}

Result<> adapt_to(HostContainer& container, const EngineAbilities& abilities) {
  const auto adapt = [&container](bool holds, const char* flag, std::uint64_t& limit) -> Result<> {
    if (holds || limit == 0) return {};
    if (std::ranges::count(container.named_limits, flag) > 0) {
      return refuse(flag, "cannot be held: " + container.engine + " has no such cgroup controller on this machine");
    }
    limit = 0;
    return {};
  };
  SKIFF_TRY_VOID(adapt(abilities.memory, "--memory", container.memory_bytes));
  SKIFF_TRY_VOID(adapt(abilities.cpu, "--cpu", container.cpu_millis));
  container.is_podman = abilities.is_podman;
  container.most_processes = abilities.pids ? kMostProcesses : 0;
  return {};
}

std::string container_name(const HostRecord& record) {
  return "skiff-" + record.name + "." + record.id;
}

std::vector<std::string> create_arguments(bool is_nerdctl, const HostRecord& record, std::string_view state) {
  const HostContainer& container = *record.container;
  std::vector<std::string> words{"create", "--name", container_name(record), "--hostname", record.name};
  const auto add = [&words](std::string flag, std::string value) {
    words.push_back(std::move(flag));
    words.push_back(std::move(value));
  };
  const auto label = [&add](std::string_view name, std::string_view value) {
    add("--label", std::string{name}.append("=").append(value));
  };
  label(kNameLabel, record.name);
  label(kIdLabel, record.id);
  label(kOwnerLabel, record.owner);
  label(kStateLabel, state);
  // As in a cluster, labels with a domain are for other programs.
  for (const auto& [name, value] : record.labels) {
    if (name.contains('/')) label(name, value);
  }
  add("--entrypoint", std::string{kAgentProgram});
  add("--workdir", container.workdir);
  add("--stop-signal", "SIGTERM");
  if (!is_nerdctl) words.emplace_back("--no-healthcheck");
  add("--cap-drop", "ALL");
  add("--security-opt", "no-new-privileges");
  if (container.seccomp == "Unconfined") add("--security-opt", "seccomp=unconfined");
  if (container.run_as != "image") add("--user", container.run_as);
  if (container.most_processes > 0) add("--pids-limit", std::to_string(container.most_processes));
  if (container.memory_bytes > 0) {
    add("--memory", std::to_string(container.memory_bytes));
    add("--memory-swap", std::to_string(container.memory_bytes));
  }
  if (container.cpu_millis > 0) add("--cpus", cores(container.cpu_millis));
  if (container.is_closed()) {
    add("--network", "none");
  } else {
    add("--publish", std::string{kThisHost} + "::" + std::to_string(container.agent_port));
  }
  if (!container.pull_policy.empty()) add("--pull", std::string{pull_word(container.pull_policy)});
  words.push_back(container.image);
  words.emplace_back("launch");
  words.emplace_back(kLaunchFile);
  return words;
}

std::vector<std::string> put_in_arguments(const HostContainer& container) {
  std::vector<std::string> words{"cp"};
  // By default podman gives all files to the user of the container, who could then replace the agent.
  if (container.is_podman) words.emplace_back("--archive=false");
  words.emplace_back("-");
  words.push_back(container.id + ":/");
  return words;
}

std::vector<std::string> list_arguments(std::string_view state) {
  return {"ps",
          "--all",
          "--no-trunc",
          "--filter",
          std::string{"label="}.append(kStateLabel).append("=").append(state),
          "--format",
          "{{.ID}} {{.Names}} {{.Status}}"};
}

std::vector<std::string> relay_arguments(const std::string& id, std::uint16_t port) {
  return {"exec", "-i", id, std::string{kAgentProgram}, "relay", std::to_string(port)};
}

Result<std::string> launch_plan(const HostRecord& record, const std::string& public_key) {
  const HostContainer& container = *record.container;
  const std::string address = container.is_closed() ? std::string{kThisHost} : "0.0.0.0";
  AgentPlace place{.program = std::string{kAgentProgram},
                   .listen = address + ":" + std::to_string(container.agent_port),
                   .root = container.workdir};
  for (const std::string& name : record.dialects) {
    // Ports of dialects ask for no credential, and other containers reach each address of this one but loopback.
    place.dialects.push_back(dialect_setting(name, kThisHost, PortNumbers::known));
  }
  json environment = record.env;
  environment["SANDBOX_ID"] = record.id;
  environment["SKIFF_PUBLIC_KEY"] = public_key;
  if (speaks_e2b(record)) {
    place.e2b_home = kE2bHome;
    if (!environment.contains("HOME")) environment["HOME"] = kE2bHome;
  }
  std::vector<std::string> arguments = agent_arguments(std::move(place), record);
  arguments.erase(arguments.begin());
  if (!container.entrypoint.empty()) {
    SKIFF_TRY(auto words, parse_entrypoint(container.entrypoint));
    arguments.emplace_back("--");
    std::ranges::move(words, std::back_inserter(arguments));
  }
  return json{{"arguments", std::move(arguments)}, {"environment", std::move(environment)}}.dump();
}

}  // namespace skiff::container::docker
