#include "runtime/api/files/transfer.hpp"

#include <memory>
#include <utility>

#include "base/async/beside.hpp"
#include "protocol/http/date.hpp"

namespace skiff::runtime::api {
namespace {

/// Writes a block and sets `done` to the result.
Task<> store(BlockingPool* disk, fs::Writer* writer, std::span<const char> block, Result<>* done) {
  auto write = [&] { return writer->write(block); };
  *done = co_await disk->run(std::move(write));
}

}  // namespace

void FileToSend::read_if_small() {
  const std::uint64_t size = file.entry.size;
  if (size == 0 || size > kSmallFile) return;
  small.resize(size);
  auto got = fs::read_at(file.fd.get(), 0, small);
  // A file that changes while it is read is sent like a large one, where that is noticed.
  if (!got || *got != size) small.clear();
}

Result<AskedRange> asked_range(protocol::HttpExchange& http, const FileToSend& file) {
  const std::uint64_t size = file.file.entry.size;
  const auto& headers = http.request().headers;
  const auto known = headers.find("If-Range");
  // The range applies only if the client has the current representation.
  if (known && !(file.tag && *known == *file.tag)) return AskedRange{.from = 0, .to = size};
  const AskedRange range = parse_range(headers.find("Range"), size);
  if (range.kind == AskedRange::Kind::unsatisfiable) {
    http.extra_headers().set("Content-Range", "bytes */" + std::to_string(size));
    return fail(Errc::range_not_satisfiable, "the file has " + std::to_string(size) + " bytes", "Range");
  }
  return range;
}

Task<Result<>> send_part(BlockingPool* disk, protocol::HttpExchange* http, FileToSend file, AskedRange range) {
  const std::uint64_t size = file.file.entry.size;
  const bool whole = range.kind == AskedRange::Kind::whole;
  protocol::HttpResponse head{whole ? 200U : 206U, {{"Content-Type", "application/octet-stream"}}};
  head.headers.set("Accept-Ranges", "bytes");
  head.headers.set("X-Content-Type-Options", "nosniff");
  head.headers.set("Last-Modified", protocol::http_date(file.file.entry.modified));
  if (file.tag) head.headers.set("ETag", *file.tag);
  if (!whole) {
    head.headers.set("Content-Range", "bytes " + std::to_string(range.from) + '-' + std::to_string(range.to - 1) + '/' +
                                          std::to_string(size));
  }
  const std::uint64_t length = range.to - range.from;
  if (!file.small.empty()) {
    head.body = file.small.substr(range.from, length);
    co_return co_await http->respond(std::move(head));
  }
  SKIFF_CO_TRY_VOID(co_await http->start(std::move(head), length, protocol::HttpExchange::Send::with_first_write));
  if (length > 0) {
    auto sent = co_await http->send_file(*disk, file.file.fd.get(), range.from, length);
    if (!sent) co_return sent;
  }
  co_return co_await http->finish();
}

ByteSource body_of(protocol::HttpExchange* http) {
  return [http](std::span<char> into) { return http->read_body_some(into); };
}

Task<Result<std::size_t>> receive(const ByteSource* source, std::span<char> block) {
  std::size_t held = 0;
  while (held < block.size()) {
    SKIFF_CO_TRY(auto got, co_await (*source)(block.subspan(held)));
    if (got == 0) break;
    held += got;
  }
  co_return held;
}

Task<Result<>> store_bytes(BlockingPool* disk, ByteSource source, fs::Writer* writer) {
  const auto memory = std::make_unique_for_overwrite<char[]>(2 * kUploadBlock);
  std::span<char> block{memory.get(), kUploadBlock};
  std::span<char> next{memory.get() + kUploadBlock, kUploadBlock};
  auto got = co_await receive(&source, block);
  while (got && *got > 0) {
    Result<> wrote =
        fail(Errc::resource_exhausted, "there is not enough memory for this");  // kept if `store` fails to run
    Task<> storing = store(disk, writer, block.first(*got), &wrote);
    if (*got == block.size()) {
      got = co_await run_beside(std::move(storing), receive(&source, next));
    } else {
      co_await std::move(storing);
      *got = 0;
    }
    if (!wrote) co_return wrote;
    std::swap(block, next);
  }
  if (!got) co_return std::unexpected{std::move(got.error())};
  co_return Result<>{};
}

}  // namespace skiff::runtime::api
