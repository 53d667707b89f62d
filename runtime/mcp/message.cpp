#include "runtime/mcp/message.hpp"

#include "protocol/json/text.hpp"
#include "protocol/json/utf8.hpp"

namespace skiff::runtime::mcp {
namespace {

constexpr std::size_t kLongestId = 256;

std::unexpected<RpcError> not_a_message(std::string why) {
  return std::unexpected{RpcError{RpcCode::invalid_request, "this is not a JSON-RPC 2.0 message: " + std::move(why)}};
}

}  // namespace

std::string Message::text(const char* name) const {
  const auto found = params.find(name);
  return found != params.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

nlohmann::json Message::meta(const char* name) const {
  const auto all = params.find("_meta");
  if (all == params.end() || !all->is_object()) return {};
  const auto found = all->find(name);
  return found == all->end() ? nlohmann::json{} : *found;
}

RpcResult<std::string> Message::cursor() const {
  const auto found = params.find("cursor");
  if (found == params.end() || found->is_null()) return {};
  if (found->is_string()) return found->get<std::string>();
  return std::unexpected{RpcError{RpcCode::invalid_params, "params.cursor must be the nextCursor of a page"}};
}

RpcResult<std::string> Message::progress_token() const {
  const nlohmann::json token = meta("progressToken");
  if (token.is_null()) return {};
  std::string text = token.is_string() || token.is_number_integer() ? json_of(token) : std::string{};
  if (!text.empty() && text.size() <= kLongestId) return text;
  return std::unexpected{
      RpcError{RpcCode::invalid_params, "_meta.progressToken must be a string of at most 256 bytes or an integer"}};
}

RpcResult<Message> read_message(const nlohmann::json& value, std::string& id) {
  id.clear();
  if (!value.is_object()) return not_a_message("it must be an object");
  Message message;
  const auto method = value.find("method");
  // A client that could not read an id answers with a null one (JSON-RPC 2.0, section 5).
  const bool is_failure = method == value.end() && value.contains("error");
  if (const auto given = value.find("id"); given != value.end() && !(is_failure && given->is_null())) {
    if (!given->is_string() && !given->is_number_integer()) return not_a_message("id must be a string or an integer");
    message.id = json_of(*given);
    if (message.id.size() > kLongestId) return not_a_message("id is longer than 256 bytes");
    id = message.id;
  }
  const auto version = value.find("jsonrpc");
  if (version == value.end() || *version != "2.0") return not_a_message("jsonrpc must be \"2.0\"");
  if (method == value.end()) {
    if (!value.contains("result") && !value.contains("error")) return not_a_message("method is missing");
    message.kind = Message::Kind::response;
    return message;
  }
  if (!method->is_string()) return not_a_message("method must be a string");
  message.method = method->get<std::string>();
  if (message.id.empty()) message.kind = Message::Kind::notification;
  if (const auto params = value.find("params"); params != value.end() && !params->is_null()) {
    if (!params->is_object()) return not_a_message("params must be an object");
    message.params = *params;
  }
  return message;
}

std::string result_message(std::string_view id, std::string_view result) {
  std::string text{R"({"jsonrpc":"2.0","id":)"};
  text.reserve(id.size() + result.size() + 40);
  text.append(id.empty() ? "null" : id).append(R"(,"result":)").append(result) += '}';
  return text;
}

std::string error_message(std::string_view id, const RpcError& error) {
  std::string text{R"({"jsonrpc":"2.0","id":)"};
  text.append(id.empty() ? "null" : id).append(R"(,"error":{)");
  protocol::append_json_key(text, "code");
  protocol::append_json_integer(text, static_cast<std::int64_t>(error.code));
  protocol::append_json_text(text, "message", error.message);
  if (!error.data.empty()) {
    protocol::append_json_key(text, "data");
    text += error.data;
  }
  return text + "}}";
}

std::string notification_message(std::string_view method, std::string_view params) {
  std::string text{R"({"jsonrpc":"2.0")"};
  protocol::append_json_text(text, "method", method);
  protocol::append_json_key(text, "params");
  text.append(params) += '}';
  return text;
}

std::string json_of(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace skiff::runtime::mcp
