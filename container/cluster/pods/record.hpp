#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/kube/object.hpp"
#include "container/sandbox/sandbox.hpp"

namespace skiff::container {

/// What is known of a sandbox for as long as it exists, also while it is stopped: a ConfigMap, which owns all the rest.
struct PodRecord {
  SandboxSpec spec = {};
  std::string id = {};
  std::string namespace_name = {};  ///< of its objects: another one than the record's with --namespace-per-sandbox
  std::string pod = {};             ///< the Pod's name: one from a pool has another than the record
  std::string pod_uid = {};         ///< of the Pod that was up last; empty: look it up
  std::string node = {};            ///< where that Pod was
  std::string started_at = {};      ///< RFC 3339: since when it was there
  std::string service_uid = {};     ///< of its Service, likewise
  std::string start = {};           ///< which `start` was the last one (creation_mark.hpp); empty: none
  bool stopped = false;
  bool was_up = false;  ///< since it was last made or started: a Pod that is not there is gone then
  /// How the Pod before this one ended, where that took files along which no volume keeps; empty: none did.
  std::string lost_with = {};
  std::optional<std::string> begun_at = {};    ///< RFC 3339: when it was last started; none: when it was made
  std::optional<std::string> expires_at = {};  ///< RFC 3339
};

/// When a lease is over that begins at the latest after `wait`; nothing for one without an end.
[[nodiscard]] std::optional<std::string> lease_end_text(const Lease& lease, std::chrono::milliseconds wait = {});

/// Its ConfigMap. `name` is the ConfigMap's.
[[nodiscard]] kube::Object make_record(const PodRecord& record, const std::string& namespace_name,
                                       const std::string& name);
/// `invalid_field` when somebody else wrote into it.
[[nodiscard]] Result<PodRecord> read_record(const kube::Object& config_map);

/// The sandbox that a Pod without a record is.
[[nodiscard]] Sandbox describe_pod(const kube::Object& pod);
/// The one that a record is, together with what its Pod alone would be; null: there is no Pod. `now`: by the clock of
/// the API server, as its times are.
[[nodiscard]] Sandbox describe(const PodRecord& record, const kube::Object& config_map, const Sandbox* pod,
                               WallTime now);
/// One whose Pod can't be looked at, and why: it is what its record knows last.
[[nodiscard]] Sandbox describe_unseen(const PodRecord& record, const kube::Object& config_map, const Error& why);
/// One whose record can't be read, and why.
[[nodiscard]] Sandbox describe_damaged(const kube::Object& config_map, const Error& damage);

}  // namespace skiff::container
