#include "sessions/session.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include <boost/asio/this_coro.hpp>

#include "base/id.hpp"
#include "sessions/own_root.hpp"
#include "sessions/shell/script.hpp"

namespace skiff::sessions {
namespace {

bool has_nul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

std::string join(const std::string& base, const std::string& path) {
  if (path.starts_with('/')) return path;
  return base.ends_with('/') ? base + path : base + '/' + path;
}

}  // namespace

Session::Session(Supervisor& supervisor, IdLedger& ledger, Defaults& defaults, SessionSpec spec, Root root,
                 std::function<void()> on_idle)
    : supervisor_{supervisor},
      ledger_{ledger},
      defaults_{defaults},
      spec_{std::make_shared<const SessionSpec>(std::move(spec))},
      asked_for_{spec_},
      root_{std::move(root)},
      shell_state_{spec_->stateful_shell ? std::make_shared<ShellState>() : nullptr},
      closing_{supervisor.executor},
      on_idle_{std::move(on_idle)} {
  watch_idleness();
}

std::string Session::cwd() const {
  const bool moved = shell_state_ && shell_state_->snapshot && !shell_state_->snapshot->cwd().empty();
  return moved ? shell_state_->snapshot->cwd() : first_cwd();
}

std::string Session::first_cwd() const {
  return spec_->cwd ? join(root_.path, *spec_->cwd) : root_.path;
}

std::string Session::from_cwd(const std::string& path) const {
  return join(cwd(), path);
}

std::size_t Session::live_commands() const noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(order_, [](const auto& command) { return !command->over(); }));
}

void Session::prepare_line(const CommandSpec& spec, const std::string& shell, Names own, Plan& plan,
                           Environment& environment) const {
  SpawnRequest& process = plan.process;
  if (!shell_state_) {
    process.argv = {shell};
    if (spec_->login_shell) process.argv.emplace_back("-l");
    process.argv.emplace_back("-c");
    if (spec.line->size() > ShellScript::kLongestArgument) {
      const std::string fd = std::to_string(ShellScript::kCommandFd);
      process.argv.insert(process.argv.end(), {". /proc/self/fd/" + fd, "sh"});
      // The shell reads the file through a descriptor of its own, so its first line may close this one.
      process.texts[ShellScript::kCommandFd] = "exec " + fd + "<&-\n" + *spec.line;
    } else {
      if (spec.line->starts_with('-') || spec.line->starts_with('+')) process.argv.emplace_back("--");
      process.argv.push_back(*spec.line);
    }
    return;
  }
  const auto before = shell_state_->snapshot;
  ShellScript script{.shell = shell,
                     .login = spec_->login_shell,
                     .command = *spec.line,
                     .before = before.get(),
                     .tells_start = spec.cwd.has_value(),
                     .dumps = spec.saves_state,
                     .functions = spec_->keep_functions,
                     // The command's own limits may end the shell, too.
                     .tells_reading = spec.limits == ResourceLimits{},
                     .file_size_limited = spec.limits.file_size_bytes.has_value()};
  // Change the directory in the script, not at the spawn: a removed directory must not keep the session from running
  // commands.
  if (!spec.cwd && cwd() != first_cwd()) {
    script.cwd = cwd();
    script.fallback_cwd = first_cwd();
    process.cwd = "/";
  }
  process.argv = script.argv();
  if (script.is_long()) process.texts[ShellScript::kCommandFd] = script.command_file();
  if (before) process.texts[ShellScript::kSnapshotFd] = before->script(own, ShellScript::kSnapshotFd);
  environment.keep(ShellScript::kVariable, script.text());
  plan.shell = std::make_shared<ShellRun>(shell_state_, std::move(own), cwd(), spec.saves_state);
}

Names Session::take_over_state(const CommandSpec& spec, Environment& environment) const {
  Names own;
  const auto add = [&own](const auto& variables) {
    for (const auto& [name, value] : variables) own.insert(name);
  };
  add(defaults_.secret_env);
  add(spec_->secret_env);
  const auto& before = shell_state_->snapshot;
  if (before) {
    before->restrict(environment, own);
    if (!spec.line) before->apply_exported(environment);
  }
  add(spec.env);
  add(spec.secret_env);
  own.insert("TRACEPARENT");
  if (spec.user) own.insert({"HOME", "LOGNAME", "USER"});
  const bool has_terminal_name = environment.contains("TERM") || (before && before->exports("TERM"));
  if (spec.terminal && !has_terminal_name) own.insert("TERM");
  return own;
}

Task<Session::User> Session::find_user(std::optional<std::string> name) const {
  if (!name) name = spec_->user;
  if (!name) co_return std::nullopt;
  auto look = [&name] { return look_up_user(*name); };
  co_return co_await supervisor_.processes.spawner.threads().run(std::move(look));
}

Result<Session::Plan> Session::prepare(const CommandSpec& spec, User found) const {
  Plan plan;
  SpawnRequest& process = plan.process;
  const std::string& shell = spec_->shell ? *spec_->shell : defaults_.shell;
  if (spec.line) {
    if (has_nul(*spec.line)) return fail(Errc::invalid_field, "command holds a NUL byte", "/command");
  } else {
    if (spec.argv.empty() || spec.argv.front().empty()) {
      return fail(Errc::invalid_field, "argv must name a program", "/argv");
    }
    if (std::ranges::any_of(spec.argv, has_nul)) return fail(Errc::invalid_field, "argv holds a NUL byte", "/argv");
    process.argv = spec.argv;
  }
  if (spec.channels) {
    process.texts[Channels::kTextFd] = std::move(spec.channels->text);
    process.extra.emplace_back(std::move(spec.channels->in), Channels::kInFd);
    process.extra.emplace_back(std::move(spec.channels->out), Channels::kOutFd);
  }

  const std::optional<std::string>& user = spec.user ? spec.user : spec_->user;
  // A user that was not looked up must not run as the agent's own user.
  if (user && !found) found = fail(Errc::user_not_found, "user \"" + *user + "\" was not looked up");
  const std::shared_ptr<const Credentials> own = supervisor_.current_user.get();
  std::reference_wrapper<const Credentials> credentials = *own;
  if (found) {
    if (!*found) {
      found->error().field = "/user";
      return std::unexpected{found->error()};
    }
    const Credentials& other = **found;
    if (other.uid != own->uid || other.gid != own->gid) {
      if (!defaults_.may_switch_user || ::geteuid() != 0) {
        return fail(Errc::cannot_switch_user, "the agent may not run commands as user \"" + *user + "\"", "/user");
      }
      process.user = other;
    }
    credentials = other;
  }

  Environment environment;
  if (spec_->env_inherit) {
    environment = Environment{defaults_.inherited};
    environment.apply(defaults_.env);
    environment.apply(defaults_.secret_env);
  }
  for (const auto& name : spec_->env_unset) environment.erase(name);
  environment.apply(spec_->env);
  environment.apply(spec_->secret_env);
  Names names;
  if (shell_state_) names = take_over_state(spec, environment);
  environment.apply(spec.env);
  environment.apply(spec.secret_env);
  if (!spec.traceparent.empty()) environment.set("TRACEPARENT", spec.traceparent);
  environment.complete(credentials, process.user.has_value(), shell, spec.terminal.has_value());
  const bool chose_home = defaults_.env.contains("HOME") || spec_->env.contains("HOME") || spec.env.contains("HOME");
  // Programs write files (git's settings, caches) to HOME, and this user may not write to "/".
  if (!chose_home && environment.get("HOME") == "/" && !may_write_to_root(credentials)) {
    environment.set("HOME", root_.path);
  }
  if (spec.cwd && has_nul(*spec.cwd)) return fail(Errc::invalid_field, "cwd holds a NUL byte", "/cwd");
  process.cwd = spec.cwd ? join(cwd(), *spec.cwd) : cwd();
  if (spec.line) prepare_line(spec, shell, std::move(names), plan, environment);
  process.env = environment.block();
  process.ruleset = root_.rules;
  return plan;
}

Result<Session::Started> Session::start(CommandSpec spec, User user) {
  touch();
  if (closed_) return fail(Errc::session_not_found, "session \"" + id() + "\" is being deleted");
  std::string fingerprint;
  if (!spec.id.empty()) {
    fingerprint = spec.fingerprint();
    if (const auto known = ledger_.find(id(), spec.id)) {
      if (*known != fingerprint) {
        return fail(Errc::command_conflict, "id \"" + spec.id + "\" was used for a command with other content", "/id");
      }
      auto found = find(spec.id);
      if (!found) return std::unexpected{found.error()};
      return Started{std::move(*found), true};
    }
  }
  SKIFF_TRY_VOID(supervisor_.live.admit());
  // A process with channels serves many calls, which have limits of their own.
  if (!spec.timeout && !spec.channels) spec.timeout = spec_->default_timeout;
  if (spec.limits == ResourceLimits{}) spec.limits = spec_->limits;
  SKIFF_TRY_VOID(supervisor_.processes.cgroups.check(spec.limits));
  SKIFF_TRY(auto plan, prepare(spec, std::move(user)));

  if (spec.id.empty()) {
    spec.id = new_id("c-");
  } else {
    ledger_.record(id(), spec.id, std::move(fingerprint));
  }
  auto command = std::make_shared<Command>(supervisor_, id(), std::move(spec));
  order_.push_back(command);
  commands_.emplace(command->id(), std::prev(order_.end()));
  command->launch(std::move(plan.process), std::move(plan.shell));
  supervisor_.tasks.spawn("watch", watch(shared_from_this(), command));
  return Started{std::move(command), false};
}

Task<> Session::watch(std::shared_ptr<Session> self, std::shared_ptr<Command> command) {
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  co_await command->gone();
  command->trim_request();
  self->touch();
  self->supervisor_.retention.add([weak = std::weak_ptr{self}, id = command->id()] {
    if (const auto session = weak.lock()) session->forget(id);
  });
}

Result<std::shared_ptr<Command>> Session::find(const std::string& id) const {
  if (!is_valid_id(id)) return fail(Errc::invalid_id, "a command id must match [A-Za-z0-9][A-Za-z0-9._-]{0,63}");
  if (const auto found = commands_.find(id); found != commands_.end()) return *found->second;
  if (ledger_.find(spec_->id, id)) {
    return fail(Errc::command_forgotten, "command \"" + id + "\" was run and is no longer kept");
  }
  return fail(Errc::command_not_found, "no command \"" + id + "\" in session \"" + spec_->id + "\"");
}

std::vector<std::shared_ptr<Command>> Session::commands() const {
  return {order_.begin(), order_.end()};
}

void Session::forget(const std::string& id) {
  const auto found = commands_.find(id);
  if (found == commands_.end()) return;
  const auto place = found->second;
  commands_.erase(found);
  order_.erase(place);  // last: the key refers to the command's id
}

Task<Result<>> Session::erase(std::string id) {
  const auto self = shared_from_this();
  auto found = find(id);
  if (!found) co_return std::unexpected{found.error()};
  const std::shared_ptr<Command> command = *found;
  forget(id);
  command->end(Cause::killed_by_client);
  co_await command->gone();
  co_return Result<>{};
}

Result<> Session::patch(const SessionPatch& patch) {
  touch();
  if (shell_state_ && (patch.env || patch.cwd)) {
    return fail(Errc::session_is_stateful,
                "the session's shell keeps its own variables and working directory: change them by a command (export, "
                "unset, cd)",
                patch.env ? "/env" : "/cwd");
  }
  auto spec = std::make_shared<SessionSpec>(*spec_);
  if (patch.limits) {
    SKIFF_TRY_VOID(supervisor_.processes.cgroups.check(*patch.limits));
    spec->limits = *patch.limits;
  }
  if (patch.labels) {
    for (const auto& [key, value] : *patch.labels) {
      if (value) {
        spec->labels[key] = *value;
      } else {
        spec->labels.erase(key);
      }
    }
  }
  if (patch.idle_timeout) spec->idle_timeout = *patch.idle_timeout;
  if (patch.default_timeout) spec->default_timeout = *patch.default_timeout;
  if (patch.env) {
    for (const auto& [key, value] : *patch.env) spec->env[key] = value;
  }
  if (patch.cwd) spec->cwd = *patch.cwd;
  spec_ = std::move(spec);
  if (patch.idle_timeout) watch_idleness();
  return {};
}

void Session::watch_idleness() {
  idle_.reset();
  if (!spec_->idle_timeout) return;
  idle_.emplace(supervisor_.executor, [this] {
    if (live_commands() > 0) touch();
    const auto due = last_used_ + *spec_->idle_timeout;
    const auto now = std::chrono::steady_clock::now();
    if (due <= now) {
      on_idle_();
    } else {
      idle_->expires_after(std::chrono::ceil<std::chrono::milliseconds>(due - now));
    }
  });
  idle_->expires_after(*spec_->idle_timeout);
}

Task<> Session::close(Cause cause) {
  const auto self = shared_from_this();
  closed_ = true;
  const auto all = commands();
  for (const auto& command : all) command->end(cause);
  closing_.notify_all();
  Deadline limit{supervisor_.executor, [&all, cause] {
                   for (const auto& command : all) command->kill(cause);
                 }};
  // A drain has its own limit for all sessions together.
  if (cause == Cause::session_deleted) limit.expires_after(supervisor_.limits.session_grace);
  for (const auto& command : all) co_await command->gone();
  commands_.clear();
  order_.clear();
}

Task<> Session::closing() {
  const auto self = shared_from_this();
  while (!closed_) co_await closing_.wait();
}

Task<Result<std::shared_ptr<const fs::Tree>>> Session::tree() {
  const auto self = shared_from_this();
  touch();
  auto& kept = root_.tree ? root_.tree : defaults_.tree;
  if (kept && kept->lives()) co_return kept;
  auto look = [tree = kept, why = defaults_.no_tree] { return living(tree, why); };
  auto tree = co_await supervisor_.disk.run(std::move(look));
  if (tree) kept = *tree;
  co_return tree;
}

}  // namespace skiff::sessions
