#include "runtime/dialects/e2b/files/files.hpp"

#include <set>
#include <utility>

#include "fs/content/read.hpp"
#include "fs/content/write.hpp"
#include "protocol/http/multipart/body.hpp"
#include "protocol/http/target.hpp"
#include "protocol/json/text.hpp"
#include "runtime/api/files/transfer.hpp"
#include "runtime/api/long_work.hpp"
#include "runtime/dialects/e2b/files/entry_info.hpp"
#include "runtime/dialects/e2b/files/gunzip.hpp"
#include "runtime/dialects/e2b/files/user_context.hpp"

namespace skiff::runtime::dialects::e2b {
namespace {

constexpr std::string_view kPart = "file";

/// Checks the token or the signature, and returns the context of the user.
Task<Result<UserContext>> enter(Call* call, std::string_view operation) {
  const auto& head = call->request.http.request();
  SKIFF_CO_TRY(const bool is_known, call->state.access.check_file(head, operation));
  SKIFF_CO_TRY_VOID(call->request.http.mark_authenticated());
  call->request.caller.identity.anonymous = !is_known;
  std::string user{head.target.parameter("username").value_or("")};
  // The signature covers the user's name. A client that has only the link names no user.
  if (user.empty() && !call->state.access.is_signed(head)) {
    SKIFF_CO_TRY(user, basic_user(head.headers));
  }
  co_return co_await find_user(call, std::move(user));
}

/// The Content-Disposition (RFC 6266). A name that is not plain is encoded by RFC 8187.
std::string disposition(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const std::string encoded = protocol::percent_encode(name);
  if (encoded == name) return "inline; filename=\"" + encoded + '"';
  return "inline; filename*=utf-8''" + encoded;
}

/// A file during its upload.
struct Upload {
  std::string path;  ///< absolute
  std::optional<fs::DirectoryToFill> made;
  fs::Writer writer;
  fs::Rights rights;
};
Task<Result<Upload>> begin_upload(Call* call, const UserContext* context, const Metadata* metadata, std::string given) {
  if (given.empty()) co_return fail(Errc::missing_field, "path: this parameter is needed", "path");
  SKIFF_CO_TRY(auto path, context->resolve(given));
  auto begin = [&](const fs::Tree& in, fs::Rights rights) -> Result<Upload> {
    if (const auto there = fs::look_at(in, path, fs::Links::follow);
        there && there->entry.type == fs::EntryType::directory) {
      return fail(Errc::is_a_directory, '"' + path + "\" is a directory");
    }
    SKIFF_TRY(auto made, context->create_directories(in, path.substr(0, path.rfind('/'))));
    fs::WriteOptions options{.attributes = context->owner()};
    options.attributes.not_kept = kMetadataAttribute;
    SKIFF_TRY(auto writer, fs::Writer::begin(in, path, std::move(options)));
    SKIFF_TRY_VOID(set_metadata(writer.fd(), *metadata));
    return Upload{.path = path, .made = std::move(made), .writer = std::move(writer), .rights = rights};
  };
  auto work = [&] { return context->change(path, begin); };
  auto upload = co_await call->agent().pools.disk.run(std::move(work));
  if (!upload) upload.error() = context->explain(std::move(upload.error()), path);
  co_return upload;
}

Task<Result<>> commit(Call* call, const UserContext* context, Upload* upload) {
  auto finish = [&] { return upload->writer.commit(); };
  auto work = [&] { return fs::go_on_for(context->asker, upload->rights, upload->path, finish); };
  SKIFF_CO_TRY_VOID(co_await call->agent().pools.disk.run(std::move(work)));
  co_return Result<>{};
}

void append_uploaded(std::string& out, const std::string& path, const Metadata& metadata) {
  if (out.ends_with('}')) out += ',';
  out += '{';
  protocol::append_json_text(out, "path", path);
  protocol::append_json_text(out, "name", path.substr(path.rfind('/') + 1));
  protocol::append_json_text(out, "type", "file");
  if (!metadata.empty()) {
    protocol::append_json_key(out, "metadata");
    append_metadata(out, metadata);
  }
  out += '}';
}

/// Stores the parts `file`, one complete file after the other. Returns JSON that lists them.
Task<Result<std::string>> take_parts(Call* call, const UserContext* context, const Metadata* metadata,
                                     std::string boundary) {
  auto& http = call->request.http;
  const auto path = http.request().target.parameter("path");
  protocol::MultipartBody body{http, boundary};
  std::string taken{'['};
  std::set<std::string> paths;
  for (;;) {
    SKIFF_CO_TRY(const bool more, co_await body.next_part());
    if (!more) break;
    if (body.head().name != kPart) continue;
    if (path && taken.size() > 1) co_return fail(Errc::invalid_request, "a path in the query is for one file", "path");
    std::string name = path ? std::string{*path} : body.head().filename.value_or("");
    SKIFF_CO_TRY(auto upload, co_await begin_upload(call, context, metadata, std::move(name)));
    if (!paths.insert(upload.path).second) {
      co_return fail(Errc::invalid_request, '"' + upload.path + "\" is in the form twice: the first one was stored",
                     "file");
    }
    api::ByteSource source = [&body](std::span<char> into) { return body.read_some(into); };
    SKIFF_CO_TRY_VOID(co_await api::store_bytes(&call->agent().pools.disk, std::move(source), &upload.writer));
    SKIFF_CO_TRY_VOID(co_await commit(call, context, &upload));
    append_uploaded(taken, upload.path, *metadata);
  }
  if (taken.size() == 1) co_return fail(Errc::invalid_request, "the form has no part \"file\"");
  co_return taken + ']';
}

Task<Result<std::string>> take_octets(Call* call, const UserContext* context, const Metadata* metadata, bool is_gzip) {
  auto& http = call->request.http;
  std::string path{http.request().target.parameter("path").value_or("")};
  SKIFF_CO_TRY(auto upload, co_await begin_upload(call, context, metadata, std::move(path)));
  Result<> stored;
  if (is_gzip) {
    stored = co_await store_gunzipped(&call->agent(), &http, &upload.writer);
  } else {
    stored = co_await api::store_bytes(&call->agent().pools.disk, api::body_of(&http), &upload.writer);
  }
  if (!stored) co_return std::unexpected{std::move(stored.error())};
  SKIFF_CO_TRY_VOID(co_await commit(call, context, &upload));
  std::string taken{'['};
  append_uploaded(taken, upload.path, *metadata);
  co_return taken + ']';
}

}  // namespace

Task<Result<>> send_file(Call* call) {
  auto& http = call->request.http;
  SKIFF_CO_TRY(auto context, co_await enter(call, "read"));
  const auto given = http.request().target.parameter("path");
  if (!given) co_return fail(Errc::missing_field, "path: this parameter is needed", "path");
  SKIFF_CO_TRY(auto path, context.resolve(*given));
  const bool with_bytes = http.request().method != "HEAD";
  auto open = [&]() -> Result<api::FileToSend> {
    auto opened = fs::open_to_read(*context.tree, path);
    if (!opened) return std::unexpected{context.explain(std::move(opened.error()), path)};
    api::FileToSend file{.file = std::move(*opened)};
    file.tag = fs::entity_tag(file.file.fd.get(), file.file.entry, api::kQuicklyHashed);
    if (with_bytes) file.read_if_small();
    return file;
  };
  SKIFF_CO_TRY(auto file, co_await call->agent().pools.disk.run(std::move(open)));
  http.extra_headers().set("Content-Disposition", disposition(path));
  SKIFF_CO_TRY(const auto range, api::asked_range(http, file));
  co_return co_await api::send_part(&call->agent().pools.disk, &http, std::move(file), range);
}

Task<Result<>> take_files(Call* call) {
  auto& http = call->request.http;
  SKIFF_CO_TRY(auto context, co_await enter(call, "write"));
  const auto& headers = http.request().headers;
  SKIFF_CO_TRY(auto metadata, asked_metadata(headers));
  SKIFF_CO_TRY(auto boundary, protocol::multipart_boundary(headers.get("Content-Type")));
  const std::string_view coding = headers.get("Content-Encoding");
  const bool is_gzip = protocol::same_text(coding, "gzip");
  if (!coding.empty() && !protocol::same_text(coding, "identity") && (!is_gzip || boundary)) {
    co_return fail(Errc::unsupported_media_type, "Content-Encoding: gzip is known, for octets", "Content-Encoding");
  }
  std::string answer;
  if (boundary) {
    SKIFF_CO_TRY(answer, co_await take_parts(call, &context, &metadata, std::move(*boundary)));
  } else {
    SKIFF_CO_TRY(answer, co_await take_octets(call, &context, &metadata, is_gzip));
  }
  co_return co_await http.respond({200, {{"Content-Type", "application/json"}}, std::move(answer)});
}

}  // namespace skiff::runtime::dialects::e2b
