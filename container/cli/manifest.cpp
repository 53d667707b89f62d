#include "container/cli/manifest.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output.hpp"
#include "container/cli/spec_flags.hpp"
#include "container/launcher/pod_driver.hpp"

namespace skiff::container {
namespace {

class Manifest final : public Invocation {
 public:
  std::vector<Setting> rows() override { return spec_.rows(); }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    auto spec = spec_.spec(arguments.words.at(0), context.options().owner, arguments.given);
    if (!spec) co_return std::unexpected{std::move(spec.error())};
    co_return co_await print_manifest(&context, std::move(*spec), true);
  }

 private:
  SpecFlags spec_;
};

}  // namespace

Task<Result<int>> print_manifest(Context* context, SandboxSpec spec, bool to_be_applied) {
  auto cluster = context->cluster();
  if (!cluster) co_return std::unexpected{std::move(cluster.error())};
  PodDriver driver{*cluster, {}};
  auto objects = co_await driver.manifest(std::move(spec), to_be_applied);
  if (!objects) co_return std::unexpected{std::move(objects.error())};
  nlohmann::json items = nlohmann::json::array();
  std::string documents;
  std::string names;
  for (kube::Object& object : *objects) {
    documents += "---\n" + format_yaml(object.json);
    names += object.text({"kind"}) + "/" + object.name() + "\n";
    items.push_back(std::move(object.json));
  }
  const nlohmann::json list{{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}};
  const bool is_json = context->options().output == "json";
  auto shown = is_json ? print(format_json(list)) : print(context->options().output == "name" ? names : documents);
  if (!shown) co_return std::unexpected{std::move(shown.error())};
  co_return 0;
}

Command manifest_command() {
  return {
      .name = "manifest",
      .group = "Operators",
      .summary = "print the objects that `up` would make, as YAML",
      .text =
          "The record comes first: it lists and removes like any other sandbox once it is applied. The namespace's\n"
          "signing key is made if there is none, since its public half goes into the Pod.\n\n"
          "  skiff manifest demo --image python:3.12 | kubectl apply -f -",
      .words = {{.name = "NAME"}},
      .makes_sandboxes = true,
      .make = &make_invocation<Manifest>};
}

}  // namespace skiff::container
