#include "container/egress/names/port_question.hpp"

#include <cstdint>
#include <iterator>
#include <set>

#include <nlohmann/json.hpp>

#include "protocol/http/message.hpp"

namespace skiff::container::egress {
namespace {

constexpr std::string_view kQuestion = "/.well-known/skiff-egress/ports?host=";

}  // namespace

std::optional<std::string_view> host_in_question(std::string_view method, std::string_view target) {
  if (method != "GET" || !target.starts_with(kQuestion)) return std::nullopt;
  return target.substr(kQuestion.size());
}

std::string port_answer(std::span<const Target> targets) {
  std::set<std::uint16_t> ports;
  for (const Target& target : targets) ports.insert(target.port);
  while (ports.size() > kMostPortsOfHost) ports.erase(std::prev(ports.end()));
  const std::string body = nlohmann::json{{"ports", ports}}.dump() + "\n";
  const protocol::Headers headers{
      {"Content-Type", "application/json"}, {"Connection", "close"}, {"Content-Length", std::to_string(body.size())}};
  return protocol::serialize_head(200, headers) + body;
}

}  // namespace skiff::container::egress
