// Many sandboxes on a cluster of simulated nodes, created, listed and removed by one process: by the launcher, and by a
// loop that sends only the same writes, which shows the limit of the API server itself.
//   sandboxes skiff|bare|make|crowd KUBECONFIG NAMESPACE COUNT AT_ONCE
// `make` does the bare writes, and leaves the objects. `crowd` creates very many for a list: records and Pods like
// those of running sandboxes, without Services, which no list reads, and bound to their nodes already.
// The nodes simulated-0 to simulated-4 accept Pods with the toleration `simulated`. No agent responds there, so the
// launcher's last step, a request to the agent, is left out; its note in the record is kept. Prints one JSON object.

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <expected>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <nlohmann/json.hpp>

#include "base/async/in_parallel.hpp"
#include "base/clock.hpp"
#include "base/id.hpp"
#include "container/drivers/pods/create.hpp"
#include "container/drivers/pods/driver.hpp"
#include "container/kube/objects/pod.hpp"
#include "container/kube/watch.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using nlohmann::json;

constexpr std::string_view kOwner = "bench";
constexpr std::array<std::string_view, 4> kKinds{"skiff", "bare", "make", "crowd"};
/// The number of nodes that bench/runner/sandboxes.py creates.
constexpr std::size_t kSimulatedNodes = 5;

struct Run {
  Cluster* cluster;
  std::size_t count;
  std::size_t at_once;
  unsigned watches = 0;  ///< largest number of simultaneous connections for watches
  json figures = json::object();
};

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "sandboxes: %s\n", why.c_str());
  std::_Exit(EXIT_FAILURE);  // without destructors, while thousands of coroutines run
}

const Error& error_of(const Error& error) {
  return error;
}
const Error& error_of(const kube::Failure& failure) {
  return failure.error;
}

template <class T, class E>
T must(std::expected<T, E> result) {
  if (!result) give_up(error_of(result.error()).message);
  return std::move(*result);
}

double processor_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// Measures one part of the work.
class Stretch {
 public:
  Stretch(Run* run, std::string name) : run_{run}, name_{std::move(name)} {}
  void end() {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun_;
    run_->figures[name_ + "_s"] = took.count();
    run_->figures[name_ + "_cpu_s"] = processor_seconds() - cpu_;
  }

 private:
  Run* run_;
  std::string name_;
  SteadyTime begun_ = std::chrono::steady_clock::now();
  double cpu_ = processor_seconds();
};

SandboxSpec spec_of(std::size_t number) {
  SandboxSpec spec{.name = "box-" + std::to_string(number), .image = "simulated", .owner = std::string{kOwner}};
  spec.wait = std::chrono::minutes{10};
  spec.pod.agent_image = "simulated";
  spec.pod.disk = "";  // simulated nodes have none
  spec.pod.tolerations = {"simulated"};
  spec.pod.node_selector = {{"simulated", "yes"}};
  return spec;
}

PodRecord record_of(Cluster* cluster, SandboxSpec spec, const ManifestContext& context) {
  const std::string pod = cluster->object_name(spec.name);
  return {.spec = std::move(spec), .id = context.sandbox_id, .namespace_name = context.namespace_name, .pod = pod};
}

// --- by the launcher ------------------------------------------------------------------------------------------------

Task<> make_one(Run* run, PodPools* pools, std::size_t number) {
  Cluster* const cluster = run->cluster;
  SandboxSpec spec = spec_of(number);
  ManifestContext context = must(co_await prepare_sandbox(cluster, &spec));
  PodRecord record = record_of(cluster, std::move(spec), context);
  KnownPod known = must(co_await create_sandbox(cluster, pools, std::move(record), false, std::move(context),
                                                [](Phase, std::string_view) {}));
  if (auto noted = co_await note_up(cluster, &known, std::nullopt); !noted) give_up(noted.error().message);
  run->watches = std::max(run->watches, cluster->pods(cluster->namespace_name()).connections());
}

Task<> remove_one(PodDriver* driver, std::size_t number) {
  const bool was_there = must(co_await driver->remove("box-" + std::to_string(number), {}));
  if (!was_there) give_up("a sandbox was not there");
}

Task<> by_the_launcher(Run* run) {
  PodDriver driver{run->cluster, {}};
  Reach reach{run->cluster, {}};
  PodPools pools{run->cluster, &reach};
  Stretch create{run, "create"};
  co_await in_parallel(run->count, run->at_once, [&](std::size_t number) { return make_one(run, &pools, number); });
  create.end();
  run->figures["watches"] = run->watches;

  Stretch list{run, "list"};
  std::size_t listed = 0;
  SandboxFilter filter{.owner = std::string{kOwner}};
  do {
    SandboxPage page = must(co_await driver.list(filter));
    for (const Sandbox& one : page.items) listed += one.state == SandboxState::running ? 1 : 0;
    filter.cursor = std::move(page.next);
  } while (!filter.cursor.empty());
  list.end();
  if (listed != run->count) give_up("listed " + std::to_string(listed) + " running sandboxes");

  Stretch remove{run, "remove"};
  // Like `skiff rm`: a wait for the end of one sandbox delays no other one.
  co_await in_parallel(run->count, run->count, [&](std::size_t number) { return remove_one(&driver, number); });
  remove.end();
  co_await driver.close();
}

// --- by a bare loop -------------------------------------------------------------------------------------------------

/// Creates the objects of a sandbox, in as many requests as the launcher.
Task<> write_one(Cluster* cluster, std::string public_key, std::size_t number) {
  kube::Client& client = cluster->client();
  SandboxSpec spec = spec_of(number);
  if (auto filled = cluster->fill_in_images(spec); !filled) give_up(filled.error().message);
  const ManifestContext context{.namespace_name = cluster->namespace_name(),
                                .prefix = cluster->options().name_prefix,
                                .sandbox_id = new_id("s"),
                                .public_key = std::move(public_key)};
  Object pod = must(create_pod(spec, context));
  Object service = *create_service(spec, context);
  const PodRecord record = record_of(cluster, std::move(spec), context);
  Object trial = pod;
  (void)must(co_await client.create(kube::kPods, std::move(trial), {.dry_run = true}));
  Object written = create_record(record, context.namespace_name, record.pod);
  const Object made = must(co_await client.create(kube::kConfigMaps, std::move(written)));
  for (Object* object : {&service, &pod}) {
    object->json["metadata"]["ownerReferences"] = json::array({made.owner_reference()});
  }
  (void)must(co_await client.create(kube::kServices, std::move(service)));
  (void)must(co_await client.create(kube::kPods, std::move(pod)));
  json up{{"data", {{"was_up", "true"}}}};
  (void)must(co_await client.patch(kube::kConfigMaps, context.namespace_name, record.pod, kube::PatchKind::merge,
                                   std::move(up)));
}

Task<> delete_one(Cluster* cluster, std::size_t number) {
  const std::string name = cluster->object_name("box-" + std::to_string(number));
  for (const kube::Resource& resource : {kube::kConfigMaps, kube::kPods, kube::kServices}) {
    const std::string object = resource.plural == kube::kServices.plural ? service_name(name) : name;
    auto removed = co_await cluster->client().remove(resource, cluster->namespace_name(), object);
    if (!removed && !removed.error().not_found()) give_up(removed.error().error.message);  // the cascade may be faster
  }
}

/// Creates one sandbox of a crowd, in the fewest writes.
Task<> write_one_of_a_crowd(Cluster* cluster, std::string public_key, std::size_t number) {
  SandboxSpec spec = spec_of(number);
  spec.pod.service = ServiceKind::none;
  if (auto filled = cluster->fill_in_images(spec); !filled) give_up(filled.error().message);
  const ManifestContext context{.namespace_name = cluster->namespace_name(),
                                .prefix = cluster->options().name_prefix,
                                .sandbox_id = new_id("s"),
                                .public_key = std::move(public_key)};
  Object pod = must(create_pod(spec, context));
  PodRecord record = record_of(cluster, std::move(spec), context);
  record.was_up = true;
  Object written = create_record(record, context.namespace_name, record.pod);
  const Object made = must(co_await cluster->client().create(kube::kConfigMaps, std::move(written)));
  pod.json["metadata"]["ownerReferences"] = json::array({made.owner_reference()});
  pod.json["spec"]["nodeName"] = "simulated-" + std::to_string(number % kSimulatedNodes);
  (void)must(co_await cluster->client().create(kube::kPods, std::move(pod)));
}

/// Waits until this many Pods are Ready, in one watch.
Task<> await_pods(Cluster* cluster, std::size_t wanted) {
  kube::Watch watch{&cluster->client(), {.resource = kube::kPods, .namespace_name = cluster->namespace_name()}};
  std::set<std::string> ready;
  do {
    const kube::WatchEvent event = must(co_await watch.next());
    if (event.kind == kube::WatchEvent::Kind::snapshot) ready.clear();
    for (const Object& pod : event.objects) {
      if (event.kind != kube::WatchEvent::Kind::deleted && kube::is_pod_ready(pod)) {
        ready.insert(pod.name());
      } else {
        ready.erase(pod.name());
      }
    }
  } while (ready.size() != wanted);
}

using WriteOne = Task<> (*)(Cluster* cluster, std::string public_key, std::size_t number);

Task<> make_by_a_bare_loop(Run* run, WriteOne write) {
  const SigningKey key = must(co_await run->cluster->signing_key(true));
  const std::string public_key = must(key.public_pem());
  Stretch create{run, "create"};
  co_await in_parallel(run->count, run->at_once,
                       [&](std::size_t number) { return write(run->cluster, public_key, number); });
  co_await await_pods(run->cluster, run->count);
  create.end();
}

Task<> by_a_bare_loop(Run* run) {
  co_await make_by_a_bare_loop(run, &write_one);
  Stretch remove{run, "remove"};
  co_await in_parallel(run->count, run->at_once, [&](std::size_t number) { return delete_one(run->cluster, number); });
  co_await await_pods(run->cluster, 0);
  remove.end();
}

int main_of(const std::vector<std::string>& words) {
  boost::asio::io_context io;
  ClusterOptions options{.access = {.kubeconfig = words[1], .namespace_name = words[2]}};
  const std::unique_ptr<Cluster> cluster = must(Cluster::open(io.get_executor(), std::move(options)));
  Run run{.cluster = cluster.get(), .count = std::stoul(words[3]), .at_once = std::stoul(words[4])};
  Task<> work = words[0] == "skiff"   ? by_the_launcher(&run)
                : words[0] == "bare"  ? by_a_bare_loop(&run)
                : words[0] == "crowd" ? make_by_a_bare_loop(&run, &write_one_of_a_crowd)
                                      : make_by_a_bare_loop(&run, &write_one);
  boost::asio::co_spawn(io, std::move(work), [&io](const std::exception_ptr& failure) {
    if (failure) std::rethrow_exception(failure);
    io.stop();  // do not wait for the time limits of kept connections
  });
  io.run();
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  run.figures["rss_mb"] = static_cast<double>(used.ru_maxrss) * 1024 / 1e6;
  std::puts(run.figures.dump().c_str());
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace skiff::container

int main(int argc, char** argv) {
  const std::vector<std::string> words{argv + 1, argv + argc};
  const bool is_known = !words.empty() && std::ranges::count(skiff::container::kKinds, words[0]) > 0;
  if (words.size() != 5 || !is_known) {
    std::fputs("usage: sandboxes skiff|bare|make|crowd KUBECONFIG NAMESPACE COUNT AT_ONCE\n", stderr);
    return 2;
  }
  try {
    return skiff::container::main_of(words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sandboxes: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
