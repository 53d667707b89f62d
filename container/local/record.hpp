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
#include "container/local/host_process.hpp"
#include "container/sandbox/sandbox.hpp"
#include "protocol/json/schema.hpp"

namespace skiff::container {

/// What is remembered of a local sandbox: what it is made of, and which process it is.
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
  bool stopped = false;                                       ///< on purpose
  bool half_made = false;                                     ///< its first agent has not answered yet
  std::optional<std::int64_t> expires_ms;                     ///< since 1970
  std::uint16_t port = 0;                                     ///< 0: it has never answered
  std::vector<std::string> dialects = {};                     ///< that its agent speaks, too
  std::map<std::string, std::string> dialect_addresses = {};  ///< HOST:PORT by the names of ports in dialects.hpp
  std::int32_t pid = 0;
  std::uint64_t started_ticks = 0;
  std::string boot;

  [[nodiscard]] HostProcess process() const { return {.pid = pid, .started_ticks = started_ticks, .boot = boot}; }
  void set_process(const HostProcess& process);

  static constexpr auto fields = std::tuple{
      protocol::field("name", &LocalRecord::name, "Its name"),
      protocol::field("id", &LocalRecord::id, "Audience of its tokens"),
      protocol::field("owner", &LocalRecord::owner, "Whose it is"),
      protocol::field("labels", &LocalRecord::labels, "To find it by"),
      protocol::field("env", &LocalRecord::env, "Of its commands; may hold secrets"),
      protocol::field("ttl_ms", &LocalRecord::ttl, "Its lease"),
      protocol::field("idle_ttl_ms", &LocalRecord::idle_ttl, "Its idle time"),
      protocol::field("created_at", &LocalRecord::created_at, "When it was made"),
      protocol::field("stopped", &LocalRecord::stopped, "On purpose"),
      protocol::field("half_made", &LocalRecord::half_made, "Its first agent has not answered yet", {.optional = true}),
      protocol::field("expires_ms", &LocalRecord::expires_ms, "End of the lease"),
      protocol::field("port", &LocalRecord::port, "On 127.0.0.1"),
      protocol::field("dialects", &LocalRecord::dialects, "That it speaks, too", {.optional = true}),
      protocol::field("dialect_addresses", &LocalRecord::dialect_addresses, "Where", {.optional = true}),
      protocol::field("pid", &LocalRecord::pid, "skiffd"),
      protocol::field("started_ticks", &LocalRecord::started_ticks, "Which process of that pid"),
      protocol::field("boot", &LocalRecord::boot, "In which boot"),
  };
};

/// The records of a directory: NAME/record.json, beside the sandbox's files in NAME/root and its agent's log. Each call
/// is whole or has not happened; who changes one holds its lock.
class LocalRecords {
 public:
  explicit LocalRecords(std::filesystem::path directory) : directory_{std::move(directory)} {}

  /// Makes the sandbox's directory with its record. `sandbox_conflict` when there is one.
  [[nodiscard]] Result<> add(const LocalRecord& record) const;
  /// `invalid_field` for one that `load` would not take.
  [[nodiscard]] Result<> save(const LocalRecord& record) const;
  /// `sandbox_not_found`.
  [[nodiscard]] Result<LocalRecord> load(std::string_view name) const;
  /// Of all sandboxes, sorted, also of those whose record can't be read.
  [[nodiscard]] Result<std::vector<std::string>> names() const;

  [[nodiscard]] std::filesystem::path directory(std::string_view name) const { return directory_ / name; }
  [[nodiscard]] std::filesystem::path record_file(std::string_view name) const;
  [[nodiscard]] std::filesystem::path root(std::string_view name) const { return directory(name) / "root"; }
  [[nodiscard]] std::filesystem::path log(std::string_view name) const { return directory(name) / "skiffd.log"; }
  /// Of the locks of all names.
  [[nodiscard]] std::filesystem::path lock_file() const { return directory_ / ".lock"; }

 private:
  std::filesystem::path directory_;
};

/// Whether `load` has failed because of what the record is, and not because it can't be looked at now.
[[nodiscard]] bool is_damage(const Error& error) noexcept;

/// How an agent ended in good order.
struct LoggedEnd {
  bool is_lease = false;  ///< its lease or its idle time was over; else somebody ended it from outside
  std::string why;
};
/// As the end of its log tells it; nothing when it was killed.
[[nodiscard]] std::optional<LoggedEnd> end_in_log(std::string_view log_end);

}  // namespace skiff::container
