#include "runtime/dialects/e2b/files/watch_service.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/async/beside.hpp"
#include "protocol/json/text.hpp"
#include "runtime/dialects/e2b/files/entry_info.hpp"
#include "runtime/dialects/e2b/files/user_context.hpp"
#include "runtime/dialects/e2b/messages.hpp"

namespace skiff::runtime::dialects::e2b {
namespace {

/// The most events that a stream sends at once.
constexpr std::size_t kMostAtOnce = 1024;
/// The most events that a poll returns, and how long it waits for what has just happened.
constexpr std::size_t kMostOfPoll = 8192;
constexpr std::chrono::milliseconds kPollMoment{50};

Task<Result<Watching>> open_watch(Call* call, std::string text) {
  SKIFF_CO_TRY(auto message, read_path(text));
  SKIFF_CO_TRY(auto user, basic_user(call->request.http.request().headers));
  SKIFF_CO_TRY(auto context, co_await find_user(call, std::move(user)));
  SKIFF_CO_TRY(auto path, context.resolve(message.path));
  auto open = [tree = context.tree, path] { return tree->open_directory(path); };
  auto joined =
      co_await call->agent().watches.join(std::move(open), {}, message.recursive, context.tree->levels_of(path));
  if (!joined) co_return std::unexpected{context.explain(std::move(joined.error()), path)};
  const std::uint64_t newest = joined->watch()->newest();
  co_return Watching{.reader = std::move(*joined),
                     .tree = std::move(context.tree),
                     .path = std::move(path),
                     .include_entry = message.include_entry,
                     .cursor = newest};
}

/// The JSON of a filesystem.FilesystemEvent. An event of something that is gone has no `entry`.
std::string event_text(const Watching& watching, std::string_view type, const std::string& name, Names& names) {
  std::string text{'{'};
  protocol::append_json_text(text, "name", name.empty() ? "." : name);  // the directory itself
  protocol::append_json_text(text, "type", type);
  if (watching.include_entry && type != "EVENT_TYPE_REMOVE" && type != "EVENT_TYPE_RENAME") {
    if (auto entry = entry_info(*watching.tree, watching.path + '/' + name, names)) {
      protocol::append_json_key(text, "entry");
      text += *entry;
    }
  }
  return text + '}';
}

/// The types that an event has for E2B's clients, each with the name of its entry.
std::vector<std::pair<std::string_view, std::string>> types_of(const fs::WatchEvent& event) {
  using Type = fs::WatchEvent::Type;
  switch (event.type) {
    case Type::modified:
      return {{"EVENT_TYPE_WRITE", event.path}};
    case Type::deleted:
      return {{"EVENT_TYPE_REMOVE", event.path}};
    case Type::renamed:
      return {{"EVENT_TYPE_RENAME", event.from}, {"EVENT_TYPE_CREATE", event.path}};
    default:
      if (event.is_directory) return {{"EVENT_TYPE_CREATE", event.path}};
      // A file that the agent writes appears with all its content.
      return {{"EVENT_TYPE_CREATE", event.path}, {"EVENT_TYPE_WRITE", event.path}};
  }
}

/// The JSON of events in E2B's form. Blocks. Errors: io_error for events that were dropped.
Result<std::vector<std::string>> event_texts(const Watching& watching, const std::vector<fs::WatchEvent>& events) {
  std::vector<std::string> texts;
  Names names;
  for (const fs::WatchEvent& event : events) {
    if (event.type == fs::WatchEvent::Type::overflow) {
      return fail(Errc::io_error, "events were lost: look at the directory again");
    }
    for (const auto& [type, name] : types_of(event)) texts.push_back(event_text(watching, type, name, names));
  }
  return texts;
}

/// Waits for the next events until `until`; empty: the time is over, or the watch is.
Task<Result<std::vector<std::string>>> next_events(Agent* agent, std::shared_ptr<Watching> watching, std::size_t most,
                                                   SteadyTime until) {
  for (;;) {
    auto events = co_await fs::DirectoryWatch::events(watching->reader.watch(), watching->cursor, most, until);
    if (!events) co_return std::unexpected{std::move(events.error())};
    if (events->empty()) co_return std::vector<std::string>{};
    watching->cursor = events->back().cursor;
    auto compose = [&] { return event_texts(*watching, *events); };
    auto texts = co_await agent->pools.disk.run(std::move(compose));
    if (!texts || !texts->empty()) co_return texts;
  }
}

Task<Result<>> send_events(StreamCall* call, std::shared_ptr<Watching> watching, const bool* is_gone) {
  Agent& agent = call->call.agent();
  const auto quiet_after = keepalive_interval(call->call.request.http.request().headers, agent.settings.keepalive);
  std::string text;
  append_envelope(text, Envelope::message, R"({"start":{}})");
  for (;;) {
    SKIFF_CO_TRY_VOID(co_await call->send(text));
    text.clear();
    SteadyTime quiet = SteadyTime::clock::now() + quiet_after;
    if (call->until) quiet = std::min(quiet, *call->until);
    while (text.empty()) {
      if (*is_gone) co_return fail(Errc::cancelled, "the client is gone");
      SKIFF_CO_TRY(auto events, co_await next_events(&agent, watching, kMostAtOnce, quiet));
      for (const std::string& event : events) {
        append_envelope(text, Envelope::message, R"({"filesystem":)" + event + '}');
      }
      if (!events.empty()) break;
      if (watching->reader.watch()->over()) co_return Result<>{};
      const SteadyTime now = SteadyTime::clock::now();
      if (call->until && now >= *call->until) co_return fail(Errc::timeout, "the stream's time is over");
      if (now >= quiet) append_envelope(text, Envelope::message, R"({"keepalive":{}})");
    }
  }
}

}  // namespace

Task<Result<>> watch_dir(StreamCall* call) {
  SKIFF_CO_TRY(auto text, co_await call->read_only_message());
  SKIFF_CO_TRY(auto opened, co_await open_watch(&call->call, std::move(text)));
  const auto watching = std::make_shared<Watching>(std::move(opened));
  bool is_gone = false;
  const auto leave = [&] {
    is_gone = true;
    watching->reader.watch()->wake();
  };
  co_return co_await run_beside(call->call.request.http.watch_peer(leave), send_events(call, watching, &is_gone));
}

Task<Result<std::string>> create_watcher(Call* call, std::string text) {
  SKIFF_CO_TRY(auto watching, co_await open_watch(call, std::move(text)));
  SKIFF_CO_TRY(auto id, call->state.watchers.add(std::move(watching)));
  std::string answer{'{'};
  protocol::append_json_text(answer, "watcherId", id);
  co_return answer + '}';
}

Task<Result<std::string>> get_watcher_events(Call* call, std::string text) {
  SKIFF_CO_TRY(auto id, read_watcher_id(text));
  SKIFF_CO_TRY(auto watching, call->state.watchers.find(id));
  SKIFF_CO_TRY(auto events,
               co_await next_events(&call->agent(), watching, kMostOfPoll, SteadyTime::clock::now() + kPollMoment));
  std::string answer = R"({"events":[)";
  for (const std::string& event : events) {
    if (answer.ends_with('}')) answer += ',';
    answer += event;
  }
  co_return answer + "]}";
}

Task<Result<std::string>> remove_watcher(Call* call, std::string text) {
  SKIFF_CO_TRY(auto id, read_watcher_id(text));
  SKIFF_CO_TRY_VOID(call->state.watchers.remove(id));
  co_return "{}";
}

}  // namespace skiff::runtime::dialects::e2b
