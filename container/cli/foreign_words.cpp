#include "container/cli/foreign_words.hpp"

#include <algorithm>
#include <array>

namespace skiff::container {
namespace {

constexpr auto kForeignCommands = std::to_array<ForeignCommand>({
    {"annotate", "skiff up NAME --annotation NAME=VALUE: it has them from the beginning"},
    {"apply", "skiff manifest NAME | kubectl apply -f -"},
    {"auth", "skiff doctor, or skiff rbac"},
    {"build", "docker build, and then skiff up NAME --image IMAGE"},
    {"cluster-info", "skiff doctor"},
    {"config", "skiff COMMAND --help, flags of every command"},
    {"container", "without that word: skiff ps, skiff rm NAME"},
    {"create", "skiff up NAME"},
    {"debug", "skiff shell NAME"},
    {"destroy", "skiff rm NAME"},
    {"diff", "skiff manifest NAME | kubectl diff -f -"},
    {"edit", "skiff network NAME, or skiff extend NAME"},
    {"events", "skiff describe NAME"},
    {"expose", "skiff up NAME --service KIND --port PORT"},
    {"images", "skiff up NAME --image IMAGE: any image will do"},
    {"info", "skiff doctor"},
    {"label", "skiff up NAME --label NAME=VALUE: it has them from the beginning"},
    {"login", "skiff up NAME --pull-secret SECRET: the cluster pulls"},
    {"pause", "skiff stop NAME"},
    {"port", "skiff describe NAME tells its service, skiff forward NAME PORT brings a port here"},
    {"proxy", "skiff forward NAME PORT"},
    {"pull", "skiff up NAME --image IMAGE: any image will do"},
    {"restart", "skiff stop NAME && skiff start NAME"},
    {"rollout", "skiff stop NAME && skiff start NAME"},
    {"scale", "skiff pool scale NAME SIZE"},
    {"sh", "skiff shell NAME"},
    {"stats", "skiff top NAME"},
    {"system", "skiff gc"},
    {"unpause", "skiff start NAME"},
    {"update", "skiff extend NAME, or skiff network NAME"},
    {"wait", "skiff up, run and start wait by themselves; skiff attach NAME COMMAND waits for a command"},
});

constexpr auto kForeignFlags = std::to_array<ForeignFlag>({
    {"run,up", "--publish,-p", "here it is --port PORT for its service, and skiff forward NAME PORT for this machine"},
    {"run,up", "--mount,-v", "here it is --volume SIZE:PATH for a disk, and skiff cp DIR NAME: for what lies here"},
    {"run,up", "-m", "here it is --memory 512Mi, in the units of Kubernetes"},
    {"run,up", "--cpus", "here it is --cpu 2"},
    {"run,up", "--user", "here it is -u UID[:GID]"},
    {"run,up", "--privileged,--cap-add,--cap-drop,--hostname,--dns,--add-host,--gpus,--device,--tmpfs",
     "here it is --pod-overrides FILE, with fields of a Pod's spec"},
    {"run", "--command", "what follows is a command in any case: leave it out"},
    {"run", "-c", "say the whole command line, with its program: skiff run IMAGE COMMAND"},
    {"run,up", "--restart", "one that has ended stays so: skiff start NAME makes it again"},
    {"run,up", "--pull", "here it is --pull-policy Always, IfNotPresent or Never"},
    {"up", "--detach,-d", "it goes on by itself: leave it out"},
    {"ps", "--filter,-f", "here it is --label NAME=VALUE, --status STATUS, or the names themselves"},
    {"ps", "--format", "here it is -o json, -o name, -o wide, or -o jsonpath='{.items[*].name}'"},
    {"describe", "--format,-f", "here it is -o json, or -o jsonpath='{.state}'"},
    {"ps,rm", "--selector", "here it is -l NAME=VALUE"},
    {"ps", "--field-selector", "here it is --status STATUS"},
    {"ps", "--show-labels", "here it is -o json, which has them with all else"},
    {"ps", "--last,--latest", "here it is --limit N, with --sort-by created_at"},
    {"ps", "--no-trunc", "names are never cut: leave it out"},
    {"exec,attach,logs,cp", "--container,-c", "a sandbox is one container: leave it out"},
    {"logs", "--selector,-l", "here it is one sandbox at a time: skiff logs NAME"},
    {"logs", "--all-containers", "a sandbox is one container: leave it out"},
    {"logs", "-t", "here it is --timestamps"},
    {"logs", "--since-time,--until", "here it is --since TIME, as 10m"},
    {"start", "--attach,--interactive,-a,-i", "skiff attach NAME joins its command, skiff shell NAME begins one"},
    {"stop", "--signal,-s", "a command gets a signal by skiff kill NAME"},
    {"stop", "--time,--timeout", "here it is -t TIME"},
    {"up,start,extend,rm", "--timeout", "here it is --wait TIME"},
    {"rm", "--now", "here it is --grace-period 1"},
    {"rm", "--cascade", "all that belongs to it goes with it: leave it out"},
    {"rm", "--volumes,-v", "its volumes go with it: leave it out"},
    {"cp", "--recursive,--archive,-r,-R,-a", "directories are copied whole, with their modes: leave it out"},
    {"top", "--no-stream", "it is printed once: leave it out"},
    {"top", "--containers", "a sandbox is one container: leave it out"},
    {{}, "--verbose,--v,-v", "here it is --log-requests, for what is asked of the API server"},
    {{}, "--as,--as-group,--as-uid", "here it is `as` of the user in the kubeconfig"},
    {{}, "--token", "here it is the variable SKIFF_KUBE_TOKEN for the API server, SKIFF_TOKEN for an agent"},
});

bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == word) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

}  // namespace

std::span<const ForeignCommand> foreign_commands() {
  return kForeignCommands;
}

std::span<const ForeignFlag> foreign_flags() {
  return kForeignFlags;
}

std::string_view line_for_command(std::string_view word) {
  const auto found = std::ranges::find(kForeignCommands, word, &ForeignCommand::word);
  return found == kForeignCommands.end() ? std::string_view{} : found->line;
}

std::string_view line_for_flag(std::string_view command, std::string_view flag) {
  const auto found = std::ranges::find_if(kForeignFlags, [&](const ForeignFlag& one) {
    return (one.commands.empty() || has_word(one.commands, command)) && has_word(one.flags, flag);
  });
  return found == kForeignFlags.end() ? std::string_view{} : found->line;
}

}  // namespace skiff::container
