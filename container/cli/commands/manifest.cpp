#include "container/cli/commands/manifest.hpp"

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/small_file.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/commands/pool_table.hpp"
#include "container/cli/context.hpp"
#include "container/cli/dry_run.hpp"
#include "container/cli/json_path.hpp"
#include "container/cli/output.hpp"
#include "container/cli/spec_flags.hpp"
#include "container/cluster/pods/offline_manifest.hpp"
#include "container/sandbox/pools.hpp"

namespace skiff::container {
namespace {

/// YAML documents, with -o json a List, with -o name their names.
Result<int> print_objects(const Options& options, std::vector<kube::Object> objects) {
  nlohmann::json items = nlohmann::json::array();
  std::string documents;
  std::string names;
  for (kube::Object& object : objects) {
    documents += "---\n" + format_yaml(object.json);
    names += object.text({"kind"}) + "/" + object.name() + "\n";
    items.push_back(std::move(object.json));
  }
  const nlohmann::json list{{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}};
  Result<> shown;
  if (options.output == "json") {
    shown = print(format_json(list));
  } else if (options.output.starts_with(kJsonPath)) {
    auto text = format_json_path(std::string_view{options.output}.substr(kJsonPath.size()), list);
    shown = text ? print(*text) : Result<>{std::unexpected{std::move(text.error())}};
  } else {
    shown = print(options.output == "name" ? names : documents);
  }
  if (!shown) return std::unexpected{std::move(shown.error())};
  return 0;
}

class Manifest final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    std::vector<Setting> rows = spec_.rows();
    rows.push_back(dry_run_.row("client: ask no cluster for anything, as is done where none is configured."));
    return rows;
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    const bool of_a_sandbox = !arguments.words.empty();
    SKIFF_CO_TRY(auto spec,
                 spec_.spec(of_a_sandbox ? arguments.words.front() : "", context.options().owner, arguments.given));
    if (of_a_sandbox && (dry_run_.asks_nobody() || has_no_cluster(context))) {
      co_return print_offline_manifest(context, std::move(spec));
    }
    if (of_a_sandbox) co_return co_await print_manifest(&context, std::move(spec), true);
    co_return co_await print_template(&context, std::move(spec));
  }

 private:
  /// Nothing says that there is one.
  static bool has_no_cluster(Context& context) {
    const Options& options = context.options();
    if (options.driver != "pod" && options.driver != "auto") return false;
    const bool names_another = names_an_agent(options) || names_a_server(options);
    if (names_a_cluster(options) || (options.driver == "auto" && names_another)) return false;
    auto cluster = context.cluster();
    return !cluster && cluster.error().code == Errc::not_found;
  }

  static Task<Result<int>> print_template(Context* context, SandboxSpec spec) {
    PoolSpec wanted{.name = std::exchange(spec.pod.template_name, {}), .size = 0, .sandbox = std::move(spec)};
    if (wanted.name.empty()) {
      co_return fail(Errc::missing_field, "name a sandbox, or by --template NAME the SandboxTemplate to print", "NAME");
    }
    SKIFF_CO_TRY(auto pools, co_await pools_of(context));
    SKIFF_CO_TRY(auto made, co_await pools->template_of(std::move(wanted)));
    std::vector<kube::Object> objects{std::move(made)};
    co_return print_objects(context->options(), std::move(objects));
  }

  SpecFlags spec_;
  DryRun dry_run_;
};

constexpr std::size_t kLongestKey = std::size_t{64} << 10U;

}  // namespace

Task<Result<int>> print_manifest(Context* context, SandboxSpec spec, bool to_be_applied) {
  SKIFF_CO_TRY(auto driver, co_await context->driver());
  SKIFF_CO_TRY(auto objects, co_await driver->manifest(std::move(spec), to_be_applied));
  co_return print_objects(context->options(), std::move(objects));
}

Result<int> print_offline_manifest(const Context& context, SandboxSpec spec) {
  const Options& options = context.options();
  if (options.driver != "pod" && options.driver != "auto") {
    return fail(Errc::invalid_field,
                "without a cluster only what the driver pod makes is known: `--driver pod`, not " + options.driver,
                "--driver");
  }
  OfflineContext known = context.offline();
  if (!options.key_file.empty()) {
    SKIFF_TRY(auto pem, read_small_file(options.key_file, kLongestKey));
    auto key = SigningKey::parse_pem(pem);
    wipe(pem);
    if (!key) return fail(key.error().code, "--key-file " + options.key_file + ": " + key.error().message);
    known.key = std::move(*key);
  }
  const bool has_credential = known.key || !spec.pod.token_secret.empty();
  const std::string home = known.namespace_name;
  SKIFF_TRY(auto objects, offline_manifest(std::move(spec), known));
  std::string unknown =
      "no cluster was asked: not whether namespace \"" + home + "\" would take this, nor whether it assigns user ids";
  if (!has_credential) {
    unknown +=
        "; and the agent knows no key, so that it lets nobody in: --key-file FILE gives it the public half of a "
        "private key, --token-secret a token";
  }
  say(unknown);
  return print_objects(options, std::move(objects));
}

Command manifest_command() {
  return {
      .name = "manifest",
      .group = "Operators",
      .summary = "print the objects that `up` would make, as YAML",
      .text =
          "With the driver pod the record comes first: it lists and removes like any other sandbox once it is "
          "applied.\n"
          "With the driver claim it is a SandboxClaim (--pool, --template) or a Sandbox; a lease counts from now, "
          "and a\n"
          "claim's environment is left out, since only `up` can tell it to the agent. The namespace's signing key "
          "is made\n"
          "if there is none: its public half goes into the Pod.\n"
          "Where no cluster is configured none is asked: stderr says what is not known then, and --key-file takes the\n"
          "place of the namespace's key.\n"
          "Without NAME, --template is a SandboxTemplate to print that runs skiffd; pools of it are for `up "
          "--pool`.\n\n"
          "  skiff manifest demo --image python:3.12 | kubectl apply -f -\n"
          "  skiff manifest --driver claim --template py --image python:3.12 | kubectl apply -f -\n"
          "  skiff pool create warm --driver claim --template py --size 3",
      .words = {{.name = "NAME", .optional = true}},
      .makes_sandboxes = true,
      .make = &make_invocation<Manifest>};
}

}  // namespace skiff::container
