#include "container/cli/commands/cluster/manifest.hpp"

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/small_file.hpp"
#include "container/cli/commands/cluster/pool_table.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/dry_run.hpp"
#include "container/cli/flags/spec_flags.hpp"
#include "container/cli/output/json_path.hpp"
#include "container/cli/output/output.hpp"
#include "container/drivers/pods/offline_manifest.hpp"
#include "container/sandbox/bring_up.hpp"
#include "container/sandbox/pools.hpp"

namespace skiff::container {
namespace {

/// Prints YAML documents, a List with -o json, or names with -o name.
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
    rows.push_back(dry_run_.row("client: do not contact a cluster, as if none were configured."));
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
  /// True if no cluster is configured.
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
      co_return fail(Errc::missing_field, "name a sandbox, or the SandboxTemplate to print with --template NAME",
                     "NAME");
    }
    SKIFF_CO_TRY(auto pools, co_await pools_of(context));
    SKIFF_CO_TRY(auto objects, co_await pools->manifest_of(std::move(wanted)));
    co_return print_objects(context->options(), std::move(objects));
  }

  SpecFlags spec_;
  DryRun dry_run_;
};

constexpr std::size_t kLongestKey = std::size_t{64} << 10U;

}  // namespace

Task<Result<int>> print_manifest(Context* context, SandboxSpec spec, bool to_be_applied) {
  SKIFF_CO_TRY(auto driver, co_await context->driver());
  SKIFF_CO_TRY_VOID(check_mount(spec, *driver));
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
  std::string unknown = "no cluster was asked, so skiff does not know whether namespace \"" + home +
                        "\" would accept this, or whether it assigns user ids";
  if (!has_credential) {
    unknown +=
        "; the agent gets no key, so it accepts no client: --key-file FILE gives it the public key of a private key, "
        "--token-secret a token";
  }
  say(unknown);
  return print_objects(options, std::move(objects));
}

Command manifest_command() {
  return {
      .name = "manifest",
      .group = "Operators",
      .summary = "print the objects that `up` would create, as YAML",
      .text =
          "With the driver pod the record comes first; once applied, the sandbox is listed and removed like any "
          "other.\n"
          "With the driver claim skiff prints a SandboxClaim (--pool, --template) or a Sandbox; the lease begins now. "
          "A\n"
          "claim's environment is left out, because only `up` can pass it to the agent. skiff creates the namespace's\n"
          "signing key if there is none, and puts its public key into the Pod.\n"
          "If no cluster is configured, skiff contacts none: stderr says what is unknown then, and --key-file "
          "replaces\n"
          "the namespace's key.\n"
          "Without NAME, --template names a SandboxTemplate that runs skiffd; `up --pool` uses pools of it.\n"
          "\n"
          "  skiff manifest demo --image python:3.12 | kubectl apply -f -\n"
          "  skiff manifest --driver claim --template py --image python:3.12 | kubectl apply -f -\n"
          "  skiff pool create warm --driver claim --template py --size 3",
      .words = {{.name = "NAME", .optional = true}},
      .makes_sandboxes = true,
      .make = &create_invocation<Manifest>};
}

}  // namespace skiff::container
