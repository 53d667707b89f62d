#include "runtime/mcp/methods.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "protocol/json/text.hpp"
#include "runtime/mcp/tools/resources.hpp"
#include "runtime/mcp/tools/tools.hpp"
#include "runtime/version.hpp"

namespace skiff::runtime::mcp {
namespace {

constexpr std::string_view kInstructions =
    "run_command runs shell lines on a Linux machine and returns when they have ended; a long one "
    "continues, and wait_for and read_output follow it. Relative paths start at the session's root, the directory "
    "in which commands start. Prefer edit_file to rewriting a file, and search_files to grep. An error says what to do "
    "next.";

constexpr std::string_view kCapabilities = R"({"resources":{"subscribe":true},"tools":{}})";

std::string server_info() {
  std::string text{'{'};
  protocol::append_json_text(text, "name", "skiffd");
  protocol::append_json_text(text, "title", "skiff sandbox");
  protocol::append_json_text(text, "version", kVersion);
  return text + '}';
}

using Answering = Task<RpcResult<std::string>> (*)(std::shared_ptr<Request> request);

Task<RpcResult<std::string>> ping(std::shared_ptr<Request>) {
  co_return "{}";
}

Task<RpcResult<std::string>> discover(std::shared_ptr<Request>) {
  std::string text{R"({"supportedVersions":)"};
  (text += revision_list()) += R"(,"capabilities":)";
  text += kCapabilities;
  protocol::append_json_text(text, "instructions", kInstructions);
  co_return text + '}';
}

enum class Era : std::uint8_t { any, handshake, stateless };

struct Method {
  std::string_view name;
  Answering run;
  Era era = Era::any;
  bool cacheable = false;  ///< CacheableResult of 2026-07-28
};
constexpr std::array kMethods{
    Method{"ping", ping, Era::handshake},
    Method{"server/discover", discover, Era::stateless, true},
    Method{"tools/list", list_tools, Era::any, true},
    Method{"tools/call", call_tool},
    Method{"resources/list", list_resources, Era::any, true},
    Method{"resources/templates/list", list_resource_templates, Era::any, true},
    Method{"resources/read", read_resource, Era::any, true},
    Method{"resources/subscribe", subscribe, Era::handshake},
    Method{"resources/unsubscribe", unsubscribe, Era::handshake},
    Method{"subscriptions/listen", listen_to_subscriptions, Era::stateless},
};

const Method* find_method(const Request& request) {
  const auto found = std::ranges::find_if(kMethods, [&](const Method& one) {
    return one.name == request.message.method &&
           (one.era == Era::any || (one.era == Era::stateless) == request.is_stateless());
  });
  return found == kMethods.end() ? nullptr : &*found;
}

/// Adds what a result has from 2026-07-28 on: its type, the server, and how long it holds.
std::string completed(const Method& method, const std::string& result) {
  constexpr std::string_view kOwnMeta = R"({"_meta":{)";
  std::string text{R"({"resultType":"complete",)"};
  if (method.cacheable) text += R"("ttlMs":0,"cacheScope":"private",)";
  text += R"("_meta":{"io.modelcontextprotocol/serverInfo":)" + server_info();
  if (result.starts_with(kOwnMeta)) return (text += ',').append(result, kOwnMeta.size());
  text += result == "{}" ? "}" : "},";
  return text.append(result, 1);
}

}  // namespace

RpcResult<void> check_method(const Request& request) {
  if (find_method(request) != nullptr) return {};
  return std::unexpected{RpcError{RpcCode::method_not_found, "this server has no method \"" + request.message.method +
                                                                 "\" in revision " +
                                                                 std::string{name(request.revision)}}};
}

Task<std::string> answer(std::shared_ptr<Request> request) {
  const std::string& id = request->message.id;
  if (auto known = check_method(*request); !known) co_return error_message(id, known.error());
  if (auto token = request->message.progress_token(); !token) co_return error_message(id, token.error());
  const Method& method = *find_method(*request);
  auto result = co_await method.run(request);
  if (!result) co_return error_message(id, result.error());
  co_return result_message(id, request->is_stateless() ? completed(method, *result) : *result);
}

std::string initialize_result(Revision revision) {
  std::string text{'{'};
  protocol::append_json_text(text, "protocolVersion", name(revision));
  (text += R"(,"capabilities":)") += kCapabilities;
  (text += R"(,"serverInfo":)") += server_info();
  protocol::append_json_text(text, "instructions", kInstructions);
  return text + '}';
}

}  // namespace skiff::runtime::mcp
