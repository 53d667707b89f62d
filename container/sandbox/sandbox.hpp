#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "container/sandbox/pod_options.hpp"
#include "protocol/json/schema.hpp"

namespace skiff::container {

/// Image of a sandbox that names none, for the drivers that have images.
inline constexpr std::string_view kDefaultImage = "python:3.12-slim";

/// How long a sandbox lives. The agent itself keeps both times, and ends in good order.
struct Lease {
  std::optional<std::chrono::milliseconds> ttl = {};       ///< time from its start; empty: no limit
  std::optional<std::chrono::milliseconds> idle_ttl = {};  ///< time without a request, a live command or an open stream

  static constexpr auto fields =
      std::tuple{protocol::field("ttl_ms", &Lease::ttl, "Time from its start after which it ends"),
                 protocol::field("idle_ttl_ms", &Lease::idle_ttl, "Time without use after which it ends")};
};

/// The options of a new sandbox. A driver refuses options that it does not support; it never ignores them.
struct SandboxSpec {
  std::string name;                             ///< see `check_name`
  std::string image = {};                       ///< empty: the driver's default, or none
  std::string owner = {};                       ///< owner, by which it is listed
  std::map<std::string, std::string> env = {};  ///< variables of all its commands
  std::map<std::string, std::string> labels = {};
  Lease lease = {};
  std::chrono::milliseconds wait{120'000};  ///< longest time until it answers
  bool is_one_shot = false;  ///< for one run: as few objects as possible; it cannot be stopped and started
  PodOptions pod = {};
  /// DIR[:ro]: a directory of this machine, for the driver box. It is not in JSON: clients of a server must not name
  /// directories of the server's machine.
  std::string mount = {};
  std::vector<std::string> egress = {};  ///< names that it may reach
  bool is_fenced = false;                ///< it has egress by name, also without a name: then it reaches nothing
  /// Names of secrets that its proxy puts into requests: of this machine for a box, of the namespace for a Pod. They
  /// are not in JSON: who may use which is nothing that clients of a server say.
  std::vector<std::string> egress_secrets = {};
  std::vector<std::string> exposed = {};  ///< directories of this machine that a box may read, as for `mount`
  bool names_network = false;             ///< the caller has chosen `pod.network`; else the driver's own default holds
  /// The caller has chosen `pod.memory`, `pod.cpu`, `pod.disk`.
  bool names_memory = false;
  bool names_cpu = false;
  bool names_disk = false;
  bool needs_no_service =
      false;  ///< no flag asks for a Service: a sandbox from a pool has one only if the pool's dialects need it
  std::uint64_t pids = 0;  ///< most processes and threads, for the driver box; 0: the driver's own limit

  [[nodiscard]] bool has_egress() const noexcept { return is_fenced || !egress.empty() || !egress_secrets.empty(); }

  static constexpr auto fields = std::tuple{
      protocol::field("name", &SandboxSpec::name, "Name of the sandbox"),
      protocol::field("image", &SandboxSpec::image, "Container image", {.optional = true}),
      protocol::field("owner", &SandboxSpec::owner, "Owner of the sandbox", {.optional = true}),
      protocol::field("env", &SandboxSpec::env, "Variables of all its commands", {.optional = true}),
      protocol::field("labels", &SandboxSpec::labels, "Labels of the sandbox", {.optional = true}),
      protocol::field("lease", &SandboxSpec::lease, "Lease of the sandbox", {.optional = true}),
      protocol::field("wait_ms", &SandboxSpec::wait, "Longest time until it answers", {.optional = true}),
      protocol::field("pod", &SandboxSpec::pod, "Options of sandboxes in clusters", {.optional = true}),
  };
};

enum class SandboxState : std::uint8_t {
  creating,
  running,
  stopped,  ///< stopped by a caller; `start` runs it again
  ended,    ///< ended by itself, because its lease or idle time was over
  failed,   ///< ended by a failure, which `reason` describes
};

/// The current state of a sandbox, for people and programs.
struct Sandbox {
  std::string name;
  std::string id;  ///< unique id, which is never used again; the audience of its tokens
  std::string driver;
  SandboxState state = SandboxState::creating;
  std::string reason;  ///< why it ended or failed, or what is wrong with a running one; else empty
  std::string owner;
  std::string image;
  std::map<std::string, std::string> labels;
  std::string created_at;                      ///< RFC 3339
  std::optional<std::string> expires_at;       ///< end of its lease
  std::string address;                         ///< address of its agent; empty while it does not run
  std::map<std::string, std::string> details;  ///< data of this driver: a Pod, a process, a directory
  /// It did not end by itself: its node was drained or lost, or its record cannot be read. `start` may bring it back,
  /// so it is not garbage before the end of its lease.
  bool was_broken = false;
  /// It failed, but its processes may still run and use resources.
  bool may_run_on = false;
  /// Its agent had never answered when it failed, or when its creator must have given up, so it contains no data.
  bool was_never_up = false;

  static constexpr auto fields = std::tuple{
      protocol::field("name", &Sandbox::name, "Name of the sandbox"),
      protocol::field("id", &Sandbox::id, "Unique id, which is never used again"),
      protocol::field("driver", &Sandbox::driver, "Driver that hosts it"),
      protocol::field("state", &Sandbox::state, "State of the sandbox"),
      protocol::field("reason", &Sandbox::reason, "Why it ended or failed"),
      protocol::field("owner", &Sandbox::owner, "Owner of the sandbox"),
      protocol::field("image", &Sandbox::image, "Container image"),
      protocol::field("labels", &Sandbox::labels, "Labels of the sandbox"),
      protocol::field("created_at", &Sandbox::created_at, "Time of its creation"),
      protocol::field("expires_at", &Sandbox::expires_at, "End of its lease"),
      protocol::field("address", &Sandbox::address, "Address of its agent"),
      protocol::field("details", &Sandbox::details, "Data of the driver"),
  };
};

/// `invalid_field` unless the name can be part of the names of all its objects: lower-case letters, digits and, between
/// them, `-`; at most 50 characters (RFC 1123, as in Kubernetes). It may begin with a digit, like a UUID: where a
/// letter is required, the prefix of all names has one.
[[nodiscard]] Result<> check_name(std::string_view name);

/// `invalid_field` unless the labels and the variables fit into the records of all drivers: 256 KiB of JSON together,
/// the limit of an object's annotations in a cluster; and each variable into the kernel's limit of 128 KiB.
[[nodiscard]] Result<> check_size(const SandboxSpec& spec);

/// A unique name: `prefix` and random letters and digits.
[[nodiscard]] std::string create_name(std::string_view prefix);

[[nodiscard]] std::string_view state_word(SandboxState state) noexcept;

/// True if a volume keeps files of the sandbox when its Pod is gone.
[[nodiscard]] bool keeps_files(const SandboxSpec& spec);
/// The reason of a sandbox that runs again after a loss of its files: `lost_with` says how its Pod ended before.
[[nodiscard]] std::string began_anew(std::string_view lost_with);

/// "there is no sandbox NAME"
[[nodiscard]] Error no_such_sandbox(std::string_view name);
/// The error for a sandbox that does not run, with the remedy: `sandbox_not_running`.
[[nodiscard]] Error not_running(const Sandbox& sandbox);

/// The `field` of a `sandbox_failed` error without an egress proxy in the cluster, or with one that lacks the current
/// key.
inline constexpr std::string_view kEgressNotInstalled = "egress_not_installed";

/// `Sandbox::details["network"]` of a sandbox with egress by name and no rule.
inline constexpr std::string_view kNoEgress = "egress by name: nothing";
/// Returns such a text with these rules and the names of these secrets.
[[nodiscard]] std::string egress_text(const std::vector<std::string>& rules, const std::vector<std::string>& secrets);

[[nodiscard]] bool has_egress(const Sandbox& sandbox);

/// A secret that a sandbox uses and never sees, without its value.
struct UsedSecret {
  std::string name;
  std::vector<std::string> hosts = {};     ///< none: the secret is missing
  std::vector<std::string> requests = {};  ///< that get it; none: all
};

/// The egress by name of a sandbox.
struct EgressState {
  std::vector<std::string> rules;
  bool is_unreadable = false;  ///< its proxy cannot read them, and allows nothing
  std::vector<UsedSecret> secrets = {};
};

/// A change of its rules: all of them are replaced, or some are added and removed.
struct EgressChange {
  std::optional<std::vector<std::string>> rules = {};  ///< without one it reaches nothing
  std::vector<std::string> added = {};
  std::vector<std::string> removed = {};

  [[nodiscard]] bool is_empty() const { return !rules && added.empty() && removed.empty(); }
};

/// A directory of this machine that a sandbox sees with a layer above it: what the sandbox changes goes into the layer,
/// and the directory stays as it is.
struct MountedLayer {
  std::string directory;      ///< its path on this machine
  std::string seen_as;        ///< its path in the sandbox
  std::uint64_t device = 0;   ///< device and inode of the directory that was mounted
  std::uint64_t inode = 0;    ///< inode of the directory that was mounted
  std::string layer;          ///< path of the layer: the upper directory of an overlay
  std::string record;         ///< path of a file beside the sandbox that remembers what was applied
  std::int64_t since_ns = 0;  ///< time before it was first mounted, in nanoseconds since 1970
};

}  // namespace skiff::container

namespace skiff::protocol {

template <>
struct EnumNames<container::SandboxState> {
  using E = container::SandboxState;
  static constexpr std::array values{EnumName{E::creating, "creating"}, EnumName{E::running, "running"},
                                     EnumName{E::stopped, "stopped"}, EnumName{E::ended, "ended"},
                                     EnumName{E::failed, "failed"}};
};

}  // namespace skiff::protocol
