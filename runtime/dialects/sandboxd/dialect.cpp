#include "runtime/dialects/sandboxd/dialect.hpp"

#include <array>

#include "runtime/dialects/sandboxd/grpc_door.hpp"
#include "runtime/dialects/sandboxd/rest.hpp"

namespace skiff::runtime::dialects::sandboxd {
namespace {

constexpr std::array kDoors{Door{.speaks = "REST", .port = 8080, .open = &open_rest_door},
                            Door{.speaks = "gRPC", .port = 9090, .open = &open_grpc_door}};
constexpr Dialect kDialect{.name = kDialectName, .doors = kDoors};

}  // namespace

const Dialect& dialect() {
  return kDialect;
}

}  // namespace skiff::runtime::dialects::sandboxd
