#include "runtime/api/sessions/session_routes.hpp"

#include "protocol/json/text.hpp"
#include "protocol/json/utf8.hpp"
#include "runtime/api/paging.hpp"
#include "runtime/api/requests.hpp"

namespace skiff::runtime::api {
namespace {

using protocol::append_json_integer;
using protocol::append_json_key;
using protocol::append_json_string;
using protocol::append_json_text;
using sessions::Session;

template <class Map>
void append_map(std::string& out, std::string_view key, const Map& map) {
  append_json_key(out, key);
  out += '{';
  for (const auto& [name, value] : map) {
    append_json_key(out, protocol::to_valid_utf8(name));
    if constexpr (std::is_same_v<typename Map::mapped_type, std::string>) {
      append_json_string(out, protocol::to_valid_utf8(value));
    } else if (value) {
      append_json_string(out, protocol::to_valid_utf8(*value));
    } else {
      out += "null";
    }
  }
  out += '}';
}

Task<Result<>> answer(Call& call, std::shared_ptr<Session> session, bool created) {
  std::string text;
  append_session(text, call.agent, *session);
  if (created) call.http.extra_headers().set("Location", "/v1/sessions/" + session->id());
  co_return co_await call.json(created ? 201 : 200, std::move(text));
}

Result<sessions::SessionSpec> asked_for(Call& call) {
  auto request = call.decode<SessionRequest>();
  if (!request) return std::unexpected{request.error()};
  if (request->user && call.identity.anonymous) {
    return fail(Errc::cannot_switch_user, "users can't be switched without authentication", "/user");
  }
  return request->spec();
}

}  // namespace

void append_session(std::string& out, const Agent& agent, const Session& session) {
  const auto& spec = session.spec();
  out += '{';
  append_json_text(out, "id", session.id());
  append_json_text(out, "root", session.root());
  append_json_key(out, "extra_roots");
  out += '[';
  for (const sessions::ExtraRoot& extra : spec.extra_roots) {
    if (out.back() != '[') out += ',';
    out += '{';
    append_json_text(out, "path", extra.path);
    append_json_text(out, "access", extra.access == sessions::RootAccess::rw ? "rw" : "ro");
    out += '}';
  }
  out += ']';
  append_json_text(out, "cwd", session.cwd());
  append_json_text(out, "created_at", rfc3339(session.created_at()));
  append_map(out, "env", spec.env);
  append_json_key(out, "secret_env");
  out += '[';
  for (const auto& [name, value] : spec.secret_env) {
    if (out.back() != '[') out += ',';
    append_json_string(out, name);
  }
  out += ']';
  append_json_key(out, "env_inherit");
  out += spec.env_inherit ? "true" : "false";
  if (spec.user) append_json_text(out, "user", *spec.user);
  append_json_key(out, "shell");
  out += '{';
  append_json_text(out, "path", spec.shell.value_or(agent.settings.shell));
  append_json_key(out, "login");
  out += spec.login_shell ? "true" : "false";
  append_json_key(out, "stateful");
  out += spec.stateful_shell ? "true" : "false";
  if (spec.stateful_shell) {
    append_json_key(out, "functions");
    out += spec.keep_functions ? "true" : "false";
  }
  out += '}';
  append_map(out, "labels", spec.labels);
  const auto append_time = [&](std::string_view key, const std::optional<Milliseconds>& time) {
    if (!time) return;
    append_json_key(out, key);
    append_json_integer(out, static_cast<std::int64_t>(time->count()));
  };
  append_time("idle_timeout_ms", spec.idle_timeout);
  append_time("default_timeout_ms", spec.default_timeout);
  append_json_key(out, "limits");
  protocol::append_json(out, spec.limits);
  append_json_text(out, "isolation", name(spec.isolation));
  append_json_key(out, "commands");
  out += '{';
  append_json_key(out, "live");
  append_json_integer(out, static_cast<std::uint64_t>(session.live_commands()));
  append_json_key(out, "kept");
  append_json_integer(out, static_cast<std::uint64_t>(session.command_count()));
  out += "}}";
}

Task<Result<>> create_session(Call& call) {
  auto spec = asked_for(call);
  if (!spec) co_return std::unexpected{spec.error()};
  SKIFF_CO_TRY_VOID(require_rule_over(call.identity, spec->id));
  auto session = co_await call.agent.registry.create(std::move(*spec));
  if (!session) co_return std::unexpected{session.error()};
  co_return co_await answer(call, *session, true);
}

Task<Result<>> put_session(Call& call) {
  auto spec = asked_for(call);
  if (!spec) co_return std::unexpected{spec.error()};
  const std::string& id = call.params.front();
  if (!spec->id.empty() && spec->id != id)
    co_return fail(Errc::invalid_field, "id differs from the one in the path", "/id");
  spec->id = id;
  SKIFF_CO_TRY_VOID(require_rule_over(call.identity, id));
  auto put = co_await call.agent.registry.put(std::move(*spec));
  if (!put) co_return std::unexpected{put.error()};
  co_return co_await answer(call, put->session, put->created);
}

Task<Result<>> list_sessions(Call& call) {
  Page page;
  SKIFF_CO_TRY_VOID(page.read(call));
  std::vector<std::pair<std::string, std::string>> labels;
  for (const auto& parameter : call.target().query) {
    if (parameter.name != "label") continue;
    const std::size_t equals = parameter.value.find('=');
    if (equals == std::string::npos || equals == 0)
      co_return fail(Errc::invalid_field, "label must be key=value", "label");
    labels.emplace_back(parameter.value.substr(0, equals), parameter.value.substr(equals + 1));
  }
  const auto wanted = [&](const std::shared_ptr<Session>& session) {
    if (!require_session(call.identity, session->id())) return false;
    return std::ranges::all_of(labels, [&](const auto& label) {
      const auto& known = session->spec().labels;
      const auto found = known.find(label.first);
      return found != known.end() && found->second == label.second;
    });
  };
  const auto all = call.agent.registry.sessions();
  std::string text = page.list(
      all, [](const auto& session) -> const std::string& { return session->id(); }, wanted,
      [&](std::string& out, const auto& session) { append_session(out, call.agent, *session); });
  co_return co_await call.json(200, std::move(text));
}

Task<Result<>> show_session(Call& call) {
  auto session = call.session();
  if (!session) co_return std::unexpected{session.error()};
  co_return co_await answer(call, *session, false);
}

Task<Result<>> patch_session(Call& call) {
  SKIFF_CO_TRY_VOID(require_rule_over(call.identity, call.params.front()));
  auto session = call.session();
  if (!session) co_return std::unexpected{session.error()};
  auto request = call.decode<SessionPatchRequest>();
  if (!request) co_return std::unexpected{request.error()};
  sessions::SessionPatch patch;
  patch.labels = std::move(request->labels);
  patch.idle_timeout = request->idle_timeout;
  patch.default_timeout = request->default_timeout;
  patch.limits = request->limits;
  patch.env = std::move(request->env);
  patch.cwd = std::move(request->cwd);
  SKIFF_CO_TRY_VOID((*session)->patch(patch));
  co_return co_await answer(call, *session, false);
}

Task<Result<>> delete_session(Call& call) {
  SKIFF_CO_TRY_VOID(require_rule_over(call.identity, call.params.front()));
  auto session = call.session();
  if (!session) co_return std::unexpected{session.error()};
  auto purge = call.query_flag("purge");
  if (!purge) co_return std::unexpected{purge.error()};
  SKIFF_CO_TRY_VOID(co_await call.agent.registry.erase(call.params.front(), *purge));
  co_return co_await call.no_content();
}

Task<Result<>> list_processes(Call& call) {
  auto session = call.session();
  if (!session) co_return std::unexpected{session.error()};
  const auto commands = (*session)->commands();
  std::vector<sessions::Tree> trees;
  trees.reserve(commands.size());
  for (const auto& command : commands) trees.push_back(command->tree());
  auto look = [&trees] {
    auto found = sessions::processes_of_each(trees);
    for (auto& processes : found) sessions::read_command_lines(processes);
    return found;
  };
  const auto processes = co_await call.agent.supervisor.looks.run(std::move(look));
  std::string text{R"({"items":[)"};
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const auto& command = commands[i];
    for (const auto& process : processes[i]) {
      if (text.back() != '[') text += ',';
      text += '{';
      append_json_text(text, "command", command->id());
      const auto number = [&](std::string_view key, std::uint64_t value) {
        append_json_key(text, key);
        append_json_integer(text, value);
      };
      number("pid", static_cast<std::uint64_t>(process.pid));
      number("parent", static_cast<std::uint64_t>(process.parent));
      number("group", static_cast<std::uint64_t>(process.group));
      append_json_text(text, "state", std::string_view{&process.state, 1});
      append_json_text(text, "name", process.name);
      append_json_text(text, "command_line", process.command_line);
      number("rss_bytes", process.rss_bytes);
      text += '}';
    }
  }
  text += "]}";
  co_return co_await call.json(200, std::move(text));
}

}  // namespace skiff::runtime::api
