#include <algorithm>
#include <utility>

#include "container/serve/e2b_routes.hpp"
#include "container/serve/event_routes.hpp"
#include "container/serve/own_routes.hpp"
#include "container/serve/route.hpp"

namespace skiff::container::serve {
namespace {

using enum KeyScope;

constexpr auto kOwn = Face::own;
constexpr auto kE2b = Face::e2b;

// clang-format off
constexpr Route kRoutes[] = {
    {"GET",    "/healthz",                          kOwn, {},     &own::health,         "Whether this process is alive"},
    {"GET",    "/readyz",                           kOwn, {},     &own::ready,          "Whether it takes requests"},
    {"GET",    "/openapi.json",                     kOwn, {},     &own::describe_api,   "This list"},
    {"GET",    "/metrics",                          kOwn, admin,  &own::show_metrics,   "Metrics of this process, for Prometheus"},
    {"GET",    "/v1/me",                            kOwn, use,    &own::show_key,       "What the API key may do"},
    {"POST",   "/v1/sandboxes",                     kOwn, create, &own::create,         "Create a sandbox, and wait until it is up", true},
    {"GET",    "/v1/sandboxes",                     kOwn, use,    &own::list,           "List sandboxes"},
    {"GET",    "/v1/sandboxes/{id}",                kOwn, use,    &own::show,           "Show a sandbox, or wait until it is up"},
    {"GET",    "/v1/sandboxes/{id}/events",         kOwn, use,    &own::stream_events,  "Stream the steps until the sandbox is up, as server-sent events"},
    {"DELETE", "/v1/sandboxes/{id}",                kOwn, create, &own::remove,         "Remove a sandbox with its files"},
    {"POST",   "/v1/sandboxes/{id}/stop",           kOwn, create, &own::stop,           "Stop a sandbox and keep its files", true},
    {"POST",   "/v1/sandboxes/{id}/start",          kOwn, create, &own::start,          "Run a stopped one again"},
    {"POST",   "/v1/sandboxes/{id}/extend",         kOwn, create, &own::extend,         "Begin its lease anew", true},
    {"POST",   "/v1/sandboxes/{id}/tokens",         kOwn, use,    &own::make_token,     "Make a token for its agent", true},
    {"POST",   "/v1/sandboxes/{id}/previews",       kOwn, use,    &own::make_preview,   "Create a link that opens one of its ports in a browser", true},
    {"GET",    "/v1/pools",                         kOwn, use,    &own::list_pools,     "List pools of prestarted sandboxes"},
    {"GET",    "/v1/pools/{id}",                    kOwn, use,    &own::show_pool,      "Show a pool"},

    {"POST",   "/sandboxes",                        kE2b, create, &e2b::create,         "Make a sandbox", true},
    {"POST",   "/v2/sandboxes",                     kE2b, create, &e2b::create,         "Make a sandbox", true},
    {"GET",    "/sandboxes",                        kE2b, use,    &e2b::list_running,   "List sandboxes that run"},
    {"GET",    "/v2/sandboxes",                     kE2b, use,    &e2b::list,           "List sandboxes"},
    {"GET",    "/sandboxes/{id}",                   kE2b, use,    &e2b::show,           "Show a sandbox"},
    {"DELETE", "/sandboxes/{id}",                   kE2b, create, &e2b::kill,           "Remove a sandbox with its files"},
    {"POST",   "/sandboxes/{id}/timeout",           kE2b, create, &e2b::set_timeout,    "Begin its lease anew", true},
    {"POST",   "/sandboxes/{id}/refreshes",         kE2b, create, &e2b::refresh,        "Make its lease longer", true},
    {"POST",   "/sandboxes/{id}/connect",           kE2b, use,    &e2b::connect,        "Return how to reach it; start it again if it is paused", true},
    {"POST",   "/v2/sandboxes/{id}/connect",        kE2b, use,    &e2b::connect,        "Return how to reach it; start it again if it is paused", true},
    {"POST",   "/sandboxes/{id}/pause",             kE2b, create, &e2b::pause,          "Stop a sandbox and keep its files", true},
    {"POST",   "/sandboxes/{id}/resume",            kE2b, create, &e2b::resume,         "Run a paused one again", true},
    {"GET",    "/sandboxes/{id}/metrics",           kE2b, use,    &e2b::metrics,        "What it uses"},
    {"GET",    "/sandboxes/{id}/logs",              kE2b, use,    &e2b::log_lines,      "Recent output of its commands"},
    {"GET",    "/v2/sandboxes/{id}/logs",           kE2b, use,    &e2b::logs,           "Recent output of its commands"},
    {"PUT",    "/sandboxes/{id}/network",           kE2b, create, &e2b::refuse_network, kNotOffered, true},
    {"POST",   "/sandboxes/{id}/snapshots",         kE2b, create, &e2b::refuse_memory,  kNotOffered, true},
    {"POST",   "/sandboxes/{id}/fork",              kE2b, create, &e2b::refuse_memory,  kNotOffered, true},
    {"GET",    "/snapshots",                        kE2b, use,    &e2b::refuse_memory,  kNotOffered},
    {"GET",    "/templates",                        kE2b, use,    &e2b::refuse_builds,  kNotOffered},
    {"POST",   "/templates",                        kE2b, use,    &e2b::refuse_builds,  kNotOffered, true},
    {"POST",   "/v2/templates",                     kE2b, use,    &e2b::refuse_builds,  kNotOffered, true},
    {"POST",   "/v3/templates",                     kE2b, use,    &e2b::refuse_builds,  kNotOffered, true},
    {"GET",    "/v2/templates",                     kE2b, use,    &e2b::refuse_builds,  kNotOffered},
    {"GET",    "/templates/aliases/{id}",           kE2b, use,    &e2b::refuse_builds,  kNotOffered},
    {"GET",    "/templates/{id}",                   kE2b, use,    &e2b::refuse_builds,  kNotOffered},
    {"POST",   "/templates/{id}",                   kE2b, use,    &e2b::refuse_builds,  kNotOffered, true},
    {"DELETE", "/templates/{id}",                   kE2b, use,    &e2b::refuse_builds,  kNotOffered},
    {"GET",    "/templates/{id}/tags",              kE2b, use,    &e2b::refuse_builds,  kNotOffered},
    {"GET",    "/volumes",                          kE2b, use,    &e2b::refuse_volumes, kNotOffered},
    {"POST",   "/volumes",                          kE2b, use,    &e2b::refuse_volumes, kNotOffered, true},
    {"GET",    "/volumes/{id}",                     kE2b, use,    &e2b::refuse_volumes, kNotOffered},
    {"DELETE", "/volumes/{id}",                     kE2b, use,    &e2b::refuse_volumes, kNotOffered},
    {"GET",    "/secrets",                          kE2b, use,    &e2b::refuse_secrets, kNotOffered},
    {"POST",   "/secrets",                          kE2b, use,    &e2b::refuse_secrets, kNotOffered, true},
    {"GET",    "/secrets/{id}",                     kE2b, use,    &e2b::refuse_secrets, kNotOffered},
    {"POST",   "/secrets/{id}",                     kE2b, use,    &e2b::refuse_secrets, kNotOffered, true},
    {"DELETE", "/secrets/{id}",                     kE2b, use,    &e2b::refuse_secrets, kNotOffered},
};
// clang-format on

/// The next part of a path, which begins with "/".
std::string_view next_segment(std::string_view& path) {
  path.remove_prefix(1);
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string_view part = path.substr(0, end);
  path.remove_prefix(end);
  return part;
}

bool fits_path(std::string_view pattern, const std::vector<std::string>& segments,
               std::vector<std::string>& parameters) {
  for (const std::string& segment : segments) {
    if (pattern.empty()) return false;
    const std::string_view part = next_segment(pattern);
    if (part.starts_with('{')) {
      if (segment.empty()) return false;
      parameters.push_back(segment);
    } else if (part != segment) {
      return false;
    }
  }
  return pattern.empty();
}

}  // namespace

std::span<const Route> routes() {
  return kRoutes;
}

Match match(std::string_view method, const std::vector<std::string>& segments) {
  Match found;
  for (const Route& route : kRoutes) {
    std::vector<std::string> parameters;
    if (!fits_path(route.path, segments, parameters)) continue;
    if (route.method == method) return {.route = &route, .parameters = std::move(parameters)};
    found.allow += (found.allow.empty() ? "" : ", ") + std::string{route.method};
  }
  return found;
}

}  // namespace skiff::container::serve
