#include "runtime/mcp/tools/resources.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/id.hpp"
#include "fs/content/read.hpp"
#include "fs/tree/list.hpp"
#include "protocol/http/target.hpp"
#include "protocol/json/base64.hpp"
#include "protocol/json/text.hpp"
#include "protocol/json/utf8.hpp"
#include "runtime/api/files/entries.hpp"
#include "runtime/mcp/tools/tools.hpp"
#include "runtime/reader/log_part.hpp"

namespace skiff::runtime::mcp {
namespace {

constexpr std::string_view kScheme = "skiff://";
/// The longest URI: a path of 4095 bytes, all of them encoded.
constexpr std::size_t kLongestUri = 3 * 4096 + 256;
constexpr std::size_t kListedLogs = 50;
constexpr std::size_t kListedFiles = 200;
/// The most bytes of a file or log that is read as a resource. read_file and read_output read larger ones piece by
/// piece.
constexpr std::uint64_t kMostBytes = std::uint64_t{512} << 10U;

void append_resource(std::string& out, const ResourceName& resource, std::string_view shown, std::string_view about,
                     std::optional<std::uint64_t> size) {
  if (out.back() != '[') out += ',';
  out += '{';
  protocol::append_json_text(out, "uri", resource.uri());
  protocol::append_json_text(out, "name", shown);
  protocol::append_json_text(out, "description", about);
  if (size) protocol::append_json_number(out, "size", *size);
  out += '}';
}

std::string contents_of(std::string_view uri, std::string_view bytes) {
  const bool is_text = protocol::is_valid_utf8(bytes);
  std::string text{R"({"contents":[{)"};
  protocol::append_json_text(text, "uri", uri);
  protocol::append_json_text(text, "mimeType", is_text ? "text/plain" : "application/octet-stream");
  protocol::append_json_text(text, is_text ? "text" : "blob",
                             is_text ? std::string{bytes} : protocol::encode_base64(bytes));
  return text + "}]}";
}

Result<std::string> read_whole(const fs::Tree& tree, const std::string& path) {
  SKIFF_TRY(auto opened, fs::open_to_read(tree, path));
  if (opened.entry.size > kMostBytes) {
    return fail(Errc::payload_too_large,
                "the file has " + std::to_string(opened.entry.size) +
                    " bytes, more than the 512 KiB of a resource: read_file reads parts of it");
  }
  std::string bytes(opened.entry.size, '\0');
  SKIFF_TRY(auto got, fs::read_at(opened.fd.get(), 0, bytes));
  bytes.resize(got);
  return bytes;
}

/// The newest output that a log keeps, both streams in the order in which they came.
Task<std::string> newest_output(std::shared_ptr<sessions::OutputLog> log) {
  const std::uint64_t end = log->next_offset();
  std::string bytes;
  std::function<void(sessions::LogItem)> take = [&bytes](const sessions::LogItem& item) { bytes += item.bytes.view(); };
  (void)co_await read_part(std::move(log), end - std::min(end, kMostBytes), std::move(take));
  co_return bytes;
}

}  // namespace

RpcError rpc_error(const Request& request, const Error& error) {
  RpcCode code = RpcCode::invalid_params;
  const bool is_missing = error.code == Errc::path_not_found || error.code == Errc::command_not_found ||
                          error.code == Errc::session_not_found || error.code == Errc::command_forgotten;
  if (is_missing && !request.is_stateless()) code = RpcCode::resource_not_found;
  if (error.code == Errc::invalid_request) code = RpcCode::invalid_request;
  if (error.code == Errc::resource_exhausted || error.code == Errc::draining || error.code == Errc::io_error) {
    code = RpcCode::internal_error;
  }
  std::string data{'{'};
  if (const std::string uri = request.message.text("uri"); !uri.empty()) protocol::append_json_text(data, "uri", uri);
  protocol::append_json_text(data, "code", name(error.code));
  return {code, advice_text(error), data + '}'};
}

Result<ResourceName> ResourceName::parse(std::string_view uri) {
  const auto refuse = [] {
    return fail(Errc::invalid_field, "a URI is skiff://SESSION/files/PATH or skiff://SESSION/logs/COMMAND", "uri");
  };
  if (!uri.starts_with(kScheme) || uri.size() > kLongestUri) return refuse();
  uri.remove_prefix(kScheme.size());
  const std::size_t slash = uri.find('/');
  if (slash == std::string_view::npos || !is_valid_id(uri.substr(0, slash))) return refuse();
  ResourceName resource{.session = std::string{uri.substr(0, slash)}, .rest = {}};
  uri.remove_prefix(slash + 1);
  const bool is_log = uri.starts_with("logs/");
  if (!is_log && !uri.starts_with("files/")) return refuse();
  auto rest = protocol::percent_decode(uri.substr(is_log ? 5 : 6));
  if (!rest || rest->empty() || !protocol::is_valid_utf8(*rest) || (is_log && !is_valid_id(*rest))) return refuse();
  resource.kind = is_log ? Kind::log : Kind::file;
  resource.rest = std::move(*rest);
  return resource;
}

std::string ResourceName::uri() const {
  std::string text{kScheme};
  text += session + (kind == Kind::log ? "/logs/" : "/files/");
  for (std::string_view path = rest;;) {
    const std::size_t slash = path.find('/');
    text += protocol::percent_encode(path.substr(0, slash));
    if (slash == std::string_view::npos) return text;
    text += '/';
    path.remove_prefix(slash + 1);
  }
}

Task<RpcResult<std::string>> list_resources(std::shared_ptr<Request> request) {
  SKIFF_CO_TRY(const auto after, request->message.cursor());
  auto session = request->session(std::nullopt);
  if (!session) co_return std::unexpected{rpc_error(*request, session.error())};
  auto tree = co_await (*session)->tree();
  if (!tree) co_return std::unexpected{rpc_error(*request, tree.error())};
  fs::ListOptions options{.limit = kListedFiles, .tags = false};
  if (!after.empty()) {
    auto cursor = api::list_cursor(after);
    if (!cursor) co_return std::unexpected{rpc_error(*request, cursor.error())};
    options.cursor = std::move(*cursor);
  }
  std::string text{R"({"resources":[)"};
  const std::string& id = (*session)->id();
  if (after.empty()) {
    const auto commands = (*session)->commands();
    for (std::size_t i = commands.size() - std::min(commands.size(), kListedLogs); i < commands.size(); ++i) {
      const std::string about = "What command " + commands[i]->id() + " has printed";
      append_resource(text, {ResourceName::Kind::log, id, commands[i]->id()}, commands[i]->id() + ".log", about,
                      commands[i]->log()->next_offset());
    }
  }
  auto list = [&] { return fs::list(**tree, "", options); };
  auto page = co_await request->agent.pools.disk.run(std::move(list));
  if (!page) co_return std::unexpected{rpc_error(*request, page.error())};
  std::size_t left_out = 0;
  for (const fs::Listed& one : page->entries) {
    if (one.entry.type != fs::EntryType::file) continue;
    if (!protocol::is_valid_utf8(one.path)) {
      ++left_out;  // no URI that clients accept can name it
      continue;
    }
    append_resource(text, {ResourceName::Kind::file, id, one.path}, one.path, "A file", one.entry.size);
  }
  text += ']';
  if (!page->next_cursor.empty()) {
    protocol::append_json_text(text, "nextCursor", protocol::encode_base64url(page->next_cursor));
  }
  if (left_out > 0) text += R"(,"_meta":{"skiff/left_out":)" + std::to_string(left_out) + '}';
  co_return text + '}';
}

Task<RpcResult<std::string>> list_resource_templates(std::shared_ptr<Request> request) {
  SKIFF_CO_TRY_VOID(sole_page(request->message));
  co_return R"({"resourceTemplates":[{"uriTemplate":"skiff://{session}/files/{+path}","name":"file",)"
            R"("description":"A file below a session's root; the usual session is default"},)"
            R"({"uriTemplate":"skiff://{session}/logs/{command}","name":"log","mimeType":"text/plain",)"
            R"("description":"What a command has printed, the newest 512 KiB"}]})";
}

Task<RpcResult<std::string>> read_resource(std::shared_ptr<Request> request) {
  const std::string uri = request->message.text("uri");
  auto resource = ResourceName::parse(uri);
  if (!resource) co_return std::unexpected{rpc_error(*request, resource.error())};
  auto session = request->session(resource->session);
  if (!session) co_return std::unexpected{rpc_error(*request, session.error())};
  if (resource->kind == ResourceName::Kind::log) {
    auto command = (*session)->find(resource->rest);
    if (!command) co_return std::unexpected{rpc_error(*request, command.error())};
    const std::string bytes = co_await newest_output((*command)->log());
    co_return contents_of(uri, protocol::to_valid_utf8(bytes));
  }
  auto tree = co_await (*session)->tree();
  if (!tree) co_return std::unexpected{rpc_error(*request, tree.error())};
  auto read = [&] { return read_whole(**tree, resource->rest); };
  auto bytes = co_await request->agent.pools.disk.run(std::move(read));
  if (!bytes) co_return std::unexpected{rpc_error(*request, bytes.error())};
  co_return contents_of(uri, *bytes);
}

}  // namespace skiff::runtime::mcp
