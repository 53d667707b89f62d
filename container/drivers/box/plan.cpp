#include "container/drivers/box/plan.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "container/drivers/box/egress/proxy_process.hpp"
#include "container/drivers/box/limits/limits.hpp"
#include "container/drivers/box/network/links.hpp"
#include "container/egress/serve.hpp"
#include "container/host/agent.hpp"
#include "container/sandbox/dialects.hpp"
#include "protocol/net/trust/program_trust.hpp"

namespace skiff::container::box {
namespace {

namespace files = std::filesystem;

/// The directories with the programs of a machine. All others stay out of sight: a list of what is allowed needs no
/// list of secrets.
constexpr std::array<std::string_view, 9> kSystemDirectories{"/usr",   "/bin", "/sbin",      "/lib",      "/lib32",
                                                             "/lib64", "/opt", "/nix/store", "/gnu/store"};

/// The entries of /etc that programs need. The box has its own passwd, group, hosts, hostname and resolv.conf.
// clang-format off
constexpr std::array kEtc = std::to_array<std::string_view>({
    "alternatives", "bash.bashrc", "bash_completion.d", "ca-certificates", "ca-certificates.conf",
    "chromium.d/default-flags", "crypto-policies", "debian_version", "default/locale", "dpkg/origins",
    "dpkg/dpkg.cfg", "fedora-release", "fonts", "gai.conf", "gitattributes", "gtk-3.0", "host.conf", "inputrc",
    "issue", "java", "java-17-openjdk", "java-21-openjdk", "ld.so.cache", "ld.so.conf", "ld.so.conf.d",
    "libaudit.conf", "locale.alias", "locale.conf", "locale.gen", "localtime", "login.defs", "lsb-release", "magic",
    "magic.mime", "mailcap", "manpath.config", "maven/logging", "maven/m2.conf", "mime.types", "nanorc", "networks",
    "nsswitch.conf", "openssl", "os-release", "papersize", "perl", "pki/ca-trust", "pki/tls/certs",
    "pki/tls/cert.pem", "pki/tls/openssl.cnf", "profile", "profile.d", "protocols", "python3", "python3.11",
    "python3.12", "python3.13", "redhat-release", "rpc", "services", "shells", "skel", "ssl/certs", "ssl/openssl.cnf",
    "system-release", "terminfo", "timezone", "vim", "xattr.conf", "zsh",
});
// clang-format on

/// Variables of ours that a shell in the box can use.
constexpr std::array<std::string_view, 4> kInheritedHere{"LANG", "LANGUAGE", "TERM", "TZ"};
constexpr std::string_view kUsualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

bool lies_in(const files::path& inner, const files::path& outer) {
  return std::ranges::mismatch(outer, inner).in1 == outer.end();
}

/// The user's home directory, without links; empty if there is none.
files::path home_directory() {
  const char* const home = std::getenv("HOME");
  std::error_code error;
  if (home == nullptr || home[0] != '/') return {};
  const files::path real = files::canonical(home, error);
  return error || real == "/" ? files::path{} : real;
}

/// False for the home of a system user, which may be a directory of programs, as /usr/sbin.
bool is_users_own(const files::path& home) {
  struct stat found{};
  return ::stat(home.c_str(), &found) == 0 && found.st_uid == ::geteuid() &&
         (::geteuid() != 0 || !lies_in(home, "/usr"));
}

bool is_seen(const Machine& machine, const files::path& path) {
  return std::ranges::any_of(machine.directories, [&](const std::string& one) { return lies_in(path, one); });
}

/// The entries of our PATH that the box has, too; the usual ones if there are none.
std::string path_of(const Machine& machine, std::string_view ours) {
  std::string path;
  while (!ours.empty()) {
    const std::size_t colon = std::min(ours.find(':'), ours.size());
    const files::path entry{ours.substr(0, colon)};
    const bool is_linked =
        std::ranges::any_of(machine.links, [&](const Link& link) { return lies_in(entry, link.path); });
    if (entry.is_absolute() && entry.lexically_normal() == entry && (is_linked || is_seen(machine, entry))) {
      path.append(path.empty() ? "" : ":").append(entry.string());
    }
    ours.remove_prefix(std::min(colon + 1, ours.size()));
  }
  return path.empty() ? std::string{kUsualPath} : path;
}

std::vector<std::string> environment_of(const HostRecord& record, const Machine& machine, const std::string& public_key,
                                        const char* const* ours) {
  std::map<std::string, std::string> merged{
      {"HOME", kHome.data()}, {"LOGNAME", "user"}, {"PATH", std::string{kUsualPath}},
      {"SHELL", "/bin/sh"},   {"TMPDIR", "/tmp"},  {"USER", "user"}};
  for (; *ours != nullptr; ++ours) {
    const std::string_view entry{*ours};
    const std::size_t equals = std::min(entry.find('='), entry.size());
    const std::string name{entry.substr(0, equals)};
    const std::string_view value = entry.substr(std::min(equals + 1, entry.size()));
    if (name.starts_with("LC_") || std::ranges::count(kInheritedHere, name) > 0) merged[name] = value;
    if (name == "PATH") merged[name] = path_of(machine, value);
    if (name == "SHELL" && (value.starts_with("/bin/") || value.starts_with("/usr/bin/"))) merged[name] = value;
  }
  for (const auto& [name, value] : record.env) merged[name] = value;
  if (!record.egress_secrets.empty()) {
    protocol::add_trust_variables(kTrustDirectory, merged);
    protocol::add_settings_variables(kTrustDirectory, merged);
    // A request has the credential already, or none: there is nobody to ask.
    merged.try_emplace("GIT_TERMINAL_PROMPT", "0");
    merged.try_emplace("NODE_USE_ENV_PROXY", "1");
  }
  merged["SKIFF_PUBLIC_KEY"] = public_key;
  std::vector<std::string> environment{sandbox_mark(record.id)};
  for (const auto& [name, value] : merged) environment.push_back(std::string{name}.append("=").append(value));
  return environment;
}

/// The parts that each box has.
Plan create_base(const Machine& machine, std::string hostname) {
  Plan plan{.hostname = std::move(hostname), .links = machine.links, .hidden = machine.hidden};
  for (const std::string& directory : machine.directories)
    plan.binds.push_back({.source = directory, .target = directory});
  for (const std::string& name : machine.etc)
    plan.binds.push_back({.source = "/etc/" + name, .target = "/etc/" + name});
  if (machine.has_cpu_list) {
    plan.binds.push_back({.source = "/sys/devices/system/cpu", .target = "/sys/devices/system/cpu"});
  }
  plan.texts = {{.path = "/etc/passwd",
                 .content = "root:x:0:0:root:/:/usr/sbin/nologin\nuser:x:1000:1000::/home/user:/bin/sh\n"
                            "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"},
                {.path = "/etc/group", .content = "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n"},
                {.path = "/etc/hosts", .content = "127.0.0.1 localhost " + plan.hostname + "\n::1 localhost\n"},
                {.path = "/etc/hostname", .content = plan.hostname + "\n"},
                {.path = "/etc/resolv.conf", .content = "# This sandbox has no network.\n"}};
  return plan;
}

}  // namespace

bool is_of_the_system(const files::path& directory, const std::vector<files::path>& private_directories) {
  if (lies_in(directory, "/home") || lies_in(directory, "/root") || directory == "/") return false;
  return std::ranges::none_of(
      private_directories, [&](const files::path& one) { return lies_in(directory, one) || lies_in(one, directory); });
}

Machine look_at_machine(const files::path& state) {
  Machine machine;
  std::error_code error;
  const files::path home = home_directory();
  std::vector<files::path> own{files::weakly_canonical(state, error)};
  if (!home.empty()) own.push_back(home);
  std::erase(own, files::path{});
  const auto add = [&](const files::path& directory) {
    if (!is_seen(machine, directory)) machine.directories.push_back(directory.string());
  };
  for (const std::string_view name : kSystemDirectories) {
    const files::path path{name};
    const files::path real = files::canonical(path, error);
    if (error || !files::is_directory(real, error)) continue;
    // A link is copied. If it leads elsewhere, its target is added, as for /opt on systems whose /usr cannot be
    // written.
    if (const files::path target = files::read_symlink(path, error); !error) {
      machine.links.push_back({.path = path.string(), .target = target.string()});
    }
    if (real != path && !is_of_the_system(real, own)) continue;
    add(real);
  }
  for (const std::string_view name : kEtc) {
    if (files::exists(files::path{"/etc"} / name, error)) machine.etc.emplace_back(name);
  }
  // Daemons keep their sockets there, and a read-only mount does not stop connect(2).
  machine.hidden.emplace_back("/usr/local/var");
  for (const files::path& one : own) {
    if (is_seen(machine, one) && (one != home || is_users_own(home))) machine.hidden.push_back(one.string());
  }
  machine.has_cpu_list = files::is_directory("/sys/devices/system/cpu", error);
  return machine;
}

std::vector<std::string> paths_of_each_box() {
  std::vector<std::string> paths{"/dev", "/etc", "/proc", "/run", "/sys"};
  const Machine machine = look_at_machine({});
  paths.insert(paths.end(), machine.directories.begin(), machine.directories.end());
  for (const auto& [name, target] : state_directories()) paths.push_back(target);
  paths.push_back(std::filesystem::path{kAgentPath}.parent_path());
  return paths;
}

const std::vector<std::pair<std::string, std::string>>& state_directories() {
  static const std::vector<std::pair<std::string, std::string>> all{
      {"home", std::string{kHome}}, {"workspace", std::string{kWorkspace}}, {"tmp", "/tmp"}, {"var-tmp", "/var/tmp"}};
  return all;
}

Result<Plan> create_plan(const HostRecord& record, const Machine& machine, const std::string& root,
                         const std::string& skiffd, const std::string& public_key, const char* const* ours) {
  Plan plan = create_base(machine, record.name);
  plan.user = record.user;
  plan.group = record.group;
  if (!record.network.empty()) {
    std::ranges::find(plan.texts, "/etc/resolv.conf", &Text::path)->content =
        "nameserver " + std::string{kNameServer} + "\n";
  }
  if (record.has_egress()) {
    // The agent answers there. A name with a dot in it is a whole one.
    std::ranges::find(plan.texts, "/etc/resolv.conf", &Text::path)->content = "nameserver 127.0.0.1\noptions ndots:1\n";
  }
  plan.processes = record.limits.processes == 0 ? kMostProcesses : record.limits.processes;
  for (const auto& [name, target] : state_directories()) {
    if (record.mount && target == kWorkspace) continue;
    plan.binds.push_back({.source = std::string{root}.append("/").append(name), .target = target, .writable = true});
  }
  if (const auto& mount = record.mount) {
    plan.overlays.push_back({.source = mount->path,
                             .layer = mount->read_only ? "" : root + "/changes",
                             .target = std::string{kWorkspace},
                             .device = mount->device,
                             .inode = mount->inode});
  }
  Machine seen = machine;
  for (const HostMount& one : record.exposed) {
    plan.overlays.push_back(
        {.source = one.path, .layer = "", .target = one.path, .device = one.device, .inode = one.inode});
    seen.directories.push_back(one.path);
  }
  plan.binds.push_back({.source = skiffd, .target = std::string{kAgentPath}});
  int descriptor = 3;
  const auto next = [&descriptor] { return "fd:" + std::to_string(descriptor++); };
  AgentPlace place{.program = std::string{kAgentPath}, .listen = next(), .root = std::string{kWorkspace}};
  for (const std::string& name : record.dialects) {
    SKIFF_TRY(auto ports, ports_of_dialects({name}));
    std::string value = name;
    for (std::size_t i = 0; i < ports.size(); ++i) value += (i == 0 ? "=" : ",") + next();
    place.dialects.push_back(std::move(value));
    if (name == kE2bName) place.e2b_home = std::string{kHome};
  }
  plan.argv = agent_arguments(std::move(place), record);
  if (record.has_egress()) {
    plan.egress = true;
    if (!record.egress_secrets.empty()) {
      const files::path directory = files::path{root}.parent_path();
      const std::string there{kTrustDirectory};
      for (const std::string_view name : protocol::kTrustFiles) {
        plan.binds.push_back({.source = directory / std::string{egress::kTrustPrefix}.append(name),
                              .target = there + "/" + std::string{name}});
      }
      for (const std::string_view link : protocol::kChromiumPolicyLinks) {
        plan.links.push_back(
            {.path = std::string{link}, .target = there + "/" + std::string{protocol::kChromiumPolicy}});
      }
      for (auto& file : protocol::trust_settings(there))
        plan.texts.push_back({.path = file.path, .content = file.text});
    }
    plan.argv.insert(plan.argv.end(), {"--egress", kProxyAddress});
  }
  plan.environment = environment_of(record, seen, public_key, ours);
  return plan;
}

Plan create_trial(const Machine& machine, std::uint32_t user, std::uint32_t group) {
  Plan plan = create_base(machine, "trial");
  plan.user = user;
  plan.group = group;
  plan.processes = kMostProcesses;
  return plan;
}

}  // namespace skiff::container::box
