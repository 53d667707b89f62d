#include "container/cli/commands/mcp/own_sandbox.hpp"

#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/async/blocking_pool.hpp"
#include "container/changes/compare.hpp"
#include "container/changes/workspace.hpp"
#include "container/cli/output/output.hpp"
#include "container/sandbox/undo_unless.hpp"

namespace skiff::container {
namespace {

/// "`skiff VERB NAME`", with the driver if it was named.
std::string line_of(std::string_view verb, const std::string& name, const Options& options) {
  std::string line = std::string{"`skiff "}.append(verb).append(" ").append(name);
  if (options.driver != "auto") line.append(" --driver ").append(options.driver);
  return line + "`";
}

/// Counts the changes in the layer; a part that could not be read counts, too.
Result<std::size_t> count_changes(const MountedLayer& mount) {
  SKIFF_TRY(auto workspace, changes::Workspace::open(mount));
  SKIFF_TRY(auto found, changes::compare(workspace, {}));
  return found.changes.size() + found.left_out.size();
}

/// Names what the removal of a stopped sandbox would lose; empty if that is nothing.
Task<std::string> what_it_has(MountedLayer mount) {
  BlockingPool disk{"skiff-disk", 1};
  const auto count = co_await disk.run([&] { return count_changes(mount); });
  if (count && *count == 0) co_return std::string{};
  std::string what = count ? std::to_string(*count) + (*count == 1 ? " change" : " changes") : "perhaps changes";
  what.append(" to ").append(mount.directory);
  if (!count) what.append(" (").append(count.error().message).append(")");
  co_return what;
}

Task<> remove_own(Driver* driver, Sandbox own) {
  auto removed = co_await driver->remove_if(own.name, own.id, {.patience = kUndoTime});
  if (!removed) say("sandbox \"" + own.name + "\" is still there: " + removed.error().message);
}

}  // namespace

std::string mount_notice(const SandboxSpec& spec, const Options& options) {
  if (spec.mount.empty() || spec.mount.ends_with(":ro")) return {};
  std::error_code error;
  const auto path = std::filesystem::weakly_canonical(spec.mount, error);
  return "The working directory shows the user's directory " + (error ? spec.mount : path.string()) +
         ". What you change in it stays in the sandbox. When you have finished, tell the user that " +
         line_of("changes", spec.name, options) + " shows the changes and " + line_of("apply", spec.name, options) +
         " copies them into the directory.";
}

Task<> remove_unless_changed(Driver* driver, Sandbox own, const Options* options) {
  auto mount = co_await driver->layer(own.name);
  // Most sandboxes write into no directory of this machine.
  if (!mount) co_return co_await remove_own(driver, std::move(own));
  // Its commands could go on to write while the layer is read.
  if (auto stopped = co_await driver->stop(own.name, {.patience = kUndoTime}); !stopped) {
    if (stopped.error().code == Errc::sandbox_not_found) co_return;
    co_return say("sandbox \"" + own.name + "\" is still there: " + stopped.error().message);
  }
  const std::string what = co_await what_it_has(std::move(*mount));
  if (what.empty()) co_return co_await remove_own(driver, std::move(own));
  say("sandbox \"" + own.name + "\" is kept: it has " + what + ". " + line_of("changes", own.name, *options) +
      " shows them, " + line_of("apply", own.name, *options) + " takes them, " + line_of("rm", own.name, *options) +
      " drops them");
}

}  // namespace skiff::container
