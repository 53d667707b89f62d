#include "container/agent/timed_output.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <boost/asio/post.hpp>
#include <nlohmann/json.hpp>

#include "protocol/json/base64.hpp"
#include "protocol/json/schema.hpp"

namespace skiff::container {
namespace {

/// Other tasks cannot run while this many lines are parsed.
constexpr std::size_t kLinesInATurn = 100;

}  // namespace

Task<Result<std::vector<TimedOutput>>> read_timed_output(AgentClient* agent, std::string command, std::uint64_t from,
                                                         std::size_t most) {
  std::string path = std::move(command) + "/output?from=" + std::to_string(from);
  SKIFF_CO_TRY_VOID(co_await agent->open(std::move(path)));
  SKIFF_CO_TRY(auto body, co_await agent->http().read_body(most));
  std::vector<TimedOutput> events;
  std::string_view rest{body};
  std::size_t lines = 0;
  std::uint64_t lost = 0;
  std::uint64_t next = 0;
  while (!rest.empty()) {
    const std::size_t line = std::min(rest.find('\n'), rest.size());
    const std::string_view text = rest.substr(0, line);
    auto event =
        text.empty() ? Result<nlohmann::json>{nlohmann::json{}} : protocol::parse_json(text, {.max_bytes = most});
    if (!event) co_return std::unexpected{foreign_answer(event.error().message)};
    rest.remove_prefix(std::min(line + 1, rest.size()));
    if (++lines % kLinesInATurn == 0) co_await boost::asio::post(agent->executor(), use_task);
    const std::string type = text_at(*event, "type");
    if (type == "gap") {
      const std::uint64_t end = number_at(*event, "to").value_or(0);
      const std::uint64_t begin = number_at(*event, "from").value_or(end);
      lost += std::max(begin, end) - begin;
      next = end;
    }
    if (type != "output") continue;
    TimedOutput one{number_at(*event, "offset").value_or(0), text_at(*event, "time"), text_at(*event, "stream"),
                    text_at(*event, "data"), std::exchange(lost, 0)};
    if (const std::string encoded = text_at(*event, "data_base64"); !encoded.empty()) {
      auto bytes = protocol::decode_base64(encoded);
      if (!bytes) co_return std::unexpected{foreign_answer("its output is not base64")};
      one.bytes = std::move(*bytes);
    }
    events.push_back(std::move(one));
  }
  if (lost > 0) events.push_back({next, "", "", "", lost});
  co_return events;
}

}  // namespace skiff::container
