#include "runtime/dialects/sandboxd/reflection.hpp"

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include <set>
#include <vector>

#include "runtime/dialects/sandboxd/descriptors.hpp"

namespace skiff::runtime::dialects::sandboxd {
namespace {

using protocol::GrpcCode;
using protozero::pbf_reader;
using protozero::pbf_writer;

/// The field numbers of ServerReflectionRequest's `message_request`.
enum class Query : std::uint32_t {
  nothing = 0,
  file_by_filename = 3,
  file_containing_symbol = 4,
  file_containing_extension = 5,
  all_extension_numbers_of_type = 6,
  list_services = 7,
};

struct ReflectionRequest {
  std::string host;
  Query query = Query::nothing;
  std::string about;
};

ReflectionRequest read_request(std::string_view message) {
  ReflectionRequest request;
  pbf_reader reader{message.data(), message.size()};
  while (reader.next()) {
    const bool is_text = reader.wire_type() == protozero::pbf_wire_type::length_delimited;
    if (is_text && reader.tag() == 1) {
      request.host = reader.get_string();
    } else if (is_text && reader.tag() >= 3 && reader.tag() <= 7) {
      request.query = static_cast<Query>(reader.tag());
      request.about = reader.get_string();
    } else {
      reader.skip();
    }
  }
  return request;
}

void write_error(pbf_writer& out, GrpcCode code, const std::string& sentence) {
  pbf_writer error{out, 7};
  error.add_int32(1, static_cast<std::int32_t>(code));
  error.add_string(2, sentence);
}

/// Writes a file and all that it imports, itself first.
void write_files(pbf_writer& out, const ProtoFile& first) {
  pbf_writer response{out, 4};
  std::set<std::string_view> seen{first.name};
  std::vector<const ProtoFile*> files{&first};
  for (std::size_t i = 0; i < files.size(); ++i) {
    response.add_bytes(1, files[i]->descriptor);
    for (const std::string_view name : files[i]->dependencies) {
      if (seen.insert(name).second) files.push_back(find_file(name));
    }
  }
}

void write_found(pbf_writer& out, const ProtoFile* file, const std::string& about) {
  if (file != nullptr) {
    write_files(out, *file);
  } else {
    write_error(out, GrpcCode::not_found, "\"" + about + "\" is not known here");
  }
}

void write_answer(pbf_writer& out, const ReflectionRequest& request) {
  switch (request.query) {
    case Query::file_by_filename:
      write_found(out, find_file(request.about), request.about);
      break;
    case Query::file_containing_symbol:
      write_found(out, find_symbol(request.about), request.about);
      break;
    case Query::all_extension_numbers_of_type:
      if (find_symbol(request.about) == nullptr) {
        write_found(out, nullptr, request.about);
      } else {
        pbf_writer{out, 5}.add_string(1, request.about);  // proto3 has no extensions
      }
      break;
    case Query::list_services: {
      pbf_writer list{out, 6};
      for (const std::string_view name : service_names()) {
        pbf_writer{list, 1}.add_string(1, name.data(), name.size());
      }
      break;
    }
    case Query::file_containing_extension:
      write_error(out, GrpcCode::not_found, "nothing here has extensions");
      break;
    case Query::nothing:
      write_error(out, GrpcCode::invalid_argument, "the request asks for nothing");
      break;
  }
}

}  // namespace

Result<std::string> reflection_answer(std::string_view request) {
  try {
    const ReflectionRequest parsed = read_request(request);
    std::string answer;
    pbf_writer out{answer};
    if (!parsed.host.empty()) out.add_string(1, parsed.host);
    out.add_message(2, request.data(), request.size());
    write_answer(out, parsed);
    return answer;
  } catch (const protozero::exception& error) {
    return fail(Errc::invalid_field, std::string{"the message is not what the method takes: "} + error.what());
  }
}

Task<protocol::GrpcStatus> reflect(ServiceCall* call) {
  for (;;) {
    auto request = co_await call->grpc.read();
    if (!request) co_return protocol::grpc_status(request.error());
    if (!*request) co_return protocol::GrpcStatus{};
    auto answer = reflection_answer(**request);
    if (!answer) co_return protocol::grpc_status(answer.error());
    if (auto sent = co_await call->grpc.send(*answer); !sent) co_return protocol::grpc_status(sent.error());
  }
}

}  // namespace skiff::runtime::dialects::sandboxd
