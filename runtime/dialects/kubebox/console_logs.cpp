#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "protocol/json/text.hpp"
#include "runtime/api/kept_output.hpp"
#include "runtime/dialects/kubebox/answers.hpp"
#include "runtime/dialects/kubebox/handlers.hpp"
#include "runtime/dialects/kubebox/names.hpp"
#include "runtime/reader/outcome.hpp"

namespace skiff::runtime::dialects::kubebox {
namespace {

/// A program of the image. It gets the URL as its argument, and prints the answer.
constexpr std::string_view kProgram = "kubebox-console-logs";
constexpr std::chrono::milliseconds kLongestVisit{60'000};
constexpr std::size_t kLongestAnswer = std::size_t{1} << 20U;

struct ConsoleBody {
  std::string session_id;
  std::string full_url;
  static constexpr auto fields = std::tuple{
      protocol::field("session_id", &ConsoleBody::session_id, "The session_id of /initialize"),
      protocol::field("full_url", &ConsoleBody::full_url, "The URL of the page",
                      {.max_length = 8192, .text = protocol::Text::no_nul}),
  };
};

/// Answers with a failure, in `errors`, too. The client ignores the status, and would take an answer without errors for
/// a page without errors.
Task<Result<>> answer_failure(Request* request, bool begun, unsigned status, const std::string& sentence) {
  std::string text{'{'};
  protocol::append_json_text(text, "detail", sentence);
  text += R"(,"logs":[],"errors":[{"type":"error")";
  protocol::append_json_text(text, "text", sentence);
  return answer(request, text + "}]}", begun, status);
}

bool is_console_log(std::string_view text) {
  const auto parsed = protocol::parse_json(text, {.max_bytes = kLongestAnswer, .max_depth = 8});
  return parsed && parsed->is_object() && std::ranges::all_of(std::array{"logs", "errors"}, [&](const char* key) {
           const auto found = parsed->find(key);
           return found != parsed->end() && found->is_array();
         });
}

}  // namespace

Task<Result<>> get_website_console_logs(Request* request) {
  SKIFF_CO_TRY(auto asked, co_await read_asked<ConsoleBody>(request));
  const std::string& url = asked.body.full_url;
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    co_return fail(Errc::invalid_field, "full_url: expected an http or https URL", "full_url");
  }
  const std::string program{kProgram};
  api::CommandRequest wanted;
  wanted.argv = {program, url};
  wanted.timeout = kLongestVisit;
  SKIFF_CO_TRY(const auto command, co_await start_process(request, asked.session, std::move(wanted), new_process_id()));
  SKIFF_CO_TRY(const auto begun, co_await until_exit(request, command));
  const auto& status = *command->exit_status();
  if (status.failure) {
    co_return co_await answer_failure(request, begun, 501,
                                      "this image has no command " + program + " that visits a page with a browser (" +
                                          status.failure->message + "): docs/dialects/kubebox.md says what it prints");
  }
  api::KeptOutput output = co_await api::kept_output(command, kLongestAnswer);
  if (status.exit_code != 0 || output.omitted_out > 0 || !is_console_log(output.out)) {
    co_return co_await answer_failure(request, begun, 502,
                                      program + " did not print {\"logs\": [...], \"errors\": [...]}: exit code " +
                                          std::to_string(python_exit_code(status)) + ", command " + command->id());
  }
  co_return co_await answer(request, std::move(output.out), begun);
}

}  // namespace skiff::runtime::dialects::kubebox
