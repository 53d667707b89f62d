#include "runtime/dialects/sandboxd/descriptors.hpp"

#include <protozero/pbf_writer.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>

// Tables describe the files here, and functions write them in the form of google/protobuf/descriptor.proto, whose field
// numbers are in these functions. `protoc` and its packages would be too much for five small files.

namespace skiff::runtime::dialects::sandboxd {
namespace {

using protozero::pbf_writer;

enum class Type : std::int32_t { int32 = 5, string = 9, message = 11, bytes = 12, uint32 = 13, enumeration = 14 };
enum class Label : std::int32_t { one = 1, many = 3 };

struct FieldRow {
  std::string_view name;
  std::int32_t number;
  Type type;
  std::string_view type_name = {};  ///< a message or enum of the file's package; with a leading dot it is a full name
  Label label = Label::one;
  std::optional<std::int32_t> oneof = {};
  bool optional = false;  ///< proto3's `optional`, which is a oneof of its own
};

struct EnumRow {
  std::string_view name;
  std::vector<std::pair<std::string_view, std::int32_t>> values;
};

struct MessageRow {
  std::string_view name;
  std::vector<FieldRow> fields = {};
  std::vector<std::string_view> oneofs = {};
  std::vector<MessageRow> nested = {};
  std::vector<EnumRow> enums = {};
  bool is_map_entry = false;
};

struct MethodRow {
  std::string_view name;
  std::string_view takes;
  std::string_view gives;
  bool streams_in = false;
  bool streams_out = false;
};

struct FileRow {
  std::string_view name;
  std::string_view package;
  std::vector<std::string_view> dependencies = {};
  std::vector<MessageRow> messages = {};
  std::vector<EnumRow> enums = {};
  std::string_view service = {};
  std::vector<MethodRow> methods = {};
  std::string_view go_package = {};
};

std::string full_name(std::string_view package, std::string_view name) {
  if (name.starts_with('.')) return std::string{name};
  return '.' + std::string{package} + '.' + std::string{name};
}

std::string below(std::string_view outer, std::string_view inner) {
  return std::string{outer} + '.' + std::string{inner};
}

std::string json_name(std::string_view name) {
  std::string camel;
  bool upper = false;
  for (const char c : name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    camel += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    upper = false;
  }
  return camel;
}

void write_field(pbf_writer out, std::string_view package, const FieldRow& field) {
  out.add_string(1, field.name.data(), field.name.size());
  out.add_int32(3, field.number);
  out.add_enum(4, static_cast<std::int32_t>(field.label));
  out.add_enum(5, static_cast<std::int32_t>(field.type));
  if (!field.type_name.empty()) out.add_string(6, full_name(package, field.type_name));
  if (field.oneof) out.add_int32(9, *field.oneof);
  out.add_string(10, json_name(field.name));
  if (field.optional) out.add_bool(17, true);
}

void write_enum(pbf_writer out, const EnumRow& row) {
  out.add_string(1, row.name.data(), row.name.size());
  for (const auto& [name, number] : row.values) {
    pbf_writer value{out, 2};
    value.add_string(1, name.data(), name.size());
    value.add_int32(2, number);
  }
}

void write_message(pbf_writer out, std::string_view package, const MessageRow& message) {
  out.add_string(1, message.name.data(), message.name.size());
  for (const FieldRow& field : message.fields) write_field({out, 2}, package, field);
  for (const MessageRow& nested : message.nested) write_message({out, 3}, package, nested);
  for (const EnumRow& one : message.enums) write_enum({out, 4}, one);
  if (message.is_map_entry) pbf_writer{out, 7}.add_bool(7, true);
  for (const std::string_view oneof : message.oneofs) {
    pbf_writer declared{out, 8};
    declared.add_string(1, oneof.data(), oneof.size());
  }
}

void write_service(pbf_writer out, const FileRow& file) {
  out.add_string(1, file.service.data(), file.service.size());
  for (const MethodRow& row : file.methods) {
    pbf_writer method{out, 2};
    method.add_string(1, row.name.data(), row.name.size());
    method.add_string(2, full_name(file.package, row.takes));
    method.add_string(3, full_name(file.package, row.gives));
    if (row.streams_in) method.add_bool(5, true);
    if (row.streams_out) method.add_bool(6, true);
  }
}

/// Adds the names of an enum and of its values, which are in the same scope as the enum.
void define_enum(std::vector<std::string>& symbols, std::string_view scope, const EnumRow& row) {
  symbols.push_back(below(scope, row.name));
  for (const auto& [name, number] : row.values) symbols.push_back(below(scope, name));
}

void define_message(std::vector<std::string>& symbols, std::string_view scope, const MessageRow& message) {
  const std::string name = below(scope, message.name);
  symbols.push_back(name);
  for (const FieldRow& field : message.fields) symbols.push_back(below(name, field.name));
  for (const std::string_view oneof : message.oneofs) symbols.push_back(below(name, oneof));
  for (const MessageRow& nested : message.nested) define_message(symbols, name, nested);
  for (const EnumRow& one : message.enums) define_enum(symbols, name, one);
}

ProtoFile file_of(const FileRow& row) {
  ProtoFile file{.name = row.name, .dependencies = row.dependencies, .symbols = {}, .descriptor = {}};
  pbf_writer out{file.descriptor};
  out.add_string(1, row.name.data(), row.name.size());
  out.add_string(2, row.package.data(), row.package.size());
  for (const std::string_view dependency : row.dependencies) out.add_string(3, dependency.data(), dependency.size());
  for (const MessageRow& message : row.messages) {
    write_message({out, 4}, row.package, message);
    define_message(file.symbols, row.package, message);
  }
  for (const EnumRow& one : row.enums) {
    write_enum({out, 5}, one);
    define_enum(file.symbols, row.package, one);
  }
  if (!row.service.empty()) {
    write_service({out, 6}, row);
    const std::string service = below(row.package, row.service);
    file.symbols.push_back(service);
    for (const MethodRow& method : row.methods) file.symbols.push_back(below(service, method.name));
  }
  if (!row.go_package.empty()) pbf_writer{out, 8}.add_string(11, row.go_package.data(), row.go_package.size());
  out.add_string(12, "proto3");
  return file;
}

FileRow empty_file() {
  return {.name = "google/protobuf/empty.proto",
          .package = "google.protobuf",
          .messages = {{.name = "Empty"}},
          .go_package = "google.golang.org/protobuf/types/known/emptypb"};
}

FileRow process_file() {
  const FieldRow id{"process_id", 1, Type::int32};
  const FieldRow config{"config", 1, Type::message, "ProcessConfig"};
  const FieldRow cols{"cols", 2, Type::uint32};
  return {
      .name = "process/v1/process.proto",
      .package = "process.v1",
      .dependencies = {"google/protobuf/empty.proto"},
      .messages = {{.name = "PTY", .fields = {{"cols", 1, Type::uint32}, {"rows", 2, Type::uint32}}},
                   {.name = "ProcessConfig",
                    .fields = {{"command", 1, Type::string, {}, Label::many},
                               {"env_vars", 2, Type::message, "ProcessConfig.EnvVarsEntry", Label::many},
                               {"cwd", 3, Type::string, {}, Label::one, 0, true}},
                    .oneofs = {"_cwd"},
                    .nested = {{.name = "EnvVarsEntry",
                                .fields = {{"key", 1, Type::string}, {"value", 2, Type::string}},
                                .is_map_entry = true}}},
                   {.name = "StartRequest",
                    .fields = {config, {"pty", 2, Type::message, "PTY", Label::one, 0, true}},
                    .oneofs = {"_pty"}},
                   {.name = "InitEvent", .fields = {id}},
                   {.name = "ExitEvent", .fields = {{"exit_code", 1, Type::int32}}},
                   {.name = "StartResponse",
                    .fields = {{"init", 1, Type::message, "InitEvent", Label::one, 0},
                               {"stdout", 2, Type::bytes, {}, Label::one, 0},
                               {"stderr", 3, Type::bytes, {}, Label::one, 0},
                               {"exit", 4, Type::message, "ExitEvent", Label::one, 0}},
                    .oneofs = {"event"}},
                   {.name = "ExecuteRequest", .fields = {config}},
                   {.name = "ExecuteResponse",
                    .fields = {{"exit_code", 1, Type::int32}, {"stdout", 2, Type::bytes}, {"stderr", 3, Type::bytes}}},
                   {.name = "WriteStdinRequest",
                    .fields = {id,
                               {"input", 2, Type::bytes, {}, Label::one, 0},
                               {"eof", 3, Type::message, ".google.protobuf.Empty", Label::one, 0}},
                    .oneofs = {"payload"}},
                   {.name = "WriteStdinResponse"},
                   {.name = "SendSignalRequest", .fields = {id, {"signal", 2, Type::enumeration, "Signal"}}},
                   {.name = "SendSignalResponse"},
                   {.name = "ResizeTTYRequest", .fields = {id, cols, {"rows", 3, Type::uint32}}},
                   {.name = "ResizeTTYResponse"}},
      .enums = {{"Signal",
                 {{"SIGNAL_UNSPECIFIED", 0}, {"SIGNAL_SIGINT", 2}, {"SIGNAL_SIGKILL", 9}, {"SIGNAL_SIGTERM", 15}}}},
      .service = "ProcessService",
      .methods = {{.name = "Start", .takes = "StartRequest", .gives = "StartResponse", .streams_out = true},
                  {.name = "Execute", .takes = "ExecuteRequest", .gives = "ExecuteResponse"},
                  {.name = "WriteStdin", .takes = "WriteStdinRequest", .gives = "WriteStdinResponse"},
                  {.name = "SendSignal", .takes = "SendSignalRequest", .gives = "SendSignalResponse"},
                  {.name = "ResizeTTY", .takes = "ResizeTTYRequest", .gives = "ResizeTTYResponse"}},
      .go_package = "sigs.k8s.io/agent-sandbox/packages/sandboxd/spec/process/v1;processv1"};
}

FileRow health_file() {
  return {.name = "grpc/health/v1/health.proto",
          .package = "grpc.health.v1",
          .messages = {{.name = "HealthCheckRequest", .fields = {{"service", 1, Type::string}}},
                       {.name = "HealthCheckResponse",
                        .fields = {{"status", 1, Type::enumeration, "HealthCheckResponse.ServingStatus"}},
                        .enums = {{"ServingStatus",
                                   {{"UNKNOWN", 0}, {"SERVING", 1}, {"NOT_SERVING", 2}, {"SERVICE_UNKNOWN", 3}}}}}},
          .service = "Health",
          .methods = {
              {.name = "Check", .takes = "HealthCheckRequest", .gives = "HealthCheckResponse"},
              {.name = "Watch", .takes = "HealthCheckRequest", .gives = "HealthCheckResponse", .streams_out = true}}};
}

/// Describes v1 or v1alpha, which differ in their names alone.
FileRow reflection_file(std::string_view name, std::string_view package) {
  const auto one_of = [](std::string_view field, std::int32_t number, Type type, std::string_view type_name = {}) {
    return FieldRow{field, number, type, type_name, Label::one, 0};
  };
  return {
      .name = name,
      .package = package,
      .messages =
          {{.name = "ServerReflectionRequest",
            .fields = {{"host", 1, Type::string},
                       one_of("file_by_filename", 3, Type::string),
                       one_of("file_containing_symbol", 4, Type::string),
                       one_of("file_containing_extension", 5, Type::message, "ExtensionRequest"),
                       one_of("all_extension_numbers_of_type", 6, Type::string),
                       one_of("list_services", 7, Type::string)},
            .oneofs = {"message_request"}},
           {.name = "ExtensionRequest",
            .fields = {{"containing_type", 1, Type::string}, {"extension_number", 2, Type::int32}}},
           {.name = "ServerReflectionResponse",
            .fields = {{"valid_host", 1, Type::string},
                       {"original_request", 2, Type::message, "ServerReflectionRequest"},
                       one_of("file_descriptor_response", 4, Type::message, "FileDescriptorResponse"),
                       one_of("all_extension_numbers_response", 5, Type::message, "ExtensionNumberResponse"),
                       one_of("list_services_response", 6, Type::message, "ListServiceResponse"),
                       one_of("error_response", 7, Type::message, "ErrorResponse")},
            .oneofs = {"message_response"}},
           {.name = "FileDescriptorResponse", .fields = {{"file_descriptor_proto", 1, Type::bytes, {}, Label::many}}},
           {.name = "ExtensionNumberResponse",
            .fields = {{"base_type_name", 1, Type::string}, {"extension_number", 2, Type::int32, {}, Label::many}}},
           {.name = "ListServiceResponse", .fields = {{"service", 1, Type::message, "ServiceResponse", Label::many}}},
           {.name = "ServiceResponse", .fields = {{"name", 1, Type::string}}},
           {.name = "ErrorResponse", .fields = {{"error_code", 1, Type::int32}, {"error_message", 2, Type::string}}}},
      .service = "ServerReflection",
      .methods = {{.name = "ServerReflectionInfo",
                   .takes = "ServerReflectionRequest",
                   .gives = "ServerReflectionResponse",
                   .streams_in = true,
                   .streams_out = true}}};
}

}  // namespace

std::span<const ProtoFile> proto_files() {
  static const std::array files{
      file_of(empty_file()), file_of(process_file()), file_of(health_file()),
      file_of(reflection_file("grpc/reflection/v1/reflection.proto", "grpc.reflection.v1")),
      file_of(reflection_file("grpc/reflection/v1alpha/reflection.proto", "grpc.reflection.v1alpha"))};
  return files;
}

const ProtoFile* find_file(std::string_view name) {
  const auto files = proto_files();
  const auto found = std::ranges::find(files, name, &ProtoFile::name);
  return found == files.end() ? nullptr : &*found;
}

const ProtoFile* find_symbol(std::string_view name) {
  if (name.starts_with('.')) name.remove_prefix(1);
  const auto files = proto_files();
  const auto found = std::ranges::find_if(
      files, [&](const ProtoFile& file) { return std::ranges::find(file.symbols, name) != file.symbols.end(); });
  return found == files.end() ? nullptr : &*found;
}

std::span<const std::string_view> service_names() {
  static constexpr std::array<std::string_view, 4> kNames{
      "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection",
      "process.v1.ProcessService"};
  return kNames;
}

}  // namespace skiff::runtime::dialects::sandboxd
