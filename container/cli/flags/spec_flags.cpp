#include "container/cli/flags/spec_flags.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "base/small_file.hpp"
#include "container/cli/flags/egress_file.hpp"
#include "container/egress/rules/profiles.hpp"
#include "container/host/state_directory.hpp"
#include "container/sandbox/pools.hpp"
#include "protocol/json/utf8.hpp"

namespace skiff::container {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLongestEnvFile = std::size_t{1} << 20U;

/// The entries of a file, as docker reads it: one per line, without the blanks before it; empty lines and lines that
/// begin with # are skipped. Some editors put a byte order mark before the first line.
Result<std::vector<std::string>> read_env_file(const std::string& path) {
  SKIFF_TRY(auto text, read_small_file(path, kLongestEnvFile));
  std::vector<std::string> entries;
  std::string_view rest{text};
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && line.front() != '#') entries.emplace_back(line);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return entries;
}

}  // namespace

std::vector<Setting> SpecFlags::rows() {
  std::vector<Setting> rows{
      {.flag = "image",
       .environment = "SKIFF_IMAGE",
       .target = setting::Text{&image_},
       .value = "IMAGE",
       .help = "Container image, except with the drivers box and local. Any image works: skiff adds skiffd to it.",
       .shown_default = "python:3.12-slim"},
      {.flag = "env",
       .target = setting::List{&env_},
       .value = "NAME=VALUE",
       .help = "Variable for all commands, readable by everyone who may view the sandbox; NAME alone takes its value "
               "from skiff's environment.",
       .letter = 'e'},
      {.flag = "env-file",
       .target = setting::Text{&env_file_},
       .value = "FILE",
       .help = "File with further variables, one per line."},
      {.flag = "mount",
       .target = setting::Text{&mount_},
       .value = "DIR[:ro]",
       .help = "Directory of this machine that a sandbox of the driver box has as /workspace. What the sandbox writes "
               "goes to a layer above it; with :ro it only reads."},
      {.flag = "expose",
       .target = setting::List{&exposed_},
       .value = "DIR",
       .help = "Directory of this machine that a sandbox of the driver box may read, at its own path: tools such as "
               "~/.cargo, whose programs it finds if they are on your PATH."},
      {.flag = "egress",
       .target = setting::List{&egress_},
       .value = "HOST[:PORT]",
       .help = "Name that a sandbox of the drivers box and pod may reach by HTTPS, through a proxy; *.example.com is "
               "every name below example.com. Without a port: 443. A cluster needs `skiff egress install`."},
      {.flag = "egress-file",
       .target = setting::Text{&egress_file_},
       .value = "FILE",
       .help = "File with such names: YAML with version: 1, and allow, a list of them."},
      {.flag = "egress-secret",
       .target = setting::List{&egress_secrets_},
       .value = "NAME",
       .help = "Secret (skiff secret set) that the proxy of a sandbox of the drivers box and pod puts into requests to "
               "its hosts, which the sandbox may reach then. Commands never see it."},
      {.flag = "pids",
       .target = setting::Count{&pids_, 0, 4'194'304},
       .value = "N",
       .help = "Most processes and threads of a sandbox of the driver box. 0: 4096.",
       .shown_default = "4096"},
      {.flag = "label",
       .environment = "SKIFF_LABEL",
       .target = setting::List{&labels_},
       .value = "NAME=VALUE",
       .help = "Label, for `skiff ps --label NAME=VALUE`. skiff sets a label with a domain (example.org/team) "
               "unchanged on the sandbox's objects.",
       .letter = 'l'},
      {.flag = "ttl",
       .target = setting::Duration{&ttl_, 0ms, std::chrono::days{365}},
       .value = "TIME",
       .help = "The sandbox ends by itself after this time, for example 90s, 1h, 7d. 0: never."},
      {.flag = "idle-ttl",
       .target = setting::Duration{&idle_ttl_, 0ms, std::chrono::days{365}},
       .value = "TIME",
       .help = "The sandbox ends by itself after this time without a request or a live command. 0: never."},
      {.flag = "wait",
       .target = setting::Duration{&wait_, 100ms, std::chrono::days{1}},
       .value = "TIME",
       .help = "How long to wait until the sandbox answers."},
  };
  std::ranges::move(pod_.rows(), std::back_inserter(rows));
  return rows;
}

std::vector<Setting> SpecFlags::rows_of_a_pool() {
  std::set<std::string_view> of_one{"label",         "mount", "expose", "egress",  "egress-file",
                                    "egress-secret", "pids",  "ttl",    "idle-ttl"};
  for_each_pod_option([&](const auto& option) {
    if (option.is_of_one) of_one.insert(option.flag);
  });
  std::vector<Setting> rows = this->rows();
  std::erase_if(rows, [&](const Setting& row) { return of_one.contains(row.flag); });
  rows.push_back({.flag = "egress",
                  .target = setting::Switch{&is_fenced_},
                  .help = "Its sandboxes have egress by name: they reach nothing while they wait, and afterwards what "
                          "`skiff up --pool POOL --egress HOST` names."});
  return rows;
}

Result<std::map<std::string, std::string>> parse_env(const std::vector<std::string>& entries) {
  std::map<std::string, std::string> env;
  for (const std::string& entry : entries) {
    const std::size_t equals = std::min(entry.find('='), entry.size());
    const std::string name = entry.substr(0, equals);
    if (name.empty()) return fail(Errc::invalid_field, "--env \"" + entry + "\": expected NAME=VALUE", "--env");
    if (const std::size_t blank = name.find_first_of(" \t\r\n"); blank != std::string::npos) {
      const std::string why = name.starts_with("export ") ? ": omit export, because no shell reads this file"
                                                          : ": the name of a variable must not contain blanks";
      return fail(Errc::invalid_field, std::string{"--env \""}.append(entry).append("\"").append(why), "--env");
    }
    const char* const here = equals < entry.size() ? entry.c_str() + equals + 1 : std::getenv(name.c_str());
    if (here == nullptr) continue;
    if (!protocol::is_valid_utf8(name) || !protocol::is_valid_utf8(here)) {
      return fail(Errc::invalid_field, "--env " + protocol::to_valid_utf8(name) + ": expected UTF-8", "--env");
    }
    env[name] = here;
  }
  return env;
}

Result<SandboxSpec> SpecFlags::spec(std::string name, std::string owner, std::span<const std::string> given) const {
  std::vector<std::string> entries;
  if (!env_file_.empty()) {
    SKIFF_TRY(entries, read_env_file(env_file_));
  }
  entries.insert(entries.end(), env_.begin(), env_.end());
  SKIFF_TRY(auto env, parse_env(entries));
  for (const auto& [variable, value] : env) {
    if (!variable.starts_with("SKIFF_")) continue;
    return fail(Errc::invalid_field,
                "--env " + variable +
                    ": variables that begin with SKIFF_ configure the agent and never reach a command; in a cluster "
                    "--pod-overrides can set them",
                "--env");
  }
  SandboxSpec spec{.name = std::move(name), .image = image_, .owner = std::move(owner), .env = std::move(env)};
  SKIFF_TRY(spec.labels, parse_pairs(labels_, "--label"));
  if (ttl_ > 0ms) spec.lease.ttl = ttl_;
  if (idle_ttl_ > 0ms) spec.lease.idle_ttl = idle_ttl_;
  spec.wait = wait_;
  spec.mount = mount_;
  spec.exposed = exposed_;
  SKIFF_TRY(spec.egress, egress::with_profiles(egress_));
  spec.is_fenced = is_fenced_;
  if (!egress_file_.empty()) {
    SKIFF_TRY(auto rules, read_egress_file(egress_file_));
    spec.egress.insert(spec.egress.end(), std::move_iterator{rules.begin()}, std::move_iterator{rules.end()});
  }
  spec.egress_secrets = egress_secrets_;
  spec.pids = pids_;
  spec.names_network = std::ranges::count(given, "--network") > 0;
  spec.names_memory = std::ranges::count(given, "--memory") > 0;
  spec.names_cpu = std::ranges::count(given, "--cpu") > 0;
  spec.names_disk = std::ranges::count(given, "--disk") > 0;
  SKIFF_TRY(spec.pod, pod_.options());
  // Without a name a template is wanted, and not a sandbox from one.
  const bool is_from_pool = !spec.pod.pool.empty() || !spec.pod.template_name.empty();
  if (!spec.name.empty() && is_from_pool) leave_to_the_pool(spec, given);
  return spec;
}

}  // namespace skiff::container
