#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "base/error.hpp"
#include "container/sandbox/pod_options.hpp"
#include "protocol/json/schema.hpp"

namespace skiff::container {

/// How long a sandbox lives. Both times are kept by the agent itself, which then ends in good order.
struct Lease {
  std::optional<std::chrono::milliseconds> ttl = {};       ///< from its start; none: for ever
  std::optional<std::chrono::milliseconds> idle_ttl = {};  ///< without a request, a live command or an open stream

  static constexpr auto fields = std::tuple{protocol::field("ttl_ms", &Lease::ttl, "From its start"),
                                            protocol::field("idle_ttl_ms", &Lease::idle_ttl, "Without use")};
};

/// What a sandbox is made of. A driver refuses what it can't do; it never leaves it out in silence.
struct SandboxSpec {
  std::string name;                             ///< see `check_name`
  std::string image = {};                       ///< empty: the driver's default, or none
  std::string owner = {};                       ///< who may find it as his own
  std::map<std::string, std::string> env = {};  ///< of all its commands
  std::map<std::string, std::string> labels = {};
  Lease lease = {};
  std::chrono::milliseconds wait{120'000};  ///< longest time until it answers
  bool is_one_shot = false;                 ///< for one run: as few objects as can be, and no stop and start
  PodOptions pod = {};

  static constexpr auto fields = std::tuple{
      protocol::field("name", &SandboxSpec::name, "Its name"),
      protocol::field("image", &SandboxSpec::image, "Container image", {.optional = true}),
      protocol::field("owner", &SandboxSpec::owner, "Whose it is", {.optional = true}),
      protocol::field("env", &SandboxSpec::env, "Of all its commands", {.optional = true}),
      protocol::field("labels", &SandboxSpec::labels, "To find it by", {.optional = true}),
      protocol::field("lease", &SandboxSpec::lease, "How long it lives", {.optional = true}),
      protocol::field("wait_ms", &SandboxSpec::wait, "Longest time until it answers", {.optional = true}),
      protocol::field("pod", &SandboxSpec::pod, "What only clusters have", {.optional = true}),
  };
};

enum class SandboxState : std::uint8_t {
  creating,
  running,
  stopped,  ///< on purpose: `start` makes it again
  ended,    ///< by itself, its lease or idle time being over
  failed,   ///< not on purpose; `reason` says how
};

/// A sandbox as it is now, for people and programs.
struct Sandbox {
  std::string name;
  std::string id;  ///< unique for ever; the audience of its tokens
  std::string driver;
  SandboxState state = SandboxState::creating;
  std::string reason;  ///< why it ended or failed; of one that runs, what is wrong with it; else empty
  std::string owner;
  std::string image;
  std::map<std::string, std::string> labels;
  std::string created_at;                      ///< RFC 3339
  std::optional<std::string> expires_at;       ///< end of its lease
  std::string address;                         ///< where its agent is reached; empty while it does not run
  std::map<std::string, std::string> details;  ///< what only this driver knows: a pod, a process, a directory
  /// It did not end by itself: its node was drained or lost, or its record can't be read. `start` may bring it back, so
  /// it is not garbage before the end of its lease.
  bool was_broken = false;
  /// It failed, and nobody has seen what it ran end: that still takes what a running one takes.
  bool may_run_on = false;
  /// Its agent had never answered when it failed, or when whoever made it would have given up, so there is nothing in
  /// it.
  bool was_never_up = false;

  static constexpr auto fields = std::tuple{
      protocol::field("name", &Sandbox::name, "Its name"),
      protocol::field("id", &Sandbox::id, "Unique for ever"),
      protocol::field("driver", &Sandbox::driver, "What hosts it"),
      protocol::field("state", &Sandbox::state, "How it is"),
      protocol::field("reason", &Sandbox::reason, "Why it ended or failed"),
      protocol::field("owner", &Sandbox::owner, "Whose it is"),
      protocol::field("image", &Sandbox::image, "Container image"),
      protocol::field("labels", &Sandbox::labels, "Names and values to find it by"),
      protocol::field("created_at", &Sandbox::created_at, "When it was made"),
      protocol::field("expires_at", &Sandbox::expires_at, "When its lease is over"),
      protocol::field("address", &Sandbox::address, "Where its agent is reached"),
      protocol::field("details", &Sandbox::details, "What the driver adds"),
  };
};

/// `invalid_field` unless the name fits into the names of all objects that are made for it: lower-case letters, digits
/// and, between them, `-`; at most 50 characters (RFC 1123, as Kubernetes wants it). It may begin with a digit, as a
/// UUID may: where a letter is wanted, the prefix of all names has one.
[[nodiscard]] Result<> check_name(std::string_view name);

/// `invalid_field` unless the labels and the variables fit into the records of all drivers: 256 KiB of JSON together,
/// which is what an object of a cluster may have of annotations; and each variable into what a kernel hands on, 128
/// KiB.
[[nodiscard]] Result<> check_size(const SandboxSpec& spec);

/// A name nobody else has: `prefix` and random letters and digits.
[[nodiscard]] std::string make_name(std::string_view prefix);

[[nodiscard]] std::string_view state_word(SandboxState state) noexcept;

/// "there is no sandbox NAME"
[[nodiscard]] Error no_such_sandbox(std::string_view name);
/// Why one that is not running is of no use, and what to do: `sandbox_not_running`.
[[nodiscard]] Error not_running(const Sandbox& sandbox);

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
