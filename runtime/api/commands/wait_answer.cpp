#include "runtime/api/commands/wait_answer.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include "protocol/json/utf8.hpp"
#include "runtime/agent.hpp"
#include "runtime/api/answers/command_answer.hpp"
#include "runtime/api/kept_output.hpp"

namespace skiff::runtime::api {
namespace {

/// The output of one stream. Bytes that are not UTF-8 are written twice: as text with replacements, and in base64.
struct Said {
  const std::string& bytes;
  bool is_text;
};

struct ResultOf {
  const sessions::Command& command;
  const KeptOutput& kept;
  Said out;
  Said err;
};

std::optional<Bytes> exact(const Said& said) {
  return said.is_text ? std::nullopt : std::optional{Bytes{said.bytes}};
}

}  // namespace

template <>
struct AnswerValue<Said> {
  static std::string schema() { return kText; }
  static void append(std::string& out, const Said& said) {
    if (said.is_text) {
      protocol::append_json_string(out, said.bytes);
    } else {
      protocol::append_json_string(out, protocol::to_valid_utf8(said.bytes));
    }
  }
};

namespace {

/// The members of a result, without those of the command's end.
const Answer<ResultOf>& result_answer() {
  static const Answer<ResultOf> answer{
      "CommandResult",
      {{"id", [](const ResultOf& of) { return Id{of.command.id()}; }},
       {"state", [](const ResultOf& of) { return name(of.command.state()); }, {}, command_states},
       {"stdout", [](const ResultOf& of) { return of.out; }},
       {"stdout_base64", [](const ResultOf& of) { return exact(of.out); }},
       {"stderr", [](const ResultOf& of) { return of.err; }},
       {"stderr_base64", [](const ResultOf& of) { return exact(of.err); }},
       {"omitted_bytes",
        [](const ResultOf& of) { return MadePart<&per_stream_answer>{{of.kept.omitted_out, of.kept.omitted_err}}; }},
       {"truncated", [](const ResultOf& of) { return of.kept.omitted_out + of.kept.omitted_err > 0; }},
       {"next", [](const ResultOf& of) { return of.kept.next; }},
       {"started_at", [](const ResultOf& of) { return of.command.started_at(); }},
       {"limits", [](const ResultOf& of) { return enforced(of.command.spec().limits); }}}};
  return answer;
}

}  // namespace

Task<std::string> wait_result(Agent* agent, std::string who, std::shared_ptr<sessions::Command> command,
                              std::size_t max_bytes) {
  const auto turn = co_await turn_to_answer(&agent->quotas.large_answers, std::move(who), command, max_bytes);
  const KeptOutput kept = co_await kept_output(command, max_bytes);
  // Compose a long answer in steps, each in its own turn of the reactor.
  const Executor executor = co_await boost::asio::this_coro::executor;
  const bool large = kept.out.size() + kept.err.size() > kLargeOutput;
  const bool out_is_text = protocol::is_valid_utf8(kept.out);
  if (large) co_await boost::asio::post(executor, use_task);
  const bool err_is_text = protocol::is_valid_utf8(kept.err);
  const ResultOf result{.command = *command,
                        .kept = kept,
                        .out = {.bytes = kept.out, .is_text = out_is_text},
                        .err = {.bytes = kept.err, .is_text = err_is_text}};

  std::string text;
  text.reserve(kept.out.size() + kept.err.size() + 640);
  text += '{';
  for (std::size_t place = 0; place < result_answer().size(); ++place) {
    result_answer().append_member(text, place, result);
    if (large) co_await boost::asio::post(executor, use_task);
  }
  if (const auto& status = command->exit_status()) append_exit_members(text, *status);
  text += '}';
  co_return text;
}

std::vector<Member> result_members() {
  return with_exit(result_answer().members(), false);
}

protocol::SchemaRef result_schema() {
  return {.name = "CommandResult", .json = object(result_members())};
}

}  // namespace skiff::runtime::api
