#include "runtime/api/files/bytes.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/decimal.hpp"
#include "fs/content/append.hpp"
#include "fs/content/read.hpp"
#include "fs/content/write.hpp"
#include "fs/tree/change.hpp"
#include "protocol/json/text.hpp"
#include "runtime/api/files/call.hpp"
#include "runtime/api/files/edits.hpp"
#include "runtime/api/files/transfer.hpp"

namespace skiff::runtime::api {
namespace {

// --- reading ---

struct Opened : FileToSend {
  fs::ByteRange part = {};  ///< by lines
  bool unchanged = false;
  bool is_long = false;  ///< nothing else is known: it needs more time than there is for what is over in a moment
};

struct ReadOptions {
  std::optional<fs::LineRange> lines;
  std::optional<fs::TagList> none_match;
  bool none_match_hashes = false;  ///< it has a tag that is made of the bytes
  bool with_bytes = false;
  std::uint64_t may_hash = kQuicklyHashed;
};

Result<Opened> open_for(const FileCall& file, const ReadOptions& options, const std::stop_token& stop) {
  auto opened = fs::open_to_read(*file.tree, file.path);
  if (!opened) return std::unexpected{std::move(opened.error())};
  Opened result{{.file = std::move(*opened)}};
  const fs::Entry& entry = result.file.entry;
  const int fd = result.file.fd.get();
  result.tag = fs::entity_tag(fd, entry, options.may_hash);
  if (options.may_hash == kQuicklyHashed &&
      (wants_long_hash(entry, result.tag) || (options.none_match_hashes && entry.size > kQuicklyHashed))) {
    result.is_long = true;
    return result;
  }
  if (options.none_match) {
    auto same = options.none_match->match_weakly(fd, entry);
    if (!same) return std::unexpected{std::move(same.error())};
    result.unchanged = *same;
    if (*same) return result;
  }
  result.part = {.from = 0, .to = entry.size};
  if (options.lines) {
    auto found = fs::find_lines(fd, *options.lines, entry.size, fs::kMostReadForLines, stop);
    if (!found) return std::unexpected{std::move(found.error())};
    result.part = *found;
  }
  if (options.with_bytes) result.read_if_small();
  return result;
}

// --- writing ---

Result<fs::WriteOptions> write_options(const Call& call) {
  fs::WriteOptions options;
  auto conditions = conditions_of(call);
  if (!conditions) return std::unexpected{std::move(conditions.error())};
  options.conditions = std::move(*conditions);
  if (const auto text = call.query("mode")) {
    auto mode = asked_mode(call.identity, *text, "mode");
    if (!mode) return std::unexpected{std::move(mode.error())};
    options.attributes.mode = *mode;
  }
  for (const auto& [name, value] :
       {std::pair{"uid", &options.attributes.uid}, std::pair{"gid", &options.attributes.gid}}) {
    auto number = call.query_number(name, std::numeric_limits<uid_t>::max() - 1);
    if (!number) return std::unexpected{std::move(number.error())};
    if (*number) *value = static_cast<uid_t>(**number);
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
    auto digest = fs::parse_sha256(*text);
    if (!digest) return std::unexpected{std::move(digest.error())};
    options.sha256 = *digest;
  }
  auto sync = call.query_flag("fsync");
  if (!sync) return std::unexpected{std::move(sync.error())};
  if (*sync) options.durability = fs::Durability::synced;
  return options;
}

Task<Result<fs::Written>> upload(Call& call, const FileCall& file, fs::WriteOptions options) {
  const auto& framing = call.http.request().body;
  using Kind = protocol::BodyFraming::Kind;
  if (framing.kind == Kind::none || (framing.kind == Kind::length && framing.length <= kSmallFile)) {
    auto body = co_await call.http.read_body(kSmallFile);
    if (!body) co_return std::unexpected{std::move(body.error())};
    auto work = [&] { return fs::write_file(*file.tree, file.path, *body, std::move(options)); };
    co_return co_await on_disk(call, std::move(work));
  }
  auto begin = [&] { return fs::Writer::begin(*file.tree, file.path, std::move(options)); };
  auto writer = co_await on_disk(call, std::move(begin));
  if (!writer) co_return std::unexpected{std::move(writer.error())};
  if (auto stored = co_await store_bytes(&call.agent.disk, body_of(&call.http), &*writer); !stored) {
    co_return std::unexpected{std::move(stored.error())};
  }
  auto commit = [&] { return writer->commit(); };
  co_return co_await on_disk(call, std::move(commit));
}

// --- appending ---

Task<Result<>> append_file(Call& call, const FileCall& file) {
  fs::AppendOptions options;
  auto conditions = conditions_of(call);
  if (!conditions) co_return std::unexpected{std::move(conditions.error())};
  options.conditions = std::move(*conditions);
  auto offset = call.query_number("offset", std::numeric_limits<std::uint64_t>::max());
  if (!offset) co_return std::unexpected{std::move(offset.error())};
  options.offset = *offset;
  auto begin = [&] {
    auto begun = fs::Appender::begin(*file.tree, file.path, std::move(options));
    std::optional<Error> refused;
    if (begun) {
      if (auto fits = begun->check(); !fits) refused = std::move(fits.error());
    }
    return std::pair{std::move(begun), std::move(refused)};
  };
  auto [appender, refused] = co_await on_disk(call, std::move(begin));
  if (!appender) co_return std::unexpected{std::move(appender.error())};
  const auto memory = std::make_unique_for_overwrite<char[]>(kUploadBlock);
  const std::span<char> block{memory.get(), kUploadBlock};
  const ByteSource body = body_of(&call.http);
  while (!refused) {
    auto got = co_await receive(&body, block);
    if (!got) co_return std::unexpected{std::move(got.error())};
    auto write = [&] { return appender->write(block.first(*got)); };
    if (auto wrote = co_await on_disk(call, std::move(write)); !wrote) refused = std::move(wrote.error());
    if (*got < block.size()) break;
  }
  if (!refused) {
    auto finish = [&] { return appender->finish(); };
    auto done = co_await on_disk(call, std::move(finish));
    if (done) co_return co_await answer_entry(call, done->created ? 201 : 200, file.path, done->entry, done->tag);
    refused = std::move(done.error());
  }
  if (refused->code != Errc::append_offset_mismatch) co_return std::unexpected{std::move(*refused)};
  // Where to go on from, so that an upload can be resumed without asking once more.
  const protocol::ProblemMember size{"size", static_cast<std::int64_t>(appender->size())};
  co_return co_await call.http.respond(problem_response(*refused, call.request_id, {&size, 1}));
}

}  // namespace

Task<Result<>> read_file(Call& call) {
  auto file = co_await FileCall::of(call);
  if (!file) co_return std::unexpected{std::move(file.error())};
  const auto& headers = call.http.request().headers;
  ReadOptions options;
  options.with_bytes = call.http.request().method != "HEAD";
  if (const auto text = call.query("lines")) {
    auto lines = fs::parse_lines(*text);
    if (!lines) co_return std::unexpected{std::move(lines.error())};
    options.lines = *lines;
  }
  if (const auto given = headers.find("If-None-Match")) {
    auto tags = fs::TagList::parse(*given);
    if (!tags) co_return std::unexpected{std::move(tags.error())};
    options.none_match = std::move(*tags);
    options.none_match_hashes = given->contains("\"h-");
  }
  auto open = [&](const std::stop_token& stop) { return open_for(*file, options, stop); };
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
    auto asked = asked_range(call.http, *opened);
    if (!asked) co_return std::unexpected{std::move(asked.error())};
    range = *asked;
  }
  co_return co_await send_part(&call.agent.disk, &call.http, std::move(*opened), range);
}

Task<Result<>> write_file(Call& call) {
  auto file = co_await FileCall::of(call);
  if (!file) co_return std::unexpected{std::move(file.error())};
  if (call.http.request().headers.contains("Content-Range")) {
    // RFC 9110, 14.4: it must not be taken for the whole.
    co_return fail(Errc::invalid_request,
                   "a PUT writes the whole file; for a part of it use PATCH with append and offset");
  }
  auto options = write_options(call);
  if (!options) co_return std::unexpected{std::move(options.error())};
  auto written = co_await upload(call, *file, std::move(*options));
  if (!written) co_return std::unexpected{std::move(written.error())};
  co_return co_await answer_entry(call, written->created ? 201 : 200, file->path, written->entry, written->tag);
}

Task<Result<>> change_file(Call& call) {
  auto file = co_await FileCall::of(call);
  if (!file) co_return std::unexpected{std::move(file.error())};
  auto append = call.query_flag("append");
  if (!append) co_return std::unexpected{std::move(append.error())};
  if (*append) co_return co_await append_file(call, *file);
  if (call.query("offset")) co_return fail(Errc::invalid_field, "offset goes with append=true", "offset");
  co_return co_await edit_file(call, *file);
}

Task<Result<>> delete_file(Call& call) {
  auto file = co_await FileCall::of(call);
  if (!file) co_return std::unexpected{std::move(file.error())};
  auto conditions = conditions_of(call);
  if (!conditions) co_return std::unexpected{std::move(conditions.error())};
  auto recursive = call.query_flag("recursive");
  if (!recursive) co_return std::unexpected{std::move(recursive.error())};
  auto work = [&](const std::stop_token& stop) {
    const auto contents = *recursive ? fs::Contents::remove : fs::Contents::refuse;
    return fs::remove(*file->tree, file->path, contents, *conditions, stop);
  };
  if (auto removed = co_await on_disk(call, std::move(work)); !removed) {
    co_return std::unexpected{std::move(removed.error())};
  }
  co_return co_await call.no_content();
}

}  // namespace skiff::runtime::api
