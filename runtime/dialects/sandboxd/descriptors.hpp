#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skiff::runtime::dialects::sandboxd {

/// A .proto file of the gRPC endpoint, for reflection, as `protoc` would compile it.
struct ProtoFile {
  std::string_view name;                       ///< "process/v1/process.proto"
  std::vector<std::string_view> dependencies;  ///< names of other files
  std::vector<std::string> symbols;            ///< the full names of its definitions, methods included
  std::string descriptor;                      ///< a FileDescriptorProto, serialized
};

/// The files of process.v1, of health and of reflection, and the files that they import. They are built at the first
/// call.
[[nodiscard]] std::span<const ProtoFile> proto_files();

/// The file with this name; null: there is none.
[[nodiscard]] const ProtoFile* find_file(std::string_view name);
/// The file that defines a message, enum, service or method; null: none does. A leading dot does not matter.
[[nodiscard]] const ProtoFile* find_symbol(std::string_view name);

/// The full names of the services, in order.
[[nodiscard]] std::span<const std::string_view> service_names();

}  // namespace skiff::runtime::dialects::sandboxd
