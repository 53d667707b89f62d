#include "runtime/api/sessions/session_routes.hpp"

#include "runtime/api/answers/answer.hpp"
#include "runtime/api/answers/domain_schemas.hpp"
#include "runtime/api/paging.hpp"
#include "runtime/api/requests.hpp"

namespace skiff::runtime::api {

using sessions::Session;

/// A session and the agent, whose defaults it uses.
struct SessionOf {
  const Agent& agent;
  const Session& session;
  [[nodiscard]] const sessions::SessionSpec& spec() const { return session.spec(); }
};

/// A process of a command.
struct ProcessOf {
  Id command;
  const sessions::ProcessInfo& process;
};

namespace {

const std::string kSessionLimits = R"({"type":"object","additionalProperties":{"type":"integer"}})";

const Answer<sessions::ExtraRoot>& root_answer() {
  using sessions::ExtraRoot;
  static const Answer<ExtraRoot> answer{
      "SessionRoot",
      {{"path", [](const ExtraRoot& root) { return std::string_view{root.path}; }},
       {"access", [](const ExtraRoot& root) { return root.access == sessions::RootAccess::rw ? "rw" : "ro"; }}}};
  return answer;
}

const Answer<SessionOf>& shell_answer() {
  static const Answer<SessionOf> answer{
      "SessionShell",
      {{"path", [](const SessionOf& of) { return of.spec().shell.value_or(of.agent.settings.shell); }},
       {"login", [](const SessionOf& of) { return of.spec().login_shell; }},
       {"stateful", [](const SessionOf& of) { return of.spec().stateful_shell; }},
       {"functions", [](const SessionOf& of) {
          return of.spec().stateful_shell ? std::optional{of.spec().keep_functions} : std::nullopt;
        }}}};
  return answer;
}

const Answer<Session>& counts_answer() {
  static const Answer<Session> answer{"SessionCommands",
                                      {{"live", [](const Session& session) { return session.live_commands(); }},
                                       {"kept", [](const Session& session) { return session.command_count(); }}}};
  return answer;
}

std::optional<std::uint64_t> time_limit(const std::optional<Milliseconds>& time) {
  return time ? std::optional{static_cast<std::uint64_t>(time->count())} : std::nullopt;
}

std::vector<std::string_view> variable_names(const std::map<std::string, std::string>& variables) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : variables) names.emplace_back(name);
  return names;
}

Task<Result<>> answer(Call& call, std::shared_ptr<Session> session, bool created) {
  std::string text;
  append_session(text, call.agent, *session);
  if (created) call.http.extra_headers().set("Location", "/v1/sessions/" + session->id());
  co_return co_await call.json(created ? 201 : 200, std::move(text));
}

Result<sessions::SessionSpec> asked_for(Call& call) {
  SKIFF_TRY(auto request, call.decode<SessionRequest>());
  if (request.user && call.identity.anonymous) {
    return fail(Errc::cannot_switch_user, "users can't be switched without authentication", "/user");
  }
  return request.spec();
}

}  // namespace

const Answer<SessionOf>& session_answer() {
  static const Answer<SessionOf> answer{
      "Session",
      {{"id", [](const SessionOf& of) { return Id{of.session.id()}; }},
       {"root", [](const SessionOf& of) { return of.session.root(); }},
       {"extra_roots", [](const SessionOf& of) { return parts<&root_answer>(of.spec().extra_roots); }},
       {"cwd", [](const SessionOf& of) { return of.session.cwd(); }},
       {"created_at", [](const SessionOf& of) { return of.session.created_at(); }},
       {"env", [](const SessionOf& of) -> const auto& { return of.spec().env; }},
       {"secret_env", [](const SessionOf& of) { return variable_names(of.spec().secret_env); }},
       {"env_inherit", [](const SessionOf& of) { return of.spec().env_inherit; }},
       {"user", [](const SessionOf& of) -> const auto& { return of.spec().user; }},
       {"shell", [](const SessionOf& of) { return Part<&shell_answer>{of}; }},
       {"labels", [](const SessionOf& of) -> const auto& { return of.spec().labels; }},
       {"idle_timeout_ms", [](const SessionOf& of) { return time_limit(of.spec().idle_timeout); }},
       {"default_timeout_ms", [](const SessionOf& of) { return time_limit(of.spec().default_timeout); }},
       {"limits",
        [](const SessionOf& of) -> const auto& { return of.spec().limits; },
        {},
        [] { return kSessionLimits; }},
       {"isolation", [](const SessionOf& of) { return name(of.spec().isolation); }},
       {"commands", [](const SessionOf& of) { return Part<&counts_answer>{of.session}; }}}};
  return answer;
}

const Answer<ProcessOf>& process_answer() {
  static const Answer<ProcessOf> answer{
      "Process",
      {{"command", [](const ProcessOf& of) { return of.command; }},
       {"pid", [](const ProcessOf& of) { return static_cast<std::uint64_t>(of.process.pid); }},
       {"parent", [](const ProcessOf& of) { return static_cast<std::uint64_t>(of.process.parent); }},
       {"group", [](const ProcessOf& of) { return static_cast<std::uint64_t>(of.process.group); }},
       {"state", [](const ProcessOf& of) { return std::string_view{&of.process.state, 1}; }},
       {"name", [](const ProcessOf& of) { return std::string_view{of.process.name}; }},
       {"command_line", [](const ProcessOf& of) { return std::string_view{of.process.command_line}; }},
       {"rss_bytes", [](const ProcessOf& of) { return of.process.rss_bytes; }}}};
  return answer;
}

void append_session(std::string& out, const Agent& agent, const Session& session) {
  session_answer().append(out, {agent, session});
}

Task<Result<>> create_session(Call& call) {
  SKIFF_CO_TRY(auto spec, asked_for(call));
  SKIFF_CO_TRY_VOID(require_rule_over(call.identity, spec.id));
  SKIFF_CO_TRY(auto session, co_await call.agent.registry.create(std::move(spec)));
  co_return co_await answer(call, session, true);
}

Task<Result<>> put_session(Call& call) {
  SKIFF_CO_TRY(auto spec, asked_for(call));
  const std::string& id = call.params.front();
  if (!spec.id.empty() && spec.id != id)
    co_return fail(Errc::invalid_field, "id differs from the one in the path", "/id");
  spec.id = id;
  SKIFF_CO_TRY_VOID(require_rule_over(call.identity, id));
  SKIFF_CO_TRY(auto put, co_await call.agent.registry.put(std::move(spec)));
  co_return co_await answer(call, put.session, put.created);
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
  SKIFF_CO_TRY(auto session, call.session());
  co_return co_await answer(call, session, false);
}

Task<Result<>> patch_session(Call& call) {
  SKIFF_CO_TRY_VOID(require_rule_over(call.identity, call.params.front()));
  SKIFF_CO_TRY(auto session, call.session());
  SKIFF_CO_TRY(auto request, call.decode<SessionPatchRequest>());
  sessions::SessionPatch patch;
  patch.labels = std::move(request.labels);
  patch.idle_timeout = request.idle_timeout;
  patch.default_timeout = request.default_timeout;
  patch.limits = request.limits;
  patch.env = std::move(request.env);
  patch.cwd = std::move(request.cwd);
  SKIFF_CO_TRY_VOID(session->patch(patch));
  co_return co_await answer(call, session, false);
}

Task<Result<>> delete_session(Call& call) {
  SKIFF_CO_TRY_VOID(require_rule_over(call.identity, call.params.front()));
  SKIFF_CO_TRY_VOID(call.session());
  SKIFF_CO_TRY(auto purge, call.query_flag("purge"));
  SKIFF_CO_TRY_VOID(co_await call.agent.registry.erase(call.params.front(), purge));
  co_return co_await call.no_content();
}

Task<Result<>> list_processes(Call& call) {
  SKIFF_CO_TRY(auto session, call.session());
  const auto commands = session->commands();
  std::vector<sessions::Tree> trees;
  trees.reserve(commands.size());
  for (const auto& command : commands) trees.push_back(command->tree());
  auto look = [&trees] {
    auto found = sessions::processes_of_each(trees);
    for (auto& processes : found) sessions::read_command_lines(processes);
    return found;
  };
  const auto processes = co_await call.agent.supervisor.processes.looks.run(std::move(look));
  std::string text{R"({"items":[)"};
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const auto& command = commands[i];
    for (const auto& process : processes[i]) {
      if (text.back() != '[') text += ',';
      process_answer().append(text, {Id{command->id()}, process});
    }
  }
  text += "]}";
  co_return co_await call.json(200, std::move(text));
}

}  // namespace skiff::runtime::api
