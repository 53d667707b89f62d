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
#include "container/drivers/local/host_process.hpp"
#include "container/sandbox/sandbox.hpp"
#include "protocol/json/schema.hpp"

namespace skiff::container {

/// The record of a local sandbox: its options and its process.
struct LocalRecord {
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
  std::uint16_t port = 0;                                     ///< port of the agent; 0: it has not answered yet
  std::vector<std::string> dialects = {};                     ///< dialects that its agent speaks
  std::map<std::string, std::string> dialect_addresses = {};  ///< HOST:PORT by the names of ports in dialects.hpp
  std::int32_t pid = 0;
  std::uint64_t started_ticks = 0;
  std::string boot;

  [[nodiscard]] HostProcess process() const { return {.pid = pid, .started_ticks = started_ticks, .boot = boot}; }
  void set_process(const HostProcess& process);

  static constexpr auto fields = std::tuple{
      protocol::field("name", &LocalRecord::name, "Name of the sandbox"),
      protocol::field("id", &LocalRecord::id, "Audience of its tokens"),
      protocol::field("owner", &LocalRecord::owner, "Owner"),
      protocol::field("labels", &LocalRecord::labels, "Labels"),
      protocol::field("env", &LocalRecord::env, "Environment of its commands; may contain secrets"),
      protocol::field("ttl_ms", &LocalRecord::ttl, "Lease"),
      protocol::field("idle_ttl_ms", &LocalRecord::idle_ttl, "Idle time after which it ends"),
      protocol::field("created_at", &LocalRecord::created_at, "Time of its creation"),
      protocol::field("stopped", &LocalRecord::stopped, "True: a caller stopped it"),
      protocol::field("half_made", &LocalRecord::half_made, "True: its first agent has not answered yet",
                      {.optional = true}),
      protocol::field("expires_ms", &LocalRecord::expires_ms, "End of the lease"),
      protocol::field("port", &LocalRecord::port, "Port of its agent on 127.0.0.1"),
      protocol::field("dialects", &LocalRecord::dialects, "Dialects that its agent speaks", {.optional = true}),
      protocol::field("dialect_addresses", &LocalRecord::dialect_addresses, "Addresses of the dialects",
                      {.optional = true}),
      protocol::field("pid", &LocalRecord::pid, "Pid of skiffd"),
      protocol::field("started_ticks", &LocalRecord::started_ticks, "Start time of that process, in ticks since boot"),
      protocol::field("boot", &LocalRecord::boot, "Boot in which it was started"),
  };
};

/// The records of a directory: NAME/record.json, beside the sandbox's files in NAME/root and its agent's log. Each call
/// takes effect as a whole or not at all. A caller that changes a record holds its lock.
class LocalRecords {
 public:
  explicit LocalRecords(std::filesystem::path directory) : directory_{std::move(directory)} {}

  /// Creates the sandbox's directory with its record. `sandbox_conflict` if it exists.
  [[nodiscard]] Result<> add(const LocalRecord& record) const;
  /// `invalid_field` for a record that `load` would refuse.
  [[nodiscard]] Result<> save(const LocalRecord& record) const;
  /// `sandbox_not_found` if there is no record.
  [[nodiscard]] Result<LocalRecord> load(std::string_view name) const;
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
