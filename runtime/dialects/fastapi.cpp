#include "runtime/dialects/fastapi.hpp"

#include <utility>

#include "protocol/json/text.hpp"

namespace skiff::runtime::dialects {
namespace {

/// JSON of up to this many bytes is read and written on the reactor's thread.
constexpr std::size_t kQuickJson = std::size_t{256} << 10U;

}  // namespace

protocol::HttpResponse json_answer(unsigned status, std::string text) {
  return {status, {{"Content-Type", "application/json"}}, std::move(text)};
}

protocol::HttpResponse detail(unsigned status, std::string_view text) {
  std::string body{'{'};
  protocol::append_json_text(body, "detail", text);
  return json_answer(status, body + '}');
}

protocol::HttpResponse detail(unsigned status, const Error& error) {
  const bool has_no_route = error.code == Errc::not_found || error.code == Errc::method_not_allowed;
  return detail(status, has_no_route ? protocol::reason_phrase(status) : std::string_view{error.message});
}

bool is_absence(Errc code) noexcept {
  switch (code) {
    case Errc::path_not_found:
    case Errc::not_a_directory:
    case Errc::is_a_directory:
    case Errc::not_a_regular_file:
    case Errc::name_too_long:
    case Errc::too_many_links:
      return true;
    default:
      return false;
  }
}

Task<> by_size(BlockingPool* long_work, std::size_t bytes, std::function<void()> work) {
  auto job = [&work] {
    work();
    return true;
  };
  if (bytes > kQuickJson) {
    (void)co_await long_work->run(std::move(job));
  } else {
    job();
  }
}

Task<std::string> compose_result(Agent* agent, std::shared_ptr<sessions::Command> command, std::size_t most,
                                 Compose compose) {
  const auto turn = co_await api::turn_to_answer(&agent->quotas.composed_answers, "", command, most);
  const api::KeptOutput output = co_await api::kept_output(command, most);
  std::string text;
  std::function<void()> work = [&] { text = compose(output); };
  co_await by_size(&agent->pools.long_work, output.out.size() + output.err.size(), std::move(work));
  co_return text;
}

}  // namespace skiff::runtime::dialects
