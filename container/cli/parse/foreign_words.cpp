#include "container/cli/parse/foreign_words.hpp"

#include <algorithm>
#include <array>

namespace skiff::container {
namespace {

constexpr auto kForeignCommands = std::to_array<ForeignCommand>({
    {"annotate", "skiff up NAME --annotation NAME=VALUE: annotations are set at creation"},
    {"auth", "skiff doctor, or skiff rbac"},
    {"build", "docker build, and then skiff up NAME --image IMAGE"},
    {"cluster-info", "skiff doctor"},
    {"config", "skiff COMMAND --help, flags of every command"},
    {"container", "without that word: skiff ps, skiff rm NAME"},
    {"create", "skiff up NAME"},
    {"debug", "skiff shell NAME"},
    {"destroy", "skiff rm NAME"},
    {"diff", "skiff changes NAME, or skiff manifest NAME | kubectl diff -f -"},
    {"edit", "skiff network NAME, or skiff extend NAME"},
    {"events", "skiff describe NAME"},
    {"expose", "skiff up NAME --service KIND --port PORT"},
    {"images", "skiff up NAME --image IMAGE: any image works"},
    {"info", "skiff doctor"},
    {"label", "skiff up NAME --label NAME=VALUE: labels are set at creation"},
    {"login", "skiff up NAME --pull-secret SECRET: the cluster pulls the image"},
    {"pause", "skiff stop NAME"},
    {"port", "skiff describe NAME shows its service, skiff forward NAME PORT forwards a port to this machine"},
    {"proxy", "skiff forward NAME PORT"},
    {"pull", "skiff up NAME --image IMAGE: any image works"},
    {"restart", "skiff stop NAME && skiff start NAME"},
    {"rollout", "skiff stop NAME && skiff start NAME"},
    {"scale", "skiff pool scale NAME SIZE"},
    {"sh", "skiff shell NAME"},
    {"stats", "skiff top NAME"},
    {"system", "skiff gc"},
    {"unpause", "skiff start NAME"},
    {"update", "skiff extend NAME, or skiff network NAME"},
    {"wait", "skiff up, run and start wait automatically; skiff attach NAME COMMAND waits for a command"},
});

constexpr auto kForeignFlags = std::to_array<ForeignFlag>({
    {"run,up", "--publish,-p", "use --port PORT for its service, or skiff forward NAME PORT for this machine"},
    {"run,up", "-v", "use --volume SIZE:PATH for a disk, or skiff cp DIR NAME: for local files"},
    {"run,up", "-m", "use --memory 512Mi, in the units of Kubernetes"},
    {"run,up", "--cpus", "here it is --cpu 2"},
    {"run,up", "--user", "here it is -u UID[:GID]"},
    {"run,up", "--privileged,--cap-add,--cap-drop,--hostname,--dns,--add-host,--gpus,--device,--tmpfs",
     "use --pod-overrides FILE, with fields of a Pod's spec"},
    {"run", "--command", "the rest is always a command: omit it"},
    {"run", "-c", "give the whole command line, with its program: skiff run IMAGE COMMAND"},
    {"run,up", "--restart", "an ended sandbox is not restarted automatically: skiff start NAME starts it again"},
    {"run,up", "--pull", "use --pull-policy Always, IfNotPresent or Never"},
    {"up", "--detach,-d", "a sandbox runs in the background anyway: omit it"},
    {"ps", "--filter,-f", "use --label NAME=VALUE, --status STATUS, or names"},
    {"ps", "--format", "use -o json, -o name, -o wide, or -o jsonpath='{.items[*].name}'"},
    {"describe", "--format,-f", "use -o json, or -o jsonpath='{.state}'"},
    {"ps,rm", "--selector", "here it is -l NAME=VALUE"},
    {"ps", "--field-selector", "here it is --status STATUS"},
    {"ps", "--show-labels", "use -o json, which contains them"},
    {"ps", "--last,--latest", "use --limit N, with --sort-by created_at"},
    {"ps", "--no-trunc", "names are never shortened: omit it"},
    {"exec,attach,logs,cp", "--container,-c", "a sandbox has one container: omit it"},
    {"logs", "--selector,-l", "name one sandbox at a time: skiff logs NAME"},
    {"logs", "--all-containers", "a sandbox has one container: omit it"},
    {"logs", "-t", "here it is --timestamps"},
    {"logs", "--since-time,--until", "use --since TIME, for example 10m"},
    {"start", "--attach,--interactive,-a,-i",
     "skiff attach NAME attaches to its command, skiff shell NAME opens a shell"},
    {"stop", "--signal,-s", "use skiff kill NAME to signal a command"},
    {"stop", "--time,--timeout", "here it is -t TIME"},
    {"up,start,extend,rm", "--timeout", "here it is --wait TIME"},
    {"rm", "--now", "use --grace-period 1"},
    {"rm", "--cascade", "its objects are always removed with it: omit it"},
    {"rm", "--volumes,-v", "its volumes are always removed with it: omit it"},
    {"cp", "--recursive,--archive,-r,-R,-a", "directories are always copied completely, with their modes: omit it"},
    {"apply", "--filename,-f", "use kubectl apply with what skiff manifest NAME prints"},
    {"top", "--no-stream", "the list is printed only once anyway: omit it"},
    {"top", "--containers", "a sandbox has one container: omit it"},
    {{}, "--verbose,--v,-v", "use --log-requests to log requests to the API server"},
    {{}, "--as,--as-group,--as-uid", "use `as` of the user in the kubeconfig"},
    {{}, "--token", "use the variable SKIFF_KUBE_TOKEN for the API server, SKIFF_TOKEN for an agent"},
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
