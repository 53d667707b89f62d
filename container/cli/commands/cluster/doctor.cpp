#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/small_file.hpp"
#include "container/cli/apparmor_profile.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/key_stores.hpp"
#include "container/cli/output/output.hpp"
#include "container/cli/serve_checks.hpp"
#include "container/cluster/checks.hpp"
#include "container/cluster/egress/trial.hpp"
#include "container/net/resolver.hpp"
#include "container/sandbox/agent_checks.hpp"
#include "container/serve/gateway/destination.hpp"

namespace skiff::container {
namespace {

constexpr std::size_t kMostAuthorities = std::size_t{1} << 20U;

class Doctor final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {
        {.flag = "agent-image",
         .environment = "SKIFF_AGENT_IMAGE",
         .target = setting::Text{&agent_image_},
         .value = "IMAGE",
         .help = "Image that contains skiffd, as `up` would use it."},
        {.flag = "serve",
         .target = setting::Switch{&serve_},
         .help = "Check what `skiff serve` needs instead: API keys, permissions in the tenants' namespaces, and "
                 "with --url whether it answers."},
        {.flag = "domain",
         .environment = "SKIFF_SERVE_DOMAIN",
         .target = setting::Text{&domain_},
         .value = "DOMAIN",
         .help = "With --serve: check that the names PORT-SANDBOX.DOMAIN lead to the server by HTTPS."},
        {.flag = "egress",
         .target = setting::Switch{&egress_},
         .help = "Check instead whether the cluster keeps sandboxes with egress by name to their proxy: two Pods try "
                 "it, one with the fence and one without."},
        {.flag = "apparmor",
         .target = setting::Switch{&apparmor_},
         .help = "Check nothing, and print an AppArmor profile that permits skiff to make boxes, for systems that "
                 "let other programs have no user namespaces. It is refused for a skiff that others than root can "
                 "replace."}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    if (!serve_ && std::ranges::count(arguments.given, "--domain") > 0) {
      co_return fail(Errc::invalid_field, "--domain is that of a server: add --serve", "--domain");
    }
    if (apparmor_) co_return print_profile();
    context.set_agent_image(agent_image_);
    if (serve_) context.set_examines_url();
    SKIFF_CO_TRY(auto driver, co_await context.driver());
    auto looked = serve_    ? examine_serve(&context, driver)
                  : egress_ ? examine_egress(&context)
                            : examine_driver(&context, driver);
    SKIFF_CO_TRY(auto checks, co_await std::move(looked));
    nlohmann::json items = nlohmann::json::array();
    std::vector<std::vector<std::string>> rows{{"driver", "ok", std::string{driver->name()}}};
    std::string remedies;
    bool all_passed = true;
    for (const Check& check : checks) {
      items.push_back({{"what", check.what},
                       {"passed", check.passed},
                       {"offered", check.is_offered},
                       {"detail", check.detail},
                       {"remedy", check.remedy}});
      const char* const word = !check.passed ? "FAILED" : check.is_offered ? "ok" : "not offered";
      rows.push_back({check.what, word, check.detail});
      all_passed = all_passed && check.passed;
      if (check.passed && check.is_offered) continue;
      remedies += "\n" + check.what + ": " + check.remedy + "\n";
    }
    const nlohmann::json value{{"driver", driver->name()}, {"passed", all_passed}, {"items", std::move(items)}};
    SKIFF_CO_TRY_VOID(context.show(value, format_table(rows) + remedies, ""));
    if (!all_passed) co_return fail(Errc::not_supported, "some checks failed");
    co_return 0;
  }

 private:
  static Result<int> print_profile() {
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) return std::unexpected{system_error(error.value(), "find the path of skiff")};
    SKIFF_TRY(auto profile, apparmor_profile(program));
    SKIFF_TRY_VOID(print(profile));
    return 0;
  }

  static Task<Result<std::vector<Check>>> examine_egress(Context* context) {
    SKIFF_CO_TRY(auto cluster, context->cluster());
    co_return co_await try_egress(cluster);
  }

  static Task<Result<std::vector<Check>>> examine_driver(Context* context, Driver* driver) {
    std::vector<Check> checks = co_await driver->examine();
    // The first check says whether the host answers.
    const bool answers = checks.front().passed;
    // A skiffd that somebody else has started may have any version.
    if (answers && driver->name() != "direct" && driver->name() != "serve")
      checks.push_back(co_await examine_agents(driver, context->options().owner));
    co_return checks;
  }

  Task<Result<std::vector<Check>>> examine_serve(Context* context, Driver* driver) const {
    ServerAddress address{.url = context->options().url};
    if (!domain_.empty()) {
      SKIFF_CO_TRY(auto domain, serve::parse_domain(domain_));
      address.domain = std::move(domain);
    }
    if (const std::string& file = context->options().agent_certificate_authority; !file.empty()) {
      SKIFF_CO_TRY(auto pem, read_small_file(file, kMostAuthorities));
      address.certificate_authority = std::move(pem);
    }
    address.resolver = net::system_resolver();
    SKIFF_CO_TRY(auto keys, co_await open_key_store(context));
    std::vector<Check> checks;
    const auto add = [&checks](std::vector<Check> more) { std::ranges::move(more, std::back_inserter(checks)); };
    if (is_of_this_machine(driver->name())) {
      checks.push_back((co_await examine_api_keys(keys.get())).check);
    } else {
      SKIFF_CO_TRY(auto cluster, context->cluster());
      add(co_await examine_api_server(&cluster->client()));
      if (checks.front().passed) {
        KeysSeen seen = co_await examine_api_keys(keys.get());
        checks.push_back(std::move(seen.check));
        const auto kind = driver->name() == "claim" ? ClusterDriver::claim : ClusterDriver::pod;
        add(co_await examine_tenants(cluster, kind, std::move(seen.tenants)));
      }
    }
    add(co_await examine_addresses(context->executor(), std::move(address)));
    co_return checks;
  }

  std::string agent_image_;
  std::string domain_;
  bool serve_ = false;
  bool egress_ = false;
  bool apparmor_ = false;
};

}  // namespace

Command doctor_command() {
  return {.name = "doctor",
          .group = "Help",
          .summary = "check that everything that the driver needs is available",
          .text =
              "To check a server in a cluster with the server's own permissions:\n"
              "\n"
              "  kubectl exec -n skiff-serve deploy/skiff-serve -- skiff doctor --serve",
          .makes_sandboxes = true,
          .make = &create_invocation<Doctor>};
}

}  // namespace skiff::container
