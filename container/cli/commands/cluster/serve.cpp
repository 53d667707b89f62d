#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/this_coro.hpp>
#include <nlohmann/json.hpp>

#include "base/log/log.hpp"
#include "base/small_file.hpp"
#include "container/cli/cluster_accounts.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/dev_key.hpp"
#include "container/cli/flags/spec_flags.hpp"
#include "container/cli/hosted_tenants.hpp"
#include "container/cli/key_stores.hpp"
#include "container/cli/output/output.hpp"
#include "container/cli/server_signals.hpp"
#include "container/console/page_files.hpp"
#include "container/console/served_console.hpp"
#include "container/kube/objects/yaml.hpp"
#include "container/net/proxy.hpp"
#include "container/net/resolver.hpp"
#include "container/process/open_files.hpp"
#include "container/serve/gateway/destination.hpp"
#include "container/serve/server.hpp"
#include "container/trace/span_export.hpp"
#include "container/trace/trace_settings.hpp"
#include "protocol/net/listener.hpp"

namespace skiff::container {
namespace {

/// Resolvers of browsers and of systemd return loopback for each name below localhost (RFC 6761, 6.3).
constexpr std::string_view kDevDomain = "skiff.localhost";
constexpr std::size_t kLongestTemplates = std::size_t{1} << 20U;

class Serve final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    using namespace std::chrono_literals;
    std::vector<Setting> rows{
        {.flag = "listen",
         .environment = "SKIFF_SERVE_LISTEN",
         .target = setting::List{&listen_},
         .value = "ADDR:PORT",
         .help = "Address to listen on, for HTTP: put a TLS proxy in front. Port 0 selects a free port."},
        {.flag = "domain",
         .environment = "SKIFF_SERVE_DOMAIN",
         .target = setting::Text{&domain_},
         .value = "DOMAIN",
         .help = "Domain of the hosts PORT-SANDBOX.DOMAIN; point the DNS record *.DOMAIN to the server."},
        {.flag = "templates",
         .environment = "SKIFF_SERVE_TEMPLATES",
         .target = setting::Text{&templates_},
         .value = "FILE",
         .help = "YAML file of templates, NAME: {image, env, pod, aliases}. The flags for new sandboxes define the "
                 "template "
                 "`base`."},
        {.flag = "behind-proxy",
         .target = setting::Switch{&behind_proxy_},
         .help = "Trust and forward the X-Forwarded-* fields of a proxy in front of the server."},
        {.flag = "service-accounts",
         .environment = "SKIFF_SERVE_SERVICE_ACCOUNTS",
         .target = setting::Switch{&service_accounts_},
         .value = "",
         .group = "",
         .help = "Also accept tokens of the cluster's service accounts with the audience skiff, for their namespaces."},
        {.flag = "console",
         .environment = "SKIFF_SERVE_CONSOLE",
         .target = setting::Switch{&console_},
         .value = "",
         .group = "",
         .help = "Also serve the console, a page for browsers, to holders of an API key; needs https, or loopback."},
        {.flag = "audit-log",
         .environment = "SKIFF_SERVE_AUDIT_LOG",
         .target = setting::Text{&audit_log_},
         .value = "FILE",
         .help = "File for the audit log, as JSON lines; - is standard output. SIGHUP opens it again, for rotation."},
        {.flag = "dev",
         .target = setting::Switch{&dev_},
         .help = "To try the server on this machine: makes an API key, which ends with the server or after seven days, "
                 "and prints the variables with which E2B's SDKs and skiff use it. Listens on loopback only."},
        {.flag = "drain-timeout",
         .target = setting::Duration{&drain_, 0ms, std::chrono::hours{1}},
         .value = "TIME",
         .help = "How long running requests may take when the server stops."}};
    for (Setting& row : spec_.rows_of_a_pool()) rows.push_back(std::move(row));
    return rows;
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    raise_open_files();
    std::string domain;
    if (dev_ && domain_.empty()) domain_ = kDevDomain;
    if (!domain_.empty()) {
      SKIFF_CO_TRY(domain, serve::parse_domain(domain_));
    }
    if (console_ && !console::has_page()) {
      co_return fail(Errc::not_supported, console::kNoPage, "--console");
    }
    context.set_serves_others();
    SKIFF_CO_TRY(auto driver, co_await context.driver());
    SKIFF_CO_TRY(auto templates, read_templates(arguments, *driver));
    SKIFF_CO_TRY_VOID(co_await driver->check_host());
    SKIFF_CO_TRY(auto keys, co_await open_key_store(&context));
    context.tell_notice(*driver);
    SKIFF_CO_TRY(auto ring, co_await keys->read());
    if (ring.keys.empty() && !dev_)
      say("there are no API keys yet: `skiff key create NAME` creates one (" + keys->place() + ")");
    std::optional<ClusterAccounts> reviewer;
    std::optional<serve::AccountCache> accounts;
    if (service_accounts_) {
      if (is_of_this_machine(driver->name())) {
        co_return fail(Errc::not_supported, "--service-accounts needs a cluster", "--service-accounts");
      }
      SKIFF_CO_TRY(auto cluster, context.cluster());
      reviewer.emplace(cluster);
      accounts.emplace(context.executor(), &*reviewer);
    }
    std::unique_ptr<serve::AuditLog> audit;
    if (!audit_log_.empty()) {
      SKIFF_CO_TRY(audit, serve::AuditLog::open(audit_log_));
    }
    SKIFF_CO_TRY(auto listeners, open_listeners(context.executor()));
    log::configure(log::Level::info, log::Form::json);
    const auto slots =
        protocol::slots_within(most_open_files(), protocol::SlotLimits{}.authenticated, protocol::LeadTo::another);
    log::info("serving", {{"connections", slots.authenticated}, {"open_files", most_open_files()}});
    HostedTenants tenants{&context};
    auto spans = open_export(context);
    serve::Service service{context.executor(),
                           &tenants,
                           keys.get(),
                           std::move(templates),
                           {.domain = domain,
                            .is_local = is_of_this_machine(driver->name()),
                            .behind_proxy = behind_proxy_,
                            .spans = spans.get(),
                            .audit = audit.get(),
                            .beside_own_page = console_,
                            .kept = most_open_files() / 8}};
    if (accounts) service.keys().accept(&*accounts);
    console::ServedConsole console{&service};
    std::function<Task<>(protocol::HttpExchange&)> front;
    if (console_) front = [&console](protocol::HttpExchange& http) { return console.answer(http); };
    ServerSignals signals{context, audit.get()};
    std::optional<DevKey> dev_key;
    if (dev_) {
      SKIFF_CO_TRY(dev_key, co_await DevKey::create(keys.get(), tenant_of(context, *driver)));
    }
    std::exception_ptr failure;
    Result<> served;
    if (spans) spans->start();
    if (dev_key) served = print(variables(dev_key->text(), listeners.front()->address().text()));
    try {
      if (served) {
        served = co_await serve::serve_until(signals.asked(), &service, std::move(listeners),
                                             {.slots = slots, .drain_time = drain_, .front = std::move(front)});
      }
    } catch (...) {
      failure = std::current_exception();
    }
    co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
    if (dev_key) {
      if (const auto removed = co_await dev_key->remove(); !removed) say(removed.error().message);
    }
    co_await tenants.close();
    if (spans) co_await spans->stop();
    if (failure) std::rethrow_exception(failure);
    if (!served) co_return std::unexpected{std::move(served.error())};
    co_return 0;
  }

 private:
  /// Opens the export of spans; null where nothing is traced.
  static std::unique_ptr<SpanExport> open_export(const Context& context) {
    auto configuration = read_trace_settings(net::process_environment);
    if (!context.options().quiet) {
      for (const std::string& warning : configuration.warnings) say(warning);
    }
    if (!configuration.settings) return nullptr;
    return std::make_unique<SpanExport>(context.executor(), net::system_resolver(), std::move(*configuration.settings));
  }

  /// The variables of --dev, as lines for a shell.
  static std::string variables(const std::string& key, const std::string& address) {
    const std::string url = "http://" + address;
    return "export E2B_API_KEY=" + key + " E2B_API_URL=" + url + " E2B_SANDBOX_URL=" + url +
           "\nexport SKIFF_API_KEY=" + key + " SKIFF_URL=" + url + "\n";
  }

  static std::string tenant_of(Context& context, const Driver& driver) {
    if (is_of_this_machine(driver.name())) return "default";
    const auto cluster = context.cluster();
    return cluster ? (*cluster)->namespace_name() : "default";
  }

  Result<serve::Templates> read_templates(const SettingsTable::Arguments& arguments, const Driver& driver) const {
    SKIFF_TRY(auto base, spec_.spec({}, {}, arguments.given));
    // Clients reach sandboxes through this server, and a Service costs the cluster more than all the rest of a sandbox.
    if (driver.name() == "pod") base.pod.service = ServiceKind::none;
    nlohmann::json further;
    if (!templates_.empty()) {
      SKIFF_TRY(auto text, read_small_file(templates_, kLongestTemplates));
      SKIFF_TRY(further, kube::parse_yaml(text));
    }
    SKIFF_TRY(auto templates, serve::Templates::create(base, further));
    // The package e2b-code-interpreter asks for it, and whoever tries it has no operator to add it.
    if (dev_) templates.name_base("code-interpreter-v1");
    return templates;
  }

  Result<std::vector<std::shared_ptr<protocol::Listener>>> open_listeners(Executor executor) const {
    std::vector<protocol::Address> addresses;
    for (const std::string& text : listen_) {
      SKIFF_TRY(auto address, protocol::Address::parse(text));
      if (dev_ && (address.is_unix() || !address.is_loopback())) {
        return fail(Errc::invalid_field, "--dev listens on a TCP port of loopback, not on " + text, "--listen");
      }
      addresses.push_back(std::move(address));
    }
    std::vector<std::shared_ptr<protocol::Listener>> listeners;
    for (const protocol::Address& address : addresses) {
      SKIFF_TRY(auto listener, protocol::Listener::open(executor, address, protocol::any_address(address, addresses)));
      const std::string at = listener->address().text();
      // With --dev the whole output is a script for a shell.
      SKIFF_TRY_VOID(print(std::string{dev_ ? "# " : ""} + "skiff serves on " +
                           std::string{address.is_unix() ? "" : "http://"} + at + "\n"));
      listeners.push_back(std::move(listener));
    }
    return listeners;
  }

  SpecFlags spec_;
  std::vector<std::string> listen_{"127.0.0.1:7080"};
  std::string domain_;
  std::string templates_;
  std::string audit_log_;
  std::chrono::milliseconds drain_{30'000};
  bool behind_proxy_ = false;
  bool dev_ = false;
  bool console_ = false;
  bool service_accounts_ = false;
};

}  // namespace

Command serve_command() {
  return {.name = "serve",
          .group = "Operators",
          .summary = "serve sandboxes over HTTP to clients with an API key",
          .text =
              "E2B's SDKs create, use and remove sandboxes through this server, without a kubeconfig (docs/serve.md).\n"
              "\n"
              "  skiff serve --dev\n"
              "\n"
              "prints the variables for a client. With keys of its own:\n"
              "\n"
              "  export E2B_API_KEY=$(skiff key create me)\n"
              "  skiff serve --listen 127.0.0.1:7080",
          .traces_requests = true,
          .makes_sandboxes = true,
          .make = &create_invocation<Serve>};
}

}  // namespace skiff::container
