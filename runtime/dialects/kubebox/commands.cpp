#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "protocol/json/text.hpp"
#include "protocol/json/utf8.hpp"
#include "runtime/api/commands/command_routes.hpp"
#include "runtime/dialects/kubebox/answers.hpp"
#include "runtime/dialects/kubebox/handlers.hpp"
#include "runtime/dialects/kubebox/names.hpp"
#include "runtime/dialects/kubebox/packets.hpp"

namespace skiff::runtime::dialects::kubebox {
namespace {

using protocol::field;
using protocol::Text;
using sessions::LogItem;

constexpr std::string_view kLabel = "dialect";
constexpr std::string_view kLabelled = "kubebox";
/// Of a WAIT that names none: the original's.
constexpr std::chrono::milliseconds kUsualTimeout{10'000};
constexpr std::size_t kBlock = std::size_t{256} << 10U;

struct InitializeBody {
  std::string session_id;
  std::string path;
  static constexpr auto fields = std::tuple{
      field("session_id", &InitializeBody::session_id, "The client's choice", {.min_length = 1, .max_length = 1024}),
      field("path", &InitializeBody::path, "Of its files and commands", {.text = Text::no_nul}),
  };
};

struct RunBody {
  std::string session_id;
  std::string command;
  std::string mode = "wait";
  std::optional<std::string> path;
  std::optional<std::optional<nlohmann::json>> timeout;  ///< absent: the usual one; null: none
  static constexpr auto fields = std::tuple{
      field("session_id", &RunBody::session_id, "Of /initialize"),
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
      field("session_id", &ProcessBody::session_id, "Of /initialize"),
      field("process_id", &ProcessBody::process_id, "Of /run_command"),
  };
};

/// Whether a session came to be by /initialize: only such a one may be replaced by it.
bool is_ours(const sessions::Session& session) {
  const auto& labels = session.spec().labels;
  const auto found = labels.find(std::string{kLabel});
  return found != labels.end() && found->second == kLabelled;
}

Result<std::optional<std::chrono::milliseconds>> timeout_of(const RunBody& body) {
  if (!body.timeout) {
    return body.mode == "wait" ? std::optional{kUsualTimeout} : std::nullopt;
  }
  if (!*body.timeout) return std::nullopt;
  const nlohmann::json& given = **body.timeout;
  const double seconds = given.is_number() ? given.get<double>() : 0;
  if (!(seconds > 0) || seconds * 1000 > static_cast<double>(api::kLongestTime)) {
    return fail(Errc::invalid_field, "timeout: expected seconds above 0, up to a year, or null", "timeout");
  }
  return std::chrono::milliseconds{static_cast<std::int64_t>(std::ceil(seconds * 1000))};
}

/// Writes what the log has of one of its streams as the content of a JSON string, block by block.
Task<Result<>> write_output(Request* request, std::shared_ptr<sessions::Command> command, sessions::Stream only) {
  sessions::Cursor cursor{command->log(), {.from = 0, .only = only, .lossless = true}};
  protocol::Utf8Splitter splitter;
  std::string text;
  const auto add = [&text](std::string_view bytes) {
    protocol::append_json_escaped(text, protocol::is_valid_utf8(bytes) ? bytes : protocol::to_valid_utf8(bytes));
  };
  for (bool over = false; !over;) {
    co_await request->agent.supervisor.reader_turns.next();
    while (text.size() < kBlock) {
      auto item = cursor.next(kBlock);
      if (!item) break;
      if (item->kind == LogItem::Kind::output) {
        const auto pieces = splitter.push(item->bytes.view());
        add(pieces.head);
        add(pieces.body);
      } else if (item->kind == LogItem::Kind::gap) {
        if (only == sessions::Stream::err) add(missing_output(item->next - item->offset));
      } else {
        add(splitter.flush());
        over = true;
        break;
      }
    }
    if (text.empty() && !over) {
      co_await cursor.ready();
      continue;
    }
    if (auto sent = co_await request->http.write(text); !sent) co_return sent;
    text.clear();
  }
  co_return Result<>{};
}

/// The result of a WAIT. Its head goes first and its text as it is read, so that it may be as long as the log.
Task<Result<>> answer_wait(Request* request, std::shared_ptr<sessions::Command> command) {
  protocol::HttpResponse head{200, {{"Content-Type", "application/json"}}};
  auto sent = co_await request->http.start(std::move(head), {}, protocol::HttpExchange::Send::with_first_write);
  if (sent) sent = co_await until_exit(request, command, true);
  if (sent) sent = co_await request->http.write(R"({"stdout":")");
  if (sent) sent = co_await write_output(request, command, sessions::Stream::out);
  if (sent) sent = co_await request->http.write(R"(","stderr":")");
  if (sent) sent = co_await write_output(request, command, sessions::Stream::err);
  if (!sent) co_return sent;
  const auto& status = *command->exit_status();
  std::string rest;
  protocol::append_json_escaped(rest, protocol::to_valid_utf8(why_not_started(status)));
  if (status.cause == sessions::Cause::timeout) {
    rest += R"(","exit_code":null,"error":"Command timed out","finished":false})";
  } else {
    rest += R"(","exit_code":)" + std::to_string(exit_code(status)) + R"(,"finished":)";
    rest += status.exit_code == 0 ? "true}" : "false}";
  }
  if (sent = co_await request->http.write(rest); !sent) co_return sent;
  co_return co_await request->http.finish();
}

}  // namespace

Task<Result<>> initialize(Request* request, WaitingStreams* /*waiting*/) {
  auto body = co_await read_json<InitializeBody>(request);
  if (!body) co_return std::unexpected{std::move(body.error())};
  sessions::SessionSpec spec;
  spec.id = session_id(body->session_id);
  if (!body->path.empty()) spec.root = body->path;
  spec.labels = {{std::string{kLabel}, std::string{kLabelled}}};
  request->session = spec.id;
  auto& registry = request->agent.registry;
  auto made = co_await registry.put(spec);
  if (!made && made.error().code == Errc::session_conflict) {
    const auto old = registry.find(spec.id);
    if (old && is_ours(**old)) {
      // The original's second call replaces the session: its processes end here, instead of being lost sight of.
      if (auto ended = co_await registry.erase(spec.id, false); !ended) co_return ended;
      made = co_await registry.put(spec);
    }
  }
  if (!made) co_return std::unexpected{std::move(made.error())};
  std::string text{"{"};
  protocol::append_json_text(text, "session_id", body->session_id);
  text += '}';
  co_return co_await answer(request, std::move(text));
}

Task<Result<>> run_command(Request* request, WaitingStreams* waiting) {
  auto body = co_await read_json<RunBody>(request);
  if (!body) co_return std::unexpected{std::move(body.error())};
  auto session = session_of(*request, body->session_id);
  if (!session) co_return std::unexpected{std::move(session.error())};
  if (body->mode != "wait" && body->mode != "stream" && body->mode != "background") {
    co_return fail(Errc::invalid_field, "mode: expected stream, wait or background", "mode");
  }
  auto timeout = timeout_of(*body);
  if (!timeout) co_return std::unexpected{std::move(timeout.error())};
  const std::uint64_t process = new_process_id();
  api::CommandRequest asked;
  asked.command = std::move(body->command);
  asked.id = command_id(process);
  asked.cwd = body->path;
  asked.timeout = *timeout;
  auto started = co_await api::start(request->agent, &request->caller, *session, &asked);
  if (!started) co_return std::unexpected{std::move(started.error())};
  const auto command = started->command;
  request->command = command->id();
  if (body->mode == "wait") co_return co_await answer_wait(request, command);
  // Its reader is there from the first byte on, so that none is lost until the client asks for the stream.
  if (body->mode == "stream") {
    waiting->add(std::make_shared<OutputStream>(body->session_id, process, command), {});
  }
  co_return co_await answer(request, R"({"process_id":)" + std::to_string(process) + '}');
}

Task<Result<>> kill_command(Request* request, WaitingStreams* /*waiting*/) {
  auto body = co_await read_json<ProcessBody>(request);
  if (!body) co_return std::unexpected{std::move(body.error())};
  auto session = session_of(*request, body->session_id);
  if (!session) co_return std::unexpected{std::move(session.error())};
  const auto process = body->process_id ? process_id_of(*body->process_id) : std::nullopt;
  auto command = find_process(**session, process);
  if (!command) co_return std::unexpected{std::move(command.error())};
  if ((*command)->over()) co_return fail(Errc::command_not_found, "No such process", "process_id");
  (*command)->end(sessions::Cause::killed_by_client);
  co_await (*command)->gone();
  const auto& status = (*command)->exit_status();
  co_return co_await answer(request, R"({"status":"killed","exit_code":)" +
                                         (status ? std::to_string(exit_code(*status)) : std::string{"null"}) + '}');
}

Task<Result<>> kill_all_processes(Request* request, WaitingStreams* /*waiting*/) {
  auto body = co_await read_json<ProcessBody>(request);
  if (!body) co_return std::unexpected{std::move(body.error())};
  auto session = session_of(*request, body->session_id);
  if (!session) co_return std::unexpected{std::move(session.error())};
  auto commands = (*session)->commands();
  std::erase_if(commands, [](const auto& command) { return !process_of(command->id()) || command->over(); });
  for (const auto& command : commands) command->end(sessions::Cause::killed_by_client);
  std::string failed;
  for (const auto& command : commands) {
    co_await command->gone();
    const auto& status = command->exit_status();
    if (status && status->kill_level != "incomplete") continue;
    failed += (failed.empty() ? "" : ",") + std::to_string(*process_of(command->id()));
  }
  const bool success = failed.empty();
  co_return co_await answer(request, std::string{R"({"success":)"} + (success ? "true" : "false") +
                                         R"(,"failed_processes":[)" + failed + "]}");
}

}  // namespace skiff::runtime::dialects::kubebox
