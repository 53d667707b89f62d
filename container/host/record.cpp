#include "container/host/record.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/small_file.hpp"
#include "container/host/state_directory.hpp"

namespace skiff::container {
namespace {

namespace files = std::filesystem;

constexpr std::size_t kLongestRecord = std::size_t{1} << 20U;
constexpr std::string_view kRecordFile = "record.json";

}  // namespace

void HostRecord::set_process(const HostProcess& process) {
  pid = process.pid;
  started_ticks = process.started_ticks;
  boot = process.boot;
}

std::string HostRecord::address() const {
  if (container && container->is_closed()) return container->engine + ":" + container->id;
  return socket.empty() ? "http://127.0.0.1:" + std::to_string(port) : "unix:" + socket;
}

void HostRecord::forget_agent() {
  port = 0;
  socket.clear();
  dialect_addresses.clear();
}

Result<> HostRecords::add(const HostRecord& record) const {
  const files::path own = directory(record.name);
  if (auto made = create_private_directory(own); !made) {
    if (made.error().code != Errc::already_exists) return made;
    return fail(Errc::sandbox_conflict,
                "there is a sandbox \"" + record.name + "\" already: remove it, or use --get-or-create", "name");
  }
  auto made = create_private_directory(root(record.name));
  if (made) made = save(record);
  if (made) return made;
  if (auto removed = remove_directory(own); !removed) made.error().message += "; " + removed.error().message;
  return made;
}

Result<> HostRecords::save(const HostRecord& record) const {
  const std::string text = protocol::to_json(record);
  if (text.size() > kLongestRecord) {
    return fail(Errc::invalid_field,
                "the record of \"" + record.name + "\" would take " + std::to_string(text.size() / 1024 + 1) +
                    " KiB, and no reader takes more than " + std::to_string(kLongestRecord / 1024));
  }
  // Nobody was told of a sandbox that is half made, and its processes would not outlive a loss of power.
  return write_private_file(record_file(record.name), text, record.half_made ? Durable::no : Durable::yes);
}

bool is_damage(const Error& error) noexcept {
  return error.code != Errc::sandbox_not_found && error.code != Errc::resource_exhausted &&
         error.code != Errc::io_error && error.code != Errc::permission_denied;
}

files::path HostRecords::record_file(std::string_view name) const {
  return directory(name) / kRecordFile;
}

Result<HostRecord> HostRecords::load(std::string_view name) const {
  if (!check_name(name)) return std::unexpected{no_such_sandbox(name)};
  const files::path file = record_file(name);
  auto text = read_small_file(file, kLongestRecord);
  if (!text) {
    if (text.error().code == Errc::path_not_found) return std::unexpected{no_such_sandbox(name)};
    return std::unexpected{std::move(text.error())};
  }
  std::vector<std::string> of_the_future;
  auto record = protocol::decode<HostRecord>(*text, {}, &of_the_future);
  if (!record) record.error().message = "\"" + file.string() + "\": " + record.error().message;
  return record;
}

Result<std::vector<std::string>> HostRecords::names() const {
  std::vector<std::string> found;
  std::error_code error;
  for (files::directory_iterator at{directory_, error}, end; !error && at != end; at.increment(error)) {
    // The file of the locks is not a sandbox.
    std::string name = at->path().filename().string();
    if (check_name(name)) found.push_back(std::move(name));
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return std::unexpected{system_error(error.value(), "read \"" + directory_.string() + "\"")};
  }
  std::ranges::sort(found);
  return found;
}

std::optional<LoggedEnd> end_in_log(std::string_view log_end) {
  // Log lines are JSON; "why" is in the line about the end, which is among the last few.
  constexpr int kMostLines = 8;
  while (log_end.ends_with('\n')) log_end.remove_suffix(1);
  for (int i = 0; i < kMostLines && !log_end.empty(); ++i) {
    const std::size_t begin = log_end.rfind('\n') + 1;
    const auto line = nlohmann::json::parse(log_end.substr(begin), nullptr, /*allow_exceptions=*/false);
    if (line.is_object() && line.contains("why") && line["why"].is_string()) {
      std::string why = line["why"].get<std::string>();
      // Older agents do not log the cause.
      const bool is_said = why == "the lease is over" || why == "nobody used the sandbox for the idle time";
      const bool is_lease = line.contains("cause") ? line["cause"] == "lease" : is_said;
      return LoggedEnd{.is_lease = is_lease, .why = std::move(why)};
    }
    log_end = log_end.substr(0, begin == 0 ? 0 : begin - 1);
  }
  return std::nullopt;
}

}  // namespace skiff::container
