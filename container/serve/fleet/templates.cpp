#include "container/serve/fleet/templates.hpp"

#include <sys/sysinfo.h>

#include <cmath>
#include <functional>
#include <optional>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/kube/objects/quantity.hpp"
#include "container/sandbox/pools.hpp"
#include "protocol/json/schema.hpp"

namespace skiff::container::serve {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

/// The fields of a template; other values come from `base`.
struct TemplateText {
  std::optional<std::string> image = {};
  std::map<std::string, std::string> env = {};
  nlohmann::json pod = {};
  std::vector<std::string> aliases = {};

  static constexpr auto fields = std::tuple{
      protocol::field("image", &TemplateText::image, "Container image"),
      protocol::field("env", &TemplateText::env, "Of all commands", {.optional = true}),
      protocol::field("pod", &TemplateText::pod, "What only clusters have", {.optional = true}),
      protocol::field("aliases", &TemplateText::aliases, "Further names of the template", {.optional = true})};
};

bool names_a_pool(const nlohmann::json& pod) {
  return pod.is_object() && (pod.contains("pool") || pod.contains("template"));
}

/// The limit in REQUEST[:LIMIT].
double limit_of(std::string_view amounts) {
  const std::size_t colon = amounts.find(':');
  return kube::parse_quantity(colon == std::string_view::npos ? amounts : amounts.substr(colon + 1)).value_or(0);
}

}  // namespace

Result<Templates> Templates::create(const SandboxSpec& base, const nlohmann::json& further) {
  Templates all;
  if (!further.is_null() && !further.is_object()) {
    return fail(Errc::invalid_field, "templates: expected a mapping of names", "templates");
  }
  for (const auto& [name, value] : further.items()) {
    const auto refuse = [&name](const Error& error) {
      return fail(Errc::invalid_field, "template \"" + name + "\": " + error.message, "templates");
    };
    if (auto checked = check_name(name); !checked) return refuse(checked.error());
    auto text = protocol::decode_json<TemplateText>(value);
    if (!text) return refuse(text.error());
    SandboxSpec spec = base;
    // The server's flags apply only to Pods that it creates itself.
    if (names_a_pool(text->pod)) leave_to_the_pool(spec, {});
    if (text->image) spec.image = *text->image;
    for (const auto& [variable, set] : text->env) spec.env[variable] = set;
    if (!text->pod.is_null()) {
      // Ports are those of a Service.
      const bool has_ports = text->pod.is_object() && text->pod.contains("ports");
      if (has_ports && spec.pod.service == ServiceKind::none) spec.pod.service = ServiceKind::clusterip;
      auto merged = nlohmann::json::parse(protocol::to_json(spec.pod));
      merged.merge_patch(text->pod);
      auto pod = protocol::decode_json<PodOptions>(merged);
      if (!pod) return refuse(pod.error());
      if (auto checked = check_pod_options(*pod); !checked) return refuse(checked.error());
      spec.pod = std::move(*pod);
    }
    for (const std::string& alias : text->aliases) {
      if (auto checked = check_name(alias); !checked) return refuse(checked.error());
      if (further.contains(alias) || !all.specs_.emplace(alias, spec).second) {
        return refuse(Error{Errc::invalid_field, "another template has the name \"" + alias + '"'});
      }
    }
    all.specs_[name] = std::move(spec);
  }
  all.specs_.try_emplace(std::string{kBase}, base);
  return all;
}

void Templates::name_base(std::string_view name) {
  const SandboxSpec& base = specs_.find(kBase)->second;
  specs_.try_emplace(std::string{name}, base);
}

const SandboxSpec* Templates::find(std::string_view name) const {
  const auto found = specs_.find(name);
  return found == specs_.end() ? nullptr : &found->second;
}

std::string Templates::names() const {
  std::string text;
  for (const auto& [name, spec] : specs_) text += (text.empty() ? "" : ", ") + name;
  return text;
}

Size size_of(const SandboxSpec& spec, bool is_local) {
  if (is_local) {
    struct sysinfo machine{};
    ::sysinfo(&machine);
    return {.cpus = static_cast<std::uint64_t>(::get_nprocs()),
            .memory_mb = std::uint64_t{machine.totalram} * machine.mem_unit / (std::uint64_t{1} << 20U)};
  }
  return {.cpus = static_cast<std::uint64_t>(std::lround(limit_of(spec.pod.cpu))),
          .memory_mb = static_cast<std::uint64_t>(limit_of(spec.pod.memory) / kMiB),
          .disk_mb = static_cast<std::uint64_t>(limit_of(spec.pod.disk) / kMiB)};
}

}  // namespace skiff::container::serve
