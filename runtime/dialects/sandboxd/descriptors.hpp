#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skiff::runtime::dialects::sandboxd {

/// A .proto file that the gRPC endpoint serves, for reflection: what `protoc` would make of it.
struct ProtoFile {
  std::string_view name;                       ///< "process/v1/process.proto"
  std::vector<std::string_view> dependencies;  ///< names of other files
  std::vector<std::string> symbols;            ///< full names of what is defined in it, methods included
  std::string descriptor;                      ///< FileDescriptorProto
};

/// Those of process.v1, of health and reflection, and what they import. Made at the first call.
[[nodiscard]] std::span<const ProtoFile> proto_files();

/// Null: there is none.
[[nodiscard]] const ProtoFile* find_file(std::string_view name);
/// The file that defines a message, enum, service or method; a leading dot does not matter.
[[nodiscard]] const ProtoFile* find_symbol(std::string_view name);

/// The full names of the services, in order.
[[nodiscard]] std::span<const std::string_view> service_names();

}  // namespace skiff::runtime::dialects::sandboxd
