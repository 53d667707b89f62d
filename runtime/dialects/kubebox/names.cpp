#include "runtime/dialects/kubebox/names.hpp"

#include <algorithm>
#include <chrono>

#include "base/bytes/sha.hpp"
#include "base/id.hpp"
#include "protocol/socket_io/packets.hpp"

namespace skiff::runtime::dialects::kubebox {
namespace {

constexpr std::string_view kCommandPrefix = "kubebox-";
constexpr std::size_t kHashDigits = 40;

}  // namespace

std::string session_id(std::string_view of_client) {
  if (is_valid_id(of_client)) return std::string{of_client};
  return "kubebox-" + to_hex(Sha256::of(of_client)).substr(0, kHashDigits);
}

Result<std::shared_ptr<sessions::Session>> find_session(const sessions::Registry& registry,
                                                        std::string_view of_client) {
  auto found = registry.find(session_id(of_client));
  if (!found) return fail(Errc::session_not_found, "Session not found", "session_id");
  return found;
}

std::uint64_t new_process_id() {
  using std::chrono::milliseconds;
  static std::uint64_t last = 0;
  const auto now = std::chrono::floor<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  last = std::max(last + 1, static_cast<std::uint64_t>(now));
  return last;
}

std::string command_id(std::uint64_t process) {
  return std::string{kCommandPrefix} + std::to_string(process);
}

std::optional<std::uint64_t> process_of(std::string_view command) {
  if (!command.starts_with(kCommandPrefix)) return std::nullopt;
  command.remove_prefix(kCommandPrefix.size());
  return protocol::socket_io::parse_number(command);
}

Result<std::shared_ptr<sessions::Command>> find_process(const sessions::Session& session,
                                                        std::optional<std::uint64_t> process) {
  if (process) {
    if (auto found = session.find(command_id(*process))) return found;
  }
  return fail(Errc::command_not_found, "No such process", "process_id");
}

std::string why_not_started(const sessions::ExitStatus& status) {
  return status.failure ? "skiffd: " + status.failure->message + '\n' : std::string{};
}

std::string missing_output(std::uint64_t bytes) {
  return "skiffd: " + std::to_string(bytes) + " bytes of output are no longer kept\n";
}

}  // namespace skiff::runtime::dialects::kubebox
