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

/// Nobody else runs meanwhile.
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
  while (!rest.empty()) {
    const std::size_t line = std::min(rest.find('\n'), rest.size());
    const auto event = protocol::parse_json(rest.substr(0, line)).value_or(nlohmann::json{});
    rest.remove_prefix(std::min(line + 1, rest.size()));
    if (++lines % kLinesInATurn == 0) co_await boost::asio::post(agent->executor(), use_task);
    if (text_at(event, "type") != "output") continue;
    std::string bytes = text_at(event, "data");
    if (const std::string encoded = text_at(event, "data_base64"); !encoded.empty()) {
      bytes = protocol::decode_base64(encoded).value_or("");
    }
    events.push_back(
        {number_at(event, "offset").value_or(0), text_at(event, "time"), text_at(event, "stream"), std::move(bytes)});
  }
  co_return events;
}

}  // namespace skiff::container
