#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "protocol/json/text.hpp"
#include "runtime/api/kept_output.hpp"
#include "runtime/dialects/kubebox/answers.hpp"
#include "runtime/dialects/kubebox/events.hpp"
#include "runtime/dialects/kubebox/handlers.hpp"
#include "runtime/dialects/kubebox/names.hpp"
#include "runtime/reader/outcome.hpp"

namespace skiff::runtime::dialects::kubebox {
namespace {

using protocol::field;
using protocol::Text;

/// The label of a session that /initialize has created.
constexpr const char* kLabel = "dialect";
constexpr const char* kLabelled = "kubebox";
/// The timeout of a command in mode `wait` that names none, as in the original.
constexpr std::chrono::milliseconds kUsualTimeout{10'000};

struct InitializeBody {
  std::string session_id;
  std::string path;
  static constexpr auto fields = std::tuple{
      field("session_id", &InitializeBody::session_id, "The client's choice", {.min_length = 1, .max_length = 1024}),
      field("path", &InitializeBody::path, "The root of its files and commands", {.text = Text::no_nul}),
  };
};

struct RunBody {
  std::string session_id;
  std::string command;
  std::string mode = "wait";
  std::optional<std::string> path;
  std::optional<std::optional<nlohmann::json>> timeout;  ///< absent: the usual one; null: none
  static constexpr auto fields = std::tuple{
      field("session_id", &RunBody::session_id, "The session_id of /initialize"),
      field("command", &RunBody::command, "A shell line", {.text = Text::no_nul}),
      field("mode", &RunBody::mode, "stream, wait or background", {.optional = true}),
      field("path", &RunBody::path, "Working directory", {.text = Text::no_nul}),
      field("timeout", &RunBody::timeout, "Seconds"),
  };
};

struct ProcessBody {
  std::string session_id;
  std::optional<nlohmann::json> process_id;
  static constexpr auto fields = std::tuple{
      field("session_id", &ProcessBody::session_id, "The session_id of /initialize"),
      field("process_id", &ProcessBody::process_id, "The process_id of /run_command"),
  };
};

/// Whether /initialize has created the session: only then may it be replaced.
bool is_ours(const sessions::Session& session) {
  const auto& labels = session.spec().labels;
  return labels.contains(kLabel) && labels.at(kLabel) == kLabelled;
}

Result<std::optional<std::chrono::milliseconds>> timeout_of(const RunBody& body) {
  if (!body.timeout) return body.mode == "wait" ? std::optional{kUsualTimeout} : std::nullopt;
  if (!*body.timeout) return std::nullopt;
  const nlohmann::json& given = **body.timeout;
  const double seconds = given.is_number() ? given.get<double>() : 0;
  if (!(seconds > 0) || seconds * 1000 > static_cast<double>(api::kLongestTime)) {
    return fail(Errc::invalid_field, "timeout: expected seconds above 0, up to a year, or null", "timeout");
  }
  return std::chrono::milliseconds{static_cast<std::int64_t>(std::ceil(seconds * 1000))};
}

std::string result_of(const api::KeptOutput& output, const sessions::ExitStatus& status) {
  const std::uint64_t missing = output.omitted_out + output.omitted_err;
  std::string text{'{'};
  protocol::append_json_text(text, "stdout", output.out);
  protocol::append_json_text(text, "stderr",
                             output.err + (missing > 0 ? missing_output(missing) : "") + why_not_started(status));
  const bool timed_out = status.cause == sessions::Cause::timeout;
  protocol::append_json_key(text, "exit_code");
  text += timed_out ? "null" : std::to_string(python_exit_code(status));
  if (timed_out) protocol::append_json_text(text, "error", "Command timed out");
  protocol::append_json_flag(text, "finished", !timed_out && status.exit_code == 0);
  return text + '}';
}

Task<Result<>> answer_wait(Request* request, std::shared_ptr<sessions::Command> command) {
  SKIFF_CO_TRY(const auto begun, co_await until_exit(request, command));
  Compose compose = [&](const auto& output) { return result_of(output, *command->exit_status()); };
  const std::size_t most = request->agent.settings.keep_bytes;
  auto text = co_await compose_result(&request->agent, command, most, std::move(compose));
  co_return co_await answer(request, std::move(text), begun);
}

}  // namespace

Task<Result<>> initialize(Request* request) {
  SKIFF_CO_TRY(auto body, co_await read_json<InitializeBody>(request, request->agent.settings.max_json_bytes));
  sessions::SessionSpec spec;
  spec.id = session_id(body.session_id);
  if (!body.path.empty()) spec.root = body.path;
  spec.labels = {{kLabel, kLabelled}};
  request->session = spec.id;
  auto& registry = request->agent.registry;
  auto made = co_await registry.put(spec);
  if (!made && made.error().code == Errc::session_conflict) {
    const auto old = registry.find(spec.id);
    if (old && is_ours(**old)) {
      // A second call replaces the session, as in the original. Here its processes end; the original loses track of
      // them.
      SKIFF_CO_TRY_VOID(co_await registry.erase(spec.id, false));
      made = co_await registry.put(spec);
    }
  }
  if (!made) co_return std::unexpected{std::move(made.error())};
  std::string text{'{'};
  protocol::append_json_text(text, "session_id", body.session_id);
  co_return co_await answer(request, text + '}');
}

Task<Result<>> run_command(Request* request, WaitingStreams* waiting) {
  SKIFF_CO_TRY(auto asked, co_await read_asked<RunBody>(request));
  RunBody& body = asked.body;
  if (body.mode != "wait" && body.mode != "stream" && body.mode != "background") {
    co_return fail(Errc::invalid_field, "mode: expected stream, wait or background", "mode");
  }
  SKIFF_CO_TRY(auto timeout, timeout_of(body));
  api::CommandRequest wanted;
  wanted.command = std::move(body.command);
  wanted.cwd = body.path;
  wanted.timeout = timeout;
  const std::uint64_t process = new_process_id();
  SKIFF_CO_TRY(auto command, co_await start_process(request, asked.session, std::move(wanted), process));
  if (body.mode == "wait") co_return co_await answer_wait(request, std::move(command));
  // The reader exists before the first byte, so that no byte is lost until the client asks for the stream.
  if (body.mode == "stream") {
    auto& turns = request->agent.supervisor.output.reader_turns;
    waiting->add(std::make_shared<OutputStream>(EventData{body.session_id, process}, command, turns));
  }
  co_return co_await answer(request, R"({"process_id":)" + std::to_string(process) + '}');
}

Task<Result<>> kill_command(Request* request) {
  SKIFF_CO_TRY(auto asked, co_await read_asked<ProcessBody>(request));
  const auto& process = asked.body.process_id;
  SKIFF_CO_TRY(const auto found, find_process(*asked.session, process ? process_id_of(*process) : std::nullopt));
  sessions::Command& command = *found;
  if (command.over()) co_return fail(Errc::command_not_found, "No such process", "process_id");
  command.end(sessions::Cause::killed_by_client);
  SKIFF_CO_TRY_VOID(co_await command.killed());
  const auto& status = command.exit_status();
  co_return co_await answer(request, R"({"status":"killed","exit_code":)" +
                                         (status ? std::to_string(python_exit_code(*status)) : std::string{"null"}) +
                                         '}');
}

Task<Result<>> kill_all_processes(Request* request) {
  SKIFF_CO_TRY(auto asked, co_await read_asked<ProcessBody>(request));
  auto commands = asked.session->commands();
  std::erase_if(commands, [](const auto& command) { return !process_of(command->id()) || command->over(); });
  for (const auto& command : commands) command->end(sessions::Cause::killed_by_client);
  std::string failed;
  for (const auto& command : commands) {
    if (const auto killed = co_await command->killed(); killed) continue;
    failed += (failed.empty() ? "" : ",") + std::to_string(*process_of(command->id()));
  }
  std::string text{'{'};
  protocol::append_json_flag(text, "success", failed.empty());
  protocol::append_json_key(text, "failed_processes");
  co_return co_await answer(request, text + '[' + failed + "]}");
}

}  // namespace skiff::runtime::dialects::kubebox
