#pragma once

#include <string>
#include <string_view>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "protocol/grpc/fields.hpp"
#include "runtime/dialects/sandboxd/process_service.hpp"

namespace skiff::runtime::dialects::sandboxd {

/// Handles ServerReflectionInfo of grpc.reflection.v1 and of v1alpha, whose messages have the same form.
[[nodiscard]] Task<protocol::GrpcStatus> reflect(ServiceCall* call);

/// The ServerReflectionResponse to one request. Errors: invalid_field for what is not protobuf.
[[nodiscard]] Result<std::string> reflection_answer(std::string_view request);

}  // namespace skiff::runtime::dialects::sandboxd
