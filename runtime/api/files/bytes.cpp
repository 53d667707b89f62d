#include "runtime/api/files/bytes.hpp"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/bytes/decimal.hpp"
#include "fs/content/append.hpp"
#include "fs/content/read.hpp"
#include "fs/content/write.hpp"
#include "fs/path/change_for.hpp"
#include "fs/tree/change.hpp"
#include "protocol/json/text.hpp"
#include "runtime/api/files/call.hpp"
#include "runtime/api/files/conditions.hpp"
#include "runtime/api/files/edits.hpp"
#include "runtime/api/files/transfer.hpp"
#include "runtime/api/long_work.hpp"
#include "sessions/spawn/users.hpp"

namespace skiff::runtime::api {
namespace {

// --- reading ---

struct Opened : FileToSend {
  fs::ByteRange part = {};  ///< bytes of the requested lines
  bool unchanged = false;
  bool is_long = false;  ///< the file needs long work, and the other members are not set
};

struct ReadOptions {
  std::optional<fs::LineRange> lines;
  std::optional<fs::TagList> none_match;
  bool none_match_hashes = false;  ///< If-None-Match has a tag that hashes the content
  bool with_bytes = false;
  std::uint64_t may_hash = kQuicklyHashed;
};

Result<Opened> open_for(const FileCall& file, const ReadOptions& options, const std::stop_token& stop) {
  SKIFF_TRY(auto opened, fs::open_to_read(*file.tree, file.path));
  Opened result{{.file = std::move(opened)}};
  const fs::Entry& entry = result.file.entry;
  const int fd = result.file.fd.get();
  result.tag = fs::entity_tag(fd, entry, options.may_hash, stop);
  if (options.may_hash == kQuicklyHashed &&
      (wants_long_hash(entry, result.tag) || (options.none_match_hashes && entry.size > kQuicklyHashed))) {
    result.is_long = true;
    return result;
  }
  if (options.none_match) {
    SKIFF_TRY(auto same, options.none_match->match_weakly(fd, entry, stop));
    result.unchanged = same;
    if (same) return result;
  }
  result.part = {.from = 0, .to = entry.size};
  if (options.lines) {
    SKIFF_TRY(result.part, fs::find_lines(fd, *options.lines, entry.size, fs::kMostReadForLines, stop));
  }
  if (options.with_bytes) result.read_if_small();
  return result;
}

// --- writing ---

Result<fs::WriteOptions> write_options(const Call& call) {
  fs::WriteOptions options;
  SKIFF_TRY(options.conditions, conditions_of(call));
  if (const auto text = call.query("mode")) {
    SKIFF_TRY(options.attributes.mode, asked_mode(call.identity, *text, "mode"));
  }
  for (const auto& [name, value] :
       {std::pair{"uid", &options.attributes.uid}, std::pair{"gid", &options.attributes.gid}}) {
    SKIFF_TRY(auto number, call.query_number(name, std::numeric_limits<uid_t>::max() - 1));
    if (number) *value = static_cast<uid_t>(*number);
  }
  if (const auto text = call.query("mtime")) {
    const auto nanoseconds = parse_decimal(*text, 9);
    if (!nanoseconds) {
      return fail(Errc::invalid_field, "mtime is in seconds since 1970 with up to nine decimals, as 1700000000.25",
                  "mtime");
    }
    options.attributes.modified = fs::FileTime{std::chrono::nanoseconds{*nanoseconds}};
  }
  if (const auto text = call.query("sha256")) {
    SKIFF_TRY(options.sha256, fs::parse_sha256(*text));
  }
  SKIFF_TRY(auto sync, call.query_flag("fsync"));
  if (sync) options.durability = fs::Durability::synced;
  return options;
}

/// The user that a written file is for; empty for the agent's own user.
Result<std::optional<fs::Asker>> asker_of(const fs::Attributes& asked) {
  if (!asked.uid && !asked.gid) return std::nullopt;
  const uid_t uid = asked.uid.value_or(::geteuid());
  if (uid == ::geteuid() && asked.gid.value_or(::getegid()) == ::getegid()) return std::nullopt;
  const std::string group = asked.gid ? ':' + std::to_string(*asked.gid) : std::string{};
  SKIFF_TRY(auto found, sessions::look_up_user(std::to_string(uid) + group));
  // Use the uid that was requested: a user's name may be a number.
  return fs::Asker{.uid = uid, .gid = asked.gid.value_or(found.gid), .groups = std::move(found.groups)};
}

struct Begun {
  fs::Writer writer;
  std::optional<fs::Asker> asker;
  fs::Rights rights;
};

Task<Result<fs::Written>> upload(Call& call, const FileCall& file, fs::WriteOptions options) {
  const auto& framing = call.http.request().body;
  using Kind = protocol::BodyFraming::Kind;
  if (framing.kind == Kind::none || (framing.kind == Kind::length && framing.length <= kSmallFile)) {
    SKIFF_CO_TRY(auto body, co_await call.http.read_body(kSmallFile));
    auto work = [&](const std::stop_token& stop) -> Result<fs::Written> {
      SKIFF_TRY(const auto asker, asker_of(options.attributes));
      return fs::change_for(asker, *file.tree, file.path, [&](const fs::Tree& in, fs::Rights) {
        return fs::write_file(in, file.path, body, options, stop);
      });
    };
    co_return co_await on_disk(call, std::move(work));
  }
  auto begin = [&](const std::stop_token& stop) -> Result<Begun> {
    SKIFF_TRY(auto asker, asker_of(options.attributes));
    return fs::change_for(asker, *file.tree, file.path, [&](const fs::Tree& in, fs::Rights rights) -> Result<Begun> {
      SKIFF_TRY(auto writer, fs::Writer::begin(in, file.path, options, stop));
      return Begun{.writer = std::move(writer), .asker = asker, .rights = rights};
    });
  };
  SKIFF_CO_TRY(auto begun, co_await on_disk(call, std::move(begin)));
  SKIFF_CO_TRY_VOID(co_await store_bytes(&call.agent.pools.disk, body_of(&call.http), &begun.writer));
  auto commit = [&](const std::stop_token& stop) {
    return fs::go_on_for(begun.asker, begun.rights, file.path, [&] { return begun.writer.commit(stop); });
  };
  co_return co_await on_disk(call, std::move(commit));
}

// --- appending ---

Task<Result<>> append_file(Call& call, const FileCall& file) {
  fs::AppendOptions options;
  SKIFF_CO_TRY(options.conditions, conditions_of(call));
  SKIFF_CO_TRY(options.offset, call.query_number("offset", std::numeric_limits<std::uint64_t>::max()));
  std::optional<Error> refused;
  auto begin = [&](const std::stop_token& stop) {
    auto begun = fs::Appender::begin(*file.tree, file.path, std::move(options), stop);
    if (begun) {
      if (auto fits = begun->check(); !fits) refused = std::move(fits.error());
    }
    return begun;
  };
  SKIFF_CO_TRY(auto appender, co_await on_disk(call, std::move(begin)));
  const auto memory = std::make_unique_for_overwrite<char[]>(kUploadBlock);
  const std::span<char> block{memory.get(), kUploadBlock};
  const ByteSource body = body_of(&call.http);
  while (!refused) {
    SKIFF_CO_TRY(auto got, co_await api::receive(&body, block));
    auto write = [&] { return appender.write(block.first(got)); };
    if (auto wrote = co_await on_disk(call, std::move(write)); !wrote) refused = std::move(wrote.error());
    if (got < block.size()) break;
  }
  if (!refused) {
    auto finish = [&] { return appender.finish(); };
    auto done = co_await on_disk(call, std::move(finish));
    if (done) co_return co_await answer_entry(call, done->created ? 201 : 200, file.path, done->entry, done->tag);
    refused = std::move(done.error());
  }
  if (refused->code != Errc::append_offset_mismatch) co_return std::unexpected{std::move(*refused)};
  // Return the size, so that the client can resume its upload without another request.
  const protocol::ProblemMember size{"size", static_cast<std::int64_t>(appender.size())};
  co_return co_await call.http.respond(problem_response(*refused, call.request_id, {&size, 1}));
}

}  // namespace

Task<Result<>> read_file(Call& call) {
  SKIFF_CO_TRY(auto file, co_await FileCall::of(call));
  const auto& headers = call.http.request().headers;
  ReadOptions options;
  options.with_bytes = call.http.request().method != "HEAD";
  if (const auto text = call.query("lines")) {
    SKIFF_CO_TRY(options.lines, fs::parse_lines(*text));
  }
  if (const auto given = headers.find("If-None-Match")) {
    SKIFF_CO_TRY(options.none_match, fs::TagList::parse(*given));
    options.none_match_hashes = given->contains("\"h-");
  }
  auto open = [&](const std::stop_token& stop) { return open_for(file, options, stop); };
  auto opened = co_await on_disk(call, open);
  if (opened && opened->is_long) {
    options.may_hash = fs::kMostHashedForTag;
    opened = co_await on_long(call, std::move(open));
  }
  if (!opened) co_return std::unexpected{std::move(opened.error())};
  if (opened->unchanged) {
    protocol::HttpResponse response{304, {}};
    if (opened->tag) response.headers.set("ETag", *opened->tag);
    co_return co_await call.http.respond(std::move(response));
  }
  AskedRange range{.kind = AskedRange::Kind::whole, .from = opened->part.from, .to = opened->part.to};
  if (!options.lines) {
    SKIFF_CO_TRY(range, asked_range(call.http, *opened));
  }
  co_return co_await send_part(&call.agent.pools.disk, &call.http, std::move(*opened), range);
}

Task<Result<>> write_file(Call& call) {
  SKIFF_CO_TRY(auto file, co_await FileCall::of(call));
  if (call.http.request().headers.contains("Content-Range")) {
    // RFC 9110, 14.4: a part must not be stored as the whole.
    co_return fail(Errc::invalid_request,
                   "a PUT writes the whole file; for a part of it use PATCH with append and offset");
  }
  SKIFF_CO_TRY(auto options, write_options(call));
  SKIFF_CO_TRY(auto written, co_await upload(call, file, std::move(options)));
  co_return co_await answer_entry(call, written.created ? 201 : 200, file.path, written.entry, written.tag);
}

Task<Result<>> change_file(Call& call) {
  SKIFF_CO_TRY(auto file, co_await FileCall::of(call));
  SKIFF_CO_TRY(auto append, call.query_flag("append"));
  if (append) co_return co_await append_file(call, file);
  if (call.query("offset")) co_return fail(Errc::invalid_field, "offset goes with append=true", "offset");
  co_return co_await edit_file(call, file);
}

Task<Result<>> delete_file(Call& call) {
  SKIFF_CO_TRY(auto file, co_await FileCall::of(call));
  SKIFF_CO_TRY(auto conditions, conditions_of(call));
  SKIFF_CO_TRY(auto recursive, call.query_flag("recursive"));
  auto work = [&](const std::stop_token& stop) {
    const auto contents = recursive ? fs::Contents::remove : fs::Contents::refuse;
    return fs::remove(*file.tree, file.path, contents, conditions, stop);
  };
  SKIFF_CO_TRY_VOID(co_await on_disk(call, std::move(work)));
  co_return co_await call.no_content();
}

}  // namespace skiff::runtime::api
