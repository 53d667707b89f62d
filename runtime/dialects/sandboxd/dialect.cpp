#include "runtime/dialects/sandboxd/dialect.hpp"

#include <array>

#include "runtime/dialects/sandboxd/grpc_service.hpp"
#include "runtime/dialects/sandboxd/rest.hpp"

namespace skiff::runtime::dialects::sandboxd {
namespace {

constexpr std::array kEndpoints{Endpoint{.speaks = "REST", .port = 8080, .open = &open_rest},
                                Endpoint{.speaks = "gRPC", .port = 9090, .open = &open_grpc}};
constexpr Dialect kDialect{.name = kDialectName, .endpoints = kEndpoints};

}  // namespace

const Dialect& dialect() {
  return kDialect;
}

}  // namespace skiff::runtime::dialects::sandboxd
