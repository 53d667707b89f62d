#include "runtime/api/files/call.hpp"

#include <sys/stat.h>

#include <charconv>

#include "base/async/beside.hpp"
#include "base/async/timer.hpp"
#include "runtime/api/events.hpp"
#include "runtime/api/files/entry_text.hpp"

namespace skiff::runtime::api {

Task<Result<FileCall>> FileCall::of(const Call& call) {
  SKIFF_CO_TRY(auto session, call.session());
  SKIFF_CO_TRY(auto tree, co_await session->tree());
  co_return FileCall{.tree = std::move(tree), .path = call.params.size() > 1 ? call.params[1] : std::string{}};
}

bool is_long(const Call& call) {
  const std::string_view with = call.route.long_with;
  if (with == kAlwaysLong || (!with.empty() && call.query(with))) return true;
  return call.http.request().headers.get("If-Match").contains("\"h-");
}

bool wants_long_hash(const fs::Entry& entry, const std::optional<std::string>& tag) {
  return !tag && entry.type == fs::EntryType::file && entry.size <= fs::kMostHashedForTag &&
         !fs::time_tag_is_final(entry);
}

Task<> stop_without_client(protocol::HttpExchange* http, std::stop_source* stop) {
  const bool shut = co_await http->peer_closed();
  if (!shut) co_return;
  Timer patience{http->executor(), kShutPatience};
  co_await patience.async_wait(use_task);
  stop->request_stop();
}

Task<> run_long(Call* call, StoppableJob* job) {
  std::stop_source stop;
  auto work = [job, &stop] {
    (*job)(stop.get_token());
    return true;
  };
  Task<bool> working = call->agent.long_work.run(std::move(work));
  (void)co_await run_beside(stop_without_client(&call->http, &stop), std::move(working));
}

std::string relative_prefix(std::string_view path) {
  std::string prefix;
  auto split = fs::split_path(path);
  if (!split) return prefix;
  for (const std::string_view name : split->names) {
    if (!prefix.empty()) prefix += '/';
    prefix += name;
  }
  return split->absolute ? '/' + prefix : prefix;
}

Result<fs::Conditions> conditions_of(const Call& call) {
  const auto& headers = call.http.request().headers;
  fs::Conditions conditions;
  if (const auto given = headers.find("If-Match")) {
    SKIFF_TRY(auto tags, fs::TagList::parse(*given));
    conditions.if_match = std::move(tags);
  }
  if (const auto given = headers.find("If-None-Match")) {
    if (*given != "*") {
      return fail(Errc::invalid_field, "a change supports only If-None-Match: *", "If-None-Match");
    }
    conditions.must_be_new = true;
  }
  return conditions;
}

Result<mode_t> asked_mode(const Identity& identity, std::string_view text, std::string_view field) {
  unsigned mode = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size() || mode > 07777) {
    return fail(Errc::invalid_field, "a mode is octal, such as 0644", std::string{field});
  }
  if ((mode & (S_ISUID | S_ISGID)) != 0 && !require(identity, Scope::admin)) {
    return fail(Errc::insufficient_scope, "set-uid and set-gid bits need the scope admin", std::string{field});
  }
  return mode;
}

Task<Result<>> answer_entry(Call& call, unsigned status, std::string_view path, const fs::Entry& entry,
                            std::string_view tag) {
  std::string text;
  append_entry(text, path, entry, tag);
  if (!tag.empty()) call.http.extra_headers().set("ETag", tag);
  return call.json(status, std::move(text));
}

}  // namespace skiff::runtime::api
