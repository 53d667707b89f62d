#include "runtime/dialects/sandboxd/dialect.hpp"

#include <array>

#include "runtime/dialects/http_dialect.hpp"
#include "runtime/dialects/sandboxd/grpc_door.hpp"
#include "runtime/dialects/sandboxd/rest.hpp"

namespace skiff::runtime::dialects::sandboxd {
namespace {

constexpr std::string_view kName = "sandboxd";
constexpr HttpDialect kRest{.name = kName, .handle = &handle_rest, .problem = &rest_problem, .probe = "/v1/health"};

std::unique_ptr<Service> open_rest_door(Agent& agent) {
  return http_service(agent, &kRest);
}

constexpr std::array kDoors{Door{.speaks = "REST", .port = 8080, .open = &open_rest_door},
                            Door{.speaks = "gRPC", .port = 9090, .open = &open_grpc_door}};
constexpr Dialect kDialect{.name = kName, .doors = kDoors};

}  // namespace

const Dialect& dialect() {
  return kDialect;
}

}  // namespace skiff::runtime::dialects::sandboxd
