#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "container/host/host_process.hpp"
#include "container/sandbox/sandbox.hpp"
#include "protocol/json/schema.hpp"

namespace skiff::container {

/// A directory of this machine that a sandbox sees. It is known by its device and inode, because a link or another
/// directory may take its place.
struct HostMount {
  std::string path;
  bool read_only = false;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t since_ns = 0;  ///< time before it was first mounted, in nanoseconds since 1970

  static constexpr auto fields =
      std::tuple{protocol::field("path", &HostMount::path, "Path on this machine"),
                 protocol::field("read_only", &HostMount::read_only, "True: the sandbox may only read it"),
                 protocol::field("device", &HostMount::device, "Device of the directory"),
                 protocol::field("inode", &HostMount::inode, "Inode of the directory"),
                 protocol::field("since_ns", &HostMount::since_ns, "Time before it was mounted", {.optional = true})};
};

/// The container of a sandbox that an engine hosts. Its options are applied when it is created.
struct HostContainer {
  std::string engine = {};  ///< program of the engine; empty until it is chosen
  std::string id = {};      ///< id of the container; empty until it is created
  bool is_podman = false;   ///< the engine is podman, whatever its program is called
  std::string image = {};
  std::string network = "open";  ///< "open", or "deny": it has no network
  std::string run_as = {};       ///< as for --run-as
  std::string seccomp = {};      ///< as for --seccomp
  std::string pull_policy = {};  ///< as for --pull-policy
  std::string workdir = {};
  std::string entrypoint = {};                 ///< as for --entrypoint
  std::uint64_t memory_bytes = 0;              ///< 0: not limited
  std::uint64_t cpu_millis = 0;                ///< thousandths of a core; 0: not limited
  std::int32_t most_processes = 0;             ///< 0: not limited
  std::uint16_t agent_port = 0;                ///< port of the agent in the container
  std::vector<std::string> named_limits = {};  ///< flags of the limits that the caller has named

  /// True if no address of the container can be reached.
  [[nodiscard]] bool is_closed() const { return network == "deny"; }

  static constexpr auto fields = std::tuple{
      protocol::field("engine", &HostContainer::engine, "Program of the engine"),
      protocol::field("id", &HostContainer::id, "Id of the container"),
      protocol::field("is_podman", &HostContainer::is_podman, "True: the engine is podman"),
      protocol::field("image", &HostContainer::image, "Its image"),
      protocol::field("network", &HostContainer::network, "Its network: open or deny"),
      protocol::field("run_as", &HostContainer::run_as, "Its user"),
      protocol::field("seccomp", &HostContainer::seccomp, "Its system calls"),
      protocol::field("pull_policy", &HostContainer::pull_policy, "When its image is pulled"),
      protocol::field("workdir", &HostContainer::workdir, "Directory where commands start"),
      protocol::field("entrypoint", &HostContainer::entrypoint, "Command beside the agent"),
      protocol::field("memory_bytes", &HostContainer::memory_bytes, "Its limit of memory"),
      protocol::field("cpu_millis", &HostContainer::cpu_millis, "Its limit of processor time"),
      protocol::field("most_processes", &HostContainer::most_processes, "Its limit of processes"),
      protocol::field("agent_port", &HostContainer::agent_port, "Port of the agent in it"),
      protocol::field("named_limits", &HostContainer::named_limits, "Limits that the caller has named"),
  };
};

/// Limits of a sandbox of this machine. 0 stands for none, and for the driver's own limit of processes.
struct HostLimits {
  std::uint64_t memory_bytes = 0;
  std::uint64_t cpu_thousandths = 0;  ///< of a core
  std::uint64_t processes = 0;

  static constexpr auto fields =
      std::tuple{protocol::field("memory_bytes", &HostLimits::memory_bytes, "Memory", {.optional = true}),
                 protocol::field("cpu_thousandths", &HostLimits::cpu_thousandths, "CPU, in thousandths of a core",
                                 {.optional = true}),
                 protocol::field("processes", &HostLimits::processes, "Processes and threads", {.optional = true})};
};

/// The record of a sandbox of this machine: its options and its process.
struct HostRecord {
  using Milliseconds = std::chrono::milliseconds;

  std::string name;
  std::string id;
  std::string owner;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> env;
  std::optional<Milliseconds> ttl;
  std::optional<Milliseconds> idle_ttl;
  std::string created_at;
  bool stopped = false;                                       ///< a caller stopped it
  bool half_made = false;                                     ///< its first agent has not answered yet
  std::optional<std::int64_t> expires_ms;                     ///< end of the lease, since 1970
  std::uint16_t port = 0;                                     ///< TCP port of the agent; 0: none yet
  std::string socket = {};                                    ///< path of the agent's Unix socket; empty: none yet
  std::vector<std::string> dialects = {};                     ///< dialects that its agent speaks
  std::map<std::string, std::string> dialect_addresses = {};  ///< HOST:PORT by the names of ports in dialects.hpp
  std::int32_t pid = 0;
  std::uint64_t started_ticks = 0;
  std::string boot;
  std::uint32_t user = 0;                        ///< of a box: the user on this machine that it runs as
  std::uint32_t group = 0;                       ///< of a box: its group
  std::string network = {};                      ///< of a box: "open", or empty for none
  std::int32_t router_pid = 0;                   ///< of a box with a network: the program that gives it one
  std::uint64_t router_ticks = 0;                ///< start time of that program
  std::vector<std::string> egress = {};          ///< of a box: the rules of its egress by name
  bool is_fenced = false;                        ///< of a box: it has egress by name, also without a rule
  std::vector<std::string> egress_secrets = {};  ///< of a box: the names of secrets that its egress proxy puts in
  std::int32_t egress_pid = 0;                   ///< of a box with such rules: its egress proxy
  std::uint64_t egress_ticks = 0;                ///< start time of that program
  std::optional<HostMount> mount = {};           ///< of a box: its workspace
  std::vector<HostMount> exposed = {};           ///< of a box: directories that it may read
  HostLimits limits = {};                        ///< of a box
  std::optional<HostContainer> container = {};   ///< of the driver docker

  [[nodiscard]] HostProcess process() const { return {.pid = pid, .started_ticks = started_ticks, .boot = boot}; }
  void set_process(const HostProcess& process);
  [[nodiscard]] HostProcess router() const { return {.pid = router_pid, .started_ticks = router_ticks, .boot = boot}; }
  [[nodiscard]] HostProcess egress_proxy() const {
    return {.pid = egress_pid, .started_ticks = egress_ticks, .boot = boot};
  }
  [[nodiscard]] bool has_egress() const noexcept { return is_fenced || !egress.empty(); }
  /// Whether the agent that was started last has answered.
  [[nodiscard]] bool has_answered() const noexcept { return port != 0 || !socket.empty(); }
  /// Address of the agent, for people.
  [[nodiscard]] std::string address() const;
  /// Removes what was known of an earlier agent: a reader must not take its address for that of the next one.
  void forget_agent();

  static constexpr auto fields = std::tuple{
      protocol::field("name", &HostRecord::name, "Name of the sandbox"),
      protocol::field("id", &HostRecord::id, "Audience of its tokens"),
      protocol::field("owner", &HostRecord::owner, "Owner"),
      protocol::field("labels", &HostRecord::labels, "Labels"),
      protocol::field("env", &HostRecord::env, "Environment of its commands; may contain secrets"),
      protocol::field("ttl_ms", &HostRecord::ttl, "Lease"),
      protocol::field("idle_ttl_ms", &HostRecord::idle_ttl, "Idle time after which it ends"),
      protocol::field("created_at", &HostRecord::created_at, "Time of its creation"),
      protocol::field("stopped", &HostRecord::stopped, "True: a caller stopped it"),
      protocol::field("half_made", &HostRecord::half_made, "True: its first agent has not answered yet",
                      {.optional = true}),
      protocol::field("expires_ms", &HostRecord::expires_ms, "End of the lease"),
      protocol::field("port", &HostRecord::port, "Port of its agent on 127.0.0.1"),
      protocol::field("socket", &HostRecord::socket, "Path of its agent's Unix socket", {.optional = true}),
      protocol::field("dialects", &HostRecord::dialects, "Dialects that its agent speaks", {.optional = true}),
      protocol::field("dialect_addresses", &HostRecord::dialect_addresses, "Addresses of the dialects",
                      {.optional = true}),
      protocol::field("pid", &HostRecord::pid, "Pid of skiffd"),
      protocol::field("started_ticks", &HostRecord::started_ticks, "Start time of that process, in ticks since boot"),
      protocol::field("boot", &HostRecord::boot, "Boot in which it was started"),
      protocol::field("user", &HostRecord::user, "User that a box runs as", {.optional = true}),
      protocol::field("group", &HostRecord::group, "Group that a box runs as", {.optional = true}),
      protocol::field("mount", &HostRecord::mount, "Directory that a box has as its workspace"),
      protocol::field("exposed", &HostRecord::exposed, "Directories that a box may read", {.optional = true}),
      protocol::field("network", &HostRecord::network, "Network of a box", {.optional = true}),
      protocol::field("router_pid", &HostRecord::router_pid, "Pid of the program that gives it a network",
                      {.optional = true}),
      protocol::field("router_ticks", &HostRecord::router_ticks, "Start time of that program", {.optional = true}),
      protocol::field("egress", &HostRecord::egress, "Rules of a box's egress by name", {.optional = true}),
      protocol::field("is_fenced", &HostRecord::is_fenced, "True: it has egress by name", {.optional = true}),
      protocol::field("egress_secrets", &HostRecord::egress_secrets, "Names of the secrets of its egress proxy",
                      {.optional = true}),
      protocol::field("egress_pid", &HostRecord::egress_pid, "Pid of its egress proxy", {.optional = true}),
      protocol::field("egress_ticks", &HostRecord::egress_ticks, "Start time of that program", {.optional = true}),
      protocol::field("limits", &HostRecord::limits, "Limits of a box", {.optional = true}),
      protocol::field("container", &HostRecord::container, "Container that an engine hosts"),
  };
};

/// The records of a directory: NAME/record.json, beside the sandbox's files in NAME/root and its agent's log. Each call
/// takes effect as a whole or not at all. A caller that changes a record holds its lock.
class HostRecords {
 public:
  explicit HostRecords(std::filesystem::path directory) : directory_{std::move(directory)} {}

  /// Creates the sandbox's directory with its record. `sandbox_conflict` if it exists.
  [[nodiscard]] Result<> add(const HostRecord& record) const;
  /// `invalid_field` for a record that `load` would refuse.
  [[nodiscard]] Result<> save(const HostRecord& record) const;
  /// `sandbox_not_found` if there is no record.
  [[nodiscard]] Result<HostRecord> load(std::string_view name) const;
  /// Names of all sandboxes, sorted, even of those whose record cannot be read.
  [[nodiscard]] Result<std::vector<std::string>> names() const;

  [[nodiscard]] std::filesystem::path directory(std::string_view name) const { return directory_ / name; }
  [[nodiscard]] std::filesystem::path record_file(std::string_view name) const;
  [[nodiscard]] std::filesystem::path root(std::string_view name) const { return directory(name) / "root"; }
  [[nodiscard]] std::filesystem::path log(std::string_view name) const { return directory(name) / "skiffd.log"; }
  /// The file with the locks of all names.
  [[nodiscard]] std::filesystem::path lock_file() const { return directory_ / ".lock"; }

 private:
  std::filesystem::path directory_;
};

/// True if `load` failed because the record is damaged, and not because it cannot be read at present.
[[nodiscard]] bool is_damage(const Error& error) noexcept;

/// How an agent ended by itself.
struct LoggedEnd {
  bool is_lease = false;  ///< its lease or idle time was over; else it was ended from outside
  std::string why;
};
/// Reads it from the end of the agent's log; nullopt when the agent was killed.
[[nodiscard]] std::optional<LoggedEnd> end_in_log(std::string_view log_end);

}  // namespace skiff::container
