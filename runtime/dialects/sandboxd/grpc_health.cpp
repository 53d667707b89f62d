#include "runtime/dialects/sandboxd/grpc_health.hpp"

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include <algorithm>
#include <string>

#include "runtime/dialects/sandboxd/descriptors.hpp"

namespace skiff::runtime::dialects::sandboxd {
namespace {

using protocol::grpc_status;
using protocol::GrpcCode;
using protocol::GrpcStatus;

enum class Serving : std::int32_t { serving = 1, not_serving = 2, service_unknown = 3 };

std::string health_response(Serving serving) {
  std::string text;
  protozero::pbf_writer{text}.add_enum(1, static_cast<std::int32_t>(serving));
  return text;
}

Task<Result<std::string>> read_service(protocol::GrpcCall* call) {
  auto message = co_await call->read_one();
  if (!message) co_return message;
  std::string service;
  try {
    protozero::pbf_reader reader{*message};
    while (reader.next()) {
      if (reader.tag() == 1 && reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
        service = reader.get_string();
      } else {
        reader.skip();
      }
    }
  } catch (const protozero::exception& error) {
    co_return fail(Errc::invalid_field, std::string{"the message is not what the method takes: "} + error.what());
  }
  co_return service;
}

bool is_service(const std::string& name) {
  const auto names = service_names();
  return name.empty() || std::ranges::find(names, std::string_view{name}) != names.end();
}

Serving serving_of(const Shutdown& shutdown) {
  return shutdown.draining() ? Serving::not_serving : Serving::serving;
}

}  // namespace

Task<GrpcStatus> check_health(ServiceCall* call) {
  auto service = co_await read_service(&call->grpc);
  if (!service) co_return grpc_status(service.error());
  if (!is_service(*service))
    co_return GrpcStatus{GrpcCode::not_found, "service \"" + *service + "\" is not known here"};
  auto sent = co_await call->grpc.send(health_response(serving_of(call->service.agent.shutdown)));
  co_return sent ? GrpcStatus{} : grpc_status(sent.error());
}

Task<GrpcStatus> watch_health(ServiceCall* call) {
  auto service = co_await read_service(&call->grpc);
  if (!service) co_return grpc_status(service.error());
  Shutdown& shutdown = call->service.agent.shutdown;
  auto state = is_service(*service) ? serving_of(shutdown) : Serving::service_unknown;
  for (;;) {
    if (auto sent = co_await call->grpc.send(health_response(state)); !sent) co_return grpc_status(sent.error());
    if (shutdown.draining()) co_return GrpcStatus{GrpcCode::unavailable, "the agent is stopping"};
    co_await shutdown.drain_begun();
    if (state == Serving::serving) state = Serving::not_serving;
  }
}

}  // namespace skiff::runtime::dialects::sandboxd
