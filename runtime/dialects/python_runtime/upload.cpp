#include "runtime/dialects/python_runtime/upload.hpp"

#include <optional>
#include <string>
#include <utility>

#include "fs/content/write.hpp"
#include "protocol/http/multipart/body.hpp"
#include "runtime/api/files/transfer.hpp"
#include "runtime/dialects/python_runtime/answers.hpp"
#include "runtime/dialects/python_runtime/base_path.hpp"

namespace skiff::runtime::dialects::python_runtime {
namespace {

constexpr std::string_view kPartName = "file";

/// The result of the last part called `file`.
struct Uploading {
  std::string name;                  ///< as the client gave it; empty: it is a field and not a file
  std::optional<fs::Writer> writer;  ///< holds a complete file; not committed
  std::optional<Error> refused;      ///< why it can't be written
};

/// Reads from the body, and notes the body's own errors in `broken`. The caller distinguishes them from those of the
/// disk.
Task<Result<std::size_t>> read_noting(protocol::MultipartBody* body, std::span<char> into,
                                      std::optional<Error>* broken) {
  auto got = co_await body->read_some(into);
  if (!got) *broken = got.error();
  co_return got;
}

/// Receives a file. Errors: only those of the body. The result says why a file was refused.
Task<Result<Uploading>> take_file(Request* request, const Base* base, protocol::MultipartBody* body) {
  Uploading upload{.name = body->head().filename.value_or(""), .writer = {}, .refused = {}};
  if (upload.name.empty()) co_return upload;
  BlockingPool* const disk = &request->agent.pools.disk;
  // Slashes at the end stay: they say that the name is not a file's.
  std::string_view below = upload.name;
  while (below.starts_with('/')) below.remove_prefix(1);
  auto begin = [&] { return fs::Writer::begin(*base->tree, below); };
  auto writer = co_await disk->run(std::move(begin));
  if (!writer) {
    upload.refused = std::move(writer.error());
    co_return upload;
  }
  std::optional<Error> broken;
  api::ByteSource source = [body, &broken](std::span<char> into) { return read_noting(body, into, &broken); };
  auto stored = co_await api::store_bytes(disk, std::move(source), &*writer);
  if (broken) co_return std::unexpected{std::move(*broken)};
  if (stored) {
    upload.writer.emplace(std::move(*writer));
  } else {
    upload.refused = std::move(stored.error());
  }
  co_return upload;
}

Task<protocol::HttpResponse> finish_upload(Request* request, std::optional<Uploading> upload) {
  if (!upload || upload->name.empty()) co_return detail(422, "a part called \"file\" with a file name is required");
  if (upload->writer) {
    auto commit = [&] { return upload->writer->commit(); };
    auto written = co_await request->agent.pools.disk.run(std::move(commit));
    if (!written) upload->refused = std::move(written.error());
  }
  if (upload->refused) co_return path_refused("File upload failed", *upload->refused);
  co_return message(200, "File '" + upload->name + "' uploaded successfully.");
}

}  // namespace

Task<Result<>> upload(Request* request) {
  auto& http = request->http;
  SKIFF_CO_TRY(auto boundary, protocol::multipart_boundary(http.request().headers.get("Content-Type")));
  std::optional<Uploading> last;
  if (boundary) {
    auto base = co_await base_of(request);
    if (!base) co_return co_await http.respond(path_refused("File upload failed", base.error()));
    protocol::MultipartBody body{http, *boundary};
    for (;;) {
      SKIFF_CO_TRY(auto more, co_await body.next_part());
      if (!more) break;
      if (body.head().name != kPartName) continue;
      last.reset();
      SKIFF_CO_TRY(auto taken, co_await take_file(request, &*base, &body));
      last.emplace(std::move(taken));
    }
  }
  auto response = co_await finish_upload(request, std::move(last));
  co_return co_await http.respond(std::move(response));
}

}  // namespace skiff::runtime::dialects::python_runtime
