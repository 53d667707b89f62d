#include <nlohmann/json.hpp>

#include "protocol/json/text.hpp"
#include "runtime/api/commands/command_routes.hpp"
#include "runtime/dialects/kubebox/answers.hpp"
#include "runtime/dialects/kubebox/handlers.hpp"
#include "runtime/dialects/kubebox/names.hpp"

namespace skiff::runtime::dialects::kubebox {
namespace {

/// The image's own: it is given the URL and prints the answer.
constexpr std::string_view kProgram = "kubebox-console-logs";
constexpr std::chrono::milliseconds kLongestVisit{60'000};
constexpr std::size_t kLongestAnswer = std::size_t{1} << 20U;

struct ConsoleBody {
  std::string session_id;
  std::string full_url;
  static constexpr auto fields = std::tuple{
      protocol::field("session_id", &ConsoleBody::session_id, "Of /initialize"),
      protocol::field("full_url", &ConsoleBody::full_url, "Of the page",
                      {.max_length = 8192, .text = protocol::Text::no_nul}),
  };
};

/// The client looks at no status, and would take an answer without errors for a page without errors.
Task<Result<>> answer_failure(Request* request, unsigned status, std::string sentence) {
  std::string text{"{"};
  protocol::append_json_text(text, "detail", sentence);
  text += R"(,"logs":[],"errors":[{"type":"error")";
  protocol::append_json_text(text, "text", sentence);
  text += "}]}";
  co_return co_await request->http.respond({status, {{"Content-Type", "application/json"}}, std::move(text)});
}

std::string standard_output(const sessions::Command& command) {
  std::string text;
  sessions::Cursor cursor{command.log(), {.from = 0, .only = sessions::Stream::out, .lossless = false}};
  while (text.size() <= kLongestAnswer) {
    const auto item = cursor.next(kLongestAnswer);
    if (!item || item->kind == sessions::LogItem::Kind::exit) break;
    text += item->bytes.view();
  }
  return text;
}

bool is_console_log(std::string_view text) {
  const auto parsed = protocol::parse_json(text, {.max_bytes = kLongestAnswer, .max_depth = 8});
  if (!parsed || !parsed->is_object()) return false;
  for (const char* const key : {"logs", "errors"}) {
    const auto found = parsed->find(key);
    if (found == parsed->end() || !found->is_array()) return false;
  }
  return true;
}

}  // namespace

Task<Result<>> get_website_console_logs(Request* request, WaitingStreams* /*waiting*/) {
  auto body = co_await read_json<ConsoleBody>(request);
  if (!body) co_return std::unexpected{std::move(body.error())};
  auto session = session_of(*request, body->session_id);
  if (!session) co_return std::unexpected{std::move(session.error())};
  if (!body->full_url.starts_with("http://") && !body->full_url.starts_with("https://")) {
    co_return fail(Errc::invalid_field, "full_url: expected an http or https URL", "full_url");
  }
  api::CommandRequest asked;
  asked.argv = {std::string{kProgram}, body->full_url};
  asked.id = command_id(new_process_id());
  asked.timeout = kLongestVisit;
  auto started = co_await api::start(request->agent, &request->caller, *session, &asked);
  if (!started) co_return std::unexpected{std::move(started.error())};
  const auto command = started->command;
  request->command = command->id();
  if (auto ended = co_await until_exit(request, command, false); !ended) co_return ended;
  const std::string program{kProgram};
  const auto& status = *command->exit_status();
  if (status.failure) {
    co_return co_await answer_failure(request, 501,
                                      "this image has no command " + program + " that visits a page with a browser (" +
                                          status.failure->message + "): docs/dialects/kubebox.md says what it prints");
  }
  std::string text = standard_output(*command);
  if (status.exit_code != 0 || !is_console_log(text)) {
    co_return co_await answer_failure(request, 502,
                                      program + " did not print {\"logs\": [...], \"errors\": [...]}: exit code " +
                                          std::to_string(exit_code(status)) + ", command " + command->id());
  }
  co_return co_await answer(request, std::move(text));
}

}  // namespace skiff::runtime::dialects::kubebox
