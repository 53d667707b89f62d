#include "container/drivers/box/driver.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include <boost/asio/this_coro.hpp>

#include "base/async/finally.hpp"
#include "base/async/timer.hpp"
#include "base/clock.hpp"
#include "base/kernel_features.hpp"
#include "container/drivers/box/egress/proxy_process.hpp"
#include "container/drivers/box/ids.hpp"
#include "container/drivers/box/launch.hpp"
#include "container/drivers/box/limits/groups.hpp"
#include "container/drivers/box/limits/limits.hpp"
#include "container/drivers/box/network/pasta.hpp"
#include "container/drivers/box/support.hpp"
#include "container/egress/audit.hpp"
#include "container/egress/audit_reader.hpp"
#include "container/host/file_lock.hpp"
#include "container/sandbox/dialects.hpp"

namespace skiff::container {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBoxTrial{10'000};
constexpr milliseconds kBetweenConnects{5};
constexpr milliseconds kGroupPatience{5'000};
constexpr milliseconds kRecordPatience{60'000};
constexpr milliseconds kBetweenLooks{5};

/// An error that says why there can be no box, with what to do about it.
std::unexpected<Error> no_box(const box::Refusal& refusal) {
  const box::Reason reason =
      refusal.step == box::Step::network ? box::explain_network(refusal) : box::explain(refusal, box::look_around());
  std::string message = "a box can't be made: " + reason.why;
  std::string_view rest{reason.remedy};
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    message.append("\n  ").append(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const FailureReason kind = refusal.step == box::Step::workspace ? FailureReason::no_overlay
                             : refusal.step == box::Step::network ? FailureReason::no_network
                                                                  : FailureReason::no_namespaces;
  return std::unexpected{bring_up_failure(kind, std::move(message))};
}

bool lies_under(const std::filesystem::path& inner, const std::filesystem::path& outer) {
  return std::ranges::mismatch(outer, inner).in1 == outer.end();
}

/// The kernel's own file systems: what is in them is this machine, and not files of the user.
constexpr std::array kKernelFileSystems = std::to_array<std::uint32_t>({PROC_SUPER_MAGIC,
                                                                        SYSFS_MAGIC,
                                                                        CGROUP_SUPER_MAGIC,
                                                                        CGROUP2_SUPER_MAGIC,
                                                                        DEBUGFS_MAGIC,
                                                                        TRACEFS_MAGIC,
                                                                        SECURITYFS_MAGIC,
                                                                        SELINUX_MAGIC,
                                                                        SMACK_MAGIC,
                                                                        AAFS_MAGIC,
                                                                        BPF_FS_MAGIC,
                                                                        BINFMTFS_MAGIC,
                                                                        DEVPTS_SUPER_MAGIC,
                                                                        EFIVARFS_MAGIC,
                                                                        PSTOREFS_MAGIC,
                                                                        NSFS_MAGIC,
                                                                        RDTGROUP_SUPER_MAGIC,
                                                                        0x62656570 /* configfs */,
                                                                        0x65735543 /* fusectl */,
                                                                        0x19800202 /* mqueue */,
                                                                        0x67596969 /* rpc_pipefs */,
                                                                        0x6e667364 /* nfsd */,
                                                                        0xabba1974 /* xenfs */});

bool is_of_the_kernel(const std::filesystem::path& directory) {
  struct statfs found{};
  return ::statfs(directory.c_str(), &found) != 0 ||
         std::ranges::count(kKernelFileSystems, static_cast<std::uint32_t>(found.f_type)) > 0;
}

/// The directory that a flag names. It is known by its device and inode from now on.
Result<HostMount> find_directory(const std::string& flag, const std::string& text, const std::filesystem::path& state) {
  const auto refuse = [&](const std::string& why) {
    return fail(Errc::invalid_field, std::string{flag}.append(" \"").append(text).append("\"").append(why), flag);
  };
  std::error_code error;
  const auto path = std::filesystem::canonical(text, error);
  if (error) return refuse(": " + error.message());
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return refuse(": " + errno_text(errno));
  if (!S_ISDIR(found.st_mode)) return refuse(" is not a directory");
  if (is_of_the_kernel(path)) return refuse(" is a directory of the kernel, as /proc and /sys are");
  const auto own = std::filesystem::weakly_canonical(state, error);
  if (lies_under(own, path) || lies_under(path, own)) {
    return refuse(" contains skiff's own files (" + own.string() + "): name a directory beside them");
  }
  // Earlier changes have no later time. A file that changes within the next tick of the kernel's clock may have an
  // earlier one, but the box is not there by then.
  const auto now = std::chrono::floor<std::chrono::nanoseconds>(wall_now()).time_since_epoch().count();
  return HostMount{.path = path, .read_only = true, .device = found.st_dev, .inode = found.st_ino, .since_ns = now};
}

/// Reads DIR[:ro].
Result<HostMount> parse_mount(std::string text, const std::filesystem::path& state) {
  constexpr std::string_view kReadOnly = ":ro";
  const bool read_only = text.ends_with(kReadOnly);
  if (read_only) text.erase(text.size() - kReadOnly.size());
  SKIFF_TRY(auto mount, find_directory("--mount", text, state));
  mount.read_only = read_only;
  return mount;
}

/// Reads the directories of --expose. Their paths in the box are theirs on this machine, so none may be in the way of
/// what each box has.
Result<std::vector<HostMount>> parse_exposed(const std::vector<std::string>& texts,
                                             const std::filesystem::path& state) {
  std::vector<HostMount> all;
  if (texts.empty()) return all;
  std::vector<std::string> taken = box::paths_of_each_box();
  for (const std::string& text : texts) {
    SKIFF_TRY(auto mount, find_directory("--expose", text, state));
    for (const std::string& one : taken) {
      if (!lies_under(mount.path, one) && !lies_under(one, mount.path)) continue;
      return fail(Errc::invalid_field,
                  std::string{"--expose \""}
                      .append(text)
                      .append("\": the box has a ")
                      .append(one)
                      .append(" already; name a directory that neither contains it nor is in it"),
                  "--expose");
    }
    taken.push_back(mount.path);
    all.push_back(std::move(mount));
  }
  return all;
}

/// What only those need who ask for it. The first line of `why` is the reason, and the others are ways on.
Check not_offered(std::string what, const std::string& why) {
  Check check{.what = std::move(what), .passed = true, .is_offered = false, .detail = why};
  if (const std::size_t end = why.find('\n'); end != std::string::npos) {
    check.detail.erase(end);
    check.remedy = why.substr(why.find_first_not_of("\n ", end));
  }
  return check;
}

/// Asks the kernel and pasta whether a box can have a network.
Task<Check> examine_network() {
  constexpr const char* kWhat = "--network open";
  auto pasta = box::pasta_arguments();
  if (!pasta) co_return not_offered(kWhat, pasta.error().message);
  std::string program = pasta->front();
  auto tried = co_await box::try_box(kBoxTrial, std::move(*pasta));
  if (!tried) co_return not_offered(kWhat, tried.error().message);
  if (!*tried) co_return Check{.what = kWhat, .passed = true, .detail = "by " + program};
  const box::Reason reason = box::explain_network(**tried);
  co_return not_offered(kWhat, reason.why + "\n" + reason.remedy);
}

}  // namespace

BoxDriver::BoxDriver(Executor executor, StateDirectory state) : HostDriver{"box", std::move(state)}, ports_{executor} {}

std::string_view BoxDriver::notice() const noexcept {
  // People need it once: before there is any sandbox of this driver.
  std::error_code ignored;
  if (std::filesystem::exists(state().path() / name(), ignored)) return {};
  return "a box shares this machine's kernel; without --egress and --network it has no network";
}

Result<> BoxDriver::prepare(const SandboxSpec& spec, HostRecord& record) {
  PodOptions rest = spec.pod;
  const bool is_named = spec.names_network || rest.network != PodOptions{}.network;
  if (is_named && rest.network != "deny" && rest.network != "open") {
    return fail(Errc::invalid_field,
                "--network " + rest.network +
                    ": the box driver offers open and deny in this version; --driver pod restricts a sandbox to names "
                    "and addresses",
                "--network");
  }
  if (is_named && rest.network == "open") record.network = rest.network;
  rest.network = PodOptions{}.network;
  SKIFF_TRY_VOID(box::plan_egress(spec, state().path(), record));
  SKIFF_TRY(record.limits, box::parse_limits(spec, box::kernel_version()));
  for (auto member : {&PodOptions::cpu, &PodOptions::memory, &PodOptions::disk}) rest.*member = PodOptions{}.*member;
  SKIFF_TRY_VOID(refuse_pod_options(rest, name()));
  const box::Ids ids = box::new_ids();
  record.user = ids.user;
  record.group = ids.group;
  SKIFF_TRY_VOID(box::check_free_space(state().path()));
  SKIFF_TRY(record.exposed, parse_exposed(spec.exposed, state().path()));
  if (spec.mount.empty()) return {};
  SKIFF_TRY(auto mount, parse_mount(spec.mount, state().path()));
  record.mount = std::move(mount);
  return {};
}

Task<Result<HostRecord>> BoxDriver::launch(HostRecord record, std::string public_key, int lock, milliseconds wait) {
  SKIFF_CO_TRY(auto skiffd, find_skiffd());
  SKIFF_CO_TRY(auto dialects, ports_of_dialects(record.dialects));
  const auto directory = records().directory(record.name);
  const auto root = records().root(record.name);
  SKIFF_CO_TRY_VOID(box::create_files(record, root));
  box::Handover given{.plan = {}, .listeners = {}, .lock = UniqueFd{::fcntl(lock, F_DUPFD_CLOEXEC, 0)}};
  SKIFF_CO_TRY(given.plan,
               box::create_plan(record, box::look_at_machine(state().path()), root, skiffd, public_key, ::environ));
  SKIFF_CO_TRY(auto groups, box::create_groups(box::group_name(directory), record.limits));
  for (box::Group& group : groups) {
    given.plan.groups.push_back(group.directory);
    given.plan.binds.push_back({.source = std::move(group.directory), .target = std::move(group.target)});
  }
  SKIFF_CO_TRY(auto listener, box::bind_socket(directory, std::string{box::kAgentSocket}));
  given.listeners.push_back(std::move(listener));
  for (const DialectPort& port : dialects) {
    SKIFF_CO_TRY(auto one, box::bind_socket(directory, box::socket_of(port.name)));
    given.listeners.push_back(std::move(one));
  }
  box::EgressSockets egress;
  if (record.has_egress()) {
    SKIFF_CO_TRY(egress.control, box::prepare_egress(record, directory));
  }
  SKIFF_CO_TRY(auto log, open_log(records().log(record.name)));
  if (!record.network.empty()) {
    SKIFF_CO_TRY(given.plan.pasta, box::pasta_arguments());
    given.plan.barred = box::barred_prefixes();
  }
  const Executor executor = co_await boost::asio::this_coro::executor;
  SKIFF_CO_TRY(auto started, box::start_box(executor, log.get()));
  if (!record.network.empty()) {
    // It becomes pasta as soon as it has the plan. Whoever ends the box must know it before.
    record.router_pid = started.process.pid;
    record.router_ticks = started.process.started_ticks;
    record.set_process({});
    record.boot = started.process.boot;
    SKIFF_CO_TRY_VOID(records().save(record));
  }
  SKIFF_CO_TRY_VOID(box::send_handover(started.input.get(), given));
  given = {};  // the box alone listens from now on
  AgentLines lines{std::move(started.output), wait};
  Result<HostRecord> followed = std::unexpected{Error{}};
  auto follow = [&](this auto) -> Task<> { followed = co_await follow_start(&lines, record, 1 + dialects.size()); };
  co_await finally(std::move(follow), [&](this auto) -> Task<> {
    // We are its parent. If the box listens, it has done its work, unless it is pasta.
    if (followed && !followed->network.empty()) co_return;
    (void)co_await end_process(std::move(started.process), milliseconds{0});
  });
  if (!followed) co_return std::unexpected{std::move(followed.error())};
  record = std::move(*followed);
  if (record.has_egress()) {
    SKIFF_CO_TRY(egress.sandbox, box::receive_back(started.input.get()));
    SKIFF_CO_TRY(record, co_await box::start_egress(std::move(egress), record, directory));
  }
  record.socket = directory / box::kAgentSocket;
  for (const DialectPort& port : dialects) {
    record.dialect_addresses.emplace(port.name, "unix:" + (directory / box::socket_of(port.name)).string());
  }
  co_return record;
}

Task<Result<HostRecord>> BoxDriver::follow_start(AgentLines* lines, HostRecord record, std::size_t listeners) {
  bool is_created = false;
  for (std::size_t listening = 0; listening < listeners;) {
    auto line = co_await lines->next();
    if (!line) {
      const bool is_late = line.error().code == Errc::timeout;
      co_return not_up(record, is_late ? FailureReason::not_ready : FailureReason::exited, line.error().message);
    }
    if (const auto refusal = box::parse_refusal(*line)) co_return no_box(*refusal);
    // Once: what follows is skiffd's, and its word about processes of this machine does not count.
    if (const auto pid = box::parse_created(*line); pid && !is_created) {
      is_created = true;
      record.set_process(process_or_ended(*pid));
      SKIFF_CO_TRY_VOID(records().save(record));
    } else {
      ++listening;
    }
  }
  if (!record.network.empty()) {
    // pasta's children have other numbers than this machine's, but the kernel knows who listens.
    record.set_process(process_or_ended(box::listening_process(records().directory(record.name))));
  }
  co_return record;
}

Task<Result<protocol::Stream>> BoxDriver::connect_agent(HostRecord record, milliseconds limit) {
  return connect_box(std::move(record), std::string{box::kAgentSocket}, limit);
}

Task<Result<protocol::Stream>> BoxDriver::connect_box(HostRecord record, std::string socket, milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  const Executor executor = co_await boost::asio::this_coro::executor;
  Timer timer{executor};
  for (;;) {
    auto connected = box::connect_socket(records().directory(record.name), socket);
    if (connected && box::peer_process(*connected) != record.pid) {
      co_return fail(Errc::sandbox_not_running, "another process listens in the place of \"" + record.name + "\"",
                     "name");
    }
    if (connected) co_return protocol::Stream{executor, std::move(*connected), "skiffd"};
    if (connected.error().code != Errc::resource_exhausted || std::chrono::steady_clock::now() >= until) {
      co_return std::unexpected{std::move(connected.error())};
    }
    timer.expires_after(kBetweenConnects);
    co_await timer.async_wait(use_task);
  }
}

Task<Result<>> BoxDriver::end_all(HostRecord record, milliseconds grace) {
  // With its process 1 everything in a box ends. If the record does not know that process, because its launcher was
  // killed, the socket does.
  std::vector<HostProcess> known{record.process()};
  const pid_t listening = box::listening_process(records().directory(record.name));
  if (listening > 0 && listening != record.pid) known.push_back(find_process(listening).value_or(HostProcess{}));
  // Without a record, and without the file of the socket, its mounts tell.
  if (record.id.empty()) {
    for (box::RunningBox& one : co_await boxes_that_run()) {
      if (one.name == record.name && one.process.pid != listening) known.push_back(std::move(one.process));
    }
  }
  for (HostProcess& process : known) {
    if (process.pid <= 0) continue;
    HostProcess one = std::move(process);
    SKIFF_CO_TRY_VOID(co_await end_process(std::move(one), grace));
  }
  // Else it ends by itself after the box.
  if (HostProcess router = record.router(); router.pid > 0) {
    SKIFF_CO_TRY_VOID(co_await end_process(std::move(router), milliseconds{0}));
  }
  if (HostProcess proxy = record.egress_proxy(); proxy.pid > 0) {
    SKIFF_CO_TRY_VOID(co_await end_process(std::move(proxy), milliseconds{0}));
  }
  const bool may_have_groups = record.limits.memory_bytes + record.limits.cpu_thousandths > 0 || record.id.empty();
  if (may_have_groups) co_await remove_groups(record.name);
  co_return Result<>{};
}

Task<std::vector<box::RunningBox>> BoxDriver::boxes_that_run() {
  auto look = [directory = state().path() / name()] { return box::running_boxes(directory); };
  co_return co_await disk().run(std::move(look));
}

Task<std::vector<std::string>> BoxDriver::find_running() {
  std::vector<std::string> names;
  for (box::RunningBox& one : co_await boxes_that_run()) names.push_back(std::move(one.name));
  co_return names;
}

bool BoxDriver::has_own_files(const std::filesystem::path& directory) const {
  return box::has_only_files_of_box(directory);
}

Task<> BoxDriver::remove_groups(std::string name) {
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  const std::string groups = box::group_name(records().directory(name));
  const auto until = std::chrono::steady_clock::now() + kGroupPatience;
  Timer timer{co_await boost::asio::this_coro::executor};
  // The last processes of the box may still be ending.
  while (!box::remove_groups(groups) && std::chrono::steady_clock::now() < until) {
    timer.expires_after(kBetweenLooks);
    co_await timer.async_wait(use_task);
  }
}

void BoxDriver::describe_more(const HostRecord& record, Sandbox& sandbox) const {
  sandbox.details["network"] =
      record.network.empty() ? "none" : record.network + ": no private addresses, not this machine";
  if (record.has_egress()) {
    sandbox.details["network"] = box::egress_text(record, sandbox.state == SandboxState::running);
  }
  sandbox.details["limits"] = box::limits_text(record.limits);
  if (record.mount) {
    sandbox.details["mount"] = record.mount->path + (record.mount->read_only ? " (read-only)" : " (a copy is written)");
  }
  for (const HostMount& one : record.exposed) {
    std::string& told = sandbox.details["exposed"];
    told.append(told.empty() ? "" : ", ").append(one.path);
  }
}

Task<Result<protocol::Stream>> BoxDriver::dial(std::string name, std::uint16_t port) {
  SKIFF_CO_TRY(auto record, co_await running(name));
  // As in a Pod, this port leads to the agent.
  if (port == kAgentPort) co_return co_await connect_agent(std::move(record), kConnectPatience);
  SKIFF_CO_TRY(auto dialects, ports_of_dialects(record.dialects));
  for (const DialectPort& known : dialects) {
    if (known.number != port) continue;
    co_return co_await connect_box(std::move(record), box::socket_of(known.name), kConnectPatience);
  }
  // The network of the box is its own: its agent passes the connection on.
  SKIFF_CO_TRY(auto endpoint, endpoint_of(record, {.scope = "ports"}));
  co_return co_await ports_.connect(std::move(endpoint), port);
}

Task<Result<MountedLayer>> BoxDriver::layer(std::string name) {
  SKIFF_CO_TRY(const auto record, records().load(name));
  if (!record.mount) {
    co_return fail(Errc::invalid_field, "\"" + name + "\" has no directory of this machine: --mount DIR gives it one",
                   "name");
  }
  if (record.mount->read_only) {
    co_return fail(Errc::invalid_field, "\"" + name + "\" may only read " + record.mount->path, "name");
  }
  co_return MountedLayer{.directory = record.mount->path,
                         .seen_as = std::string{box::kWorkspace},
                         .device = record.mount->device,
                         .inode = record.mount->inode,
                         .layer = records().root(name) / "changes/upper",
                         .record = records().directory(name) / "applied.json",
                         .since_ns = record.mount->since_ns};
}

Task<> BoxDriver::close() {
  co_await ports_.close();
}

Task<Result<>> BoxDriver::check_host() {
  SKIFF_CO_TRY(auto refusal, co_await box::try_box(kBoxTrial));
  if (refusal) co_return no_box(*refusal);
  co_return Result<>{};
}

Task<std::vector<Check>> BoxDriver::examine() {
  std::vector<Check> checks = examine_parts();
  auto tried = co_await box::try_box(kBoxTrial);
  Check namespaces{
      .what = "namespaces", .passed = tried && !*tried, .detail = "user, mount, pid, ipc, uts, net, cgroup"};
  if (!tried) {
    namespaces.detail = tried.error().message;
    namespaces.remedy = "see what `skiff up --driver box` says";
  } else if (*tried) {
    box::Reason reason = box::explain(**tried, box::look_around());
    namespaces.detail = std::move(reason.why);
    namespaces.remedy = std::move(reason.remedy);
  }
  checks.push_back(std::move(namespaces));
  constexpr const char* kLimits = "limits of memory and CPU";
  const std::string not_limited = box::reason_against_groups();
  checks.push_back(not_limited.empty() ? Check{.what = kLimits, .passed = true, .detail = "by control groups"}
                                       : not_offered(kLimits, not_limited));
  if (checks[checks.size() - 2].passed) checks.push_back(co_await examine_network());
  const int landlock = kernel_features().landlock_abi;
  // The mounts protect files without it, too.
  checks.push_back({.what = "Landlock",
                    .passed = true,
                    .detail = landlock >= 2 ? "version " + std::to_string(landlock) : "absent or too old: not used"});
  co_return checks;
}

Task<Result<EgressState>> BoxDriver::set_egress(std::string name, EgressChange change) {
  SKIFF_CO_TRY_VOID(records().load(name));
  SKIFF_CO_TRY(auto lock, co_await FileLock::acquire(records().lock_file(), name, kRecordPatience));
  SKIFF_CO_TRY(auto record, records().load(name));
  SKIFF_CO_TRY(record, co_await box::change_egress(record, &records(), std::move(change)));
  co_return EgressState{.rules = record.egress, .secrets = box::secrets_of(record, state().path())};
}

Task<Result<std::string>> BoxDriver::egress_log(std::string name) {
  SKIFF_CO_TRY_VOID(co_await set_egress(name, {}));
  co_return egress::read_audit(records().directory(name));
}

Task<Result<>> BoxDriver::follow_egress_log(std::string name, std::function<Result<>(std::string_view lines)> take) {
  SKIFF_CO_TRY_VOID(co_await set_egress(name, {}));
  co_return co_await egress::follow_audit(records().directory(name), std::move(take));
}

Task<Result<PodOptions>> BoxDriver::set_network(std::string, std::string, std::vector<std::string>) {
  co_return fail(Errc::invalid_field,
                 "the network of a box is chosen when it is created: use `--driver pod` to restrict a sandbox's "
                 "network, or `skiff forward` to "
                 "reach its ports",
                 "--driver");
}

}  // namespace skiff::container
