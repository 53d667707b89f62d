#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/async/blocking_pool.hpp"
#include "base/async/task.hpp"
#include "base/error.hpp"
#include "fs/content/read.hpp"
#include "fs/content/write.hpp"
#include "protocol/http/server/exchange.hpp"
#include "runtime/api/files/byte_range.hpp"

/// How the bytes of files go to clients and come from them, in whatever protocol. Bulk bytes never pass through the
/// reactor's memory as a whole, and the disk is touched on the pool's threads alone.
namespace skiff::runtime::api {

/// Up to this size a file goes in one step: one visit to the disk's thread, one send.
inline constexpr std::size_t kSmallFile = std::size_t{64} << 10U;
/// What is received between two visits to the disk's thread, while the block before is written.
inline constexpr std::size_t kUploadBlock = std::size_t{512} << 10U;

/// A file that was opened to be sent.
struct FileToSend {
  fs::OpenFile file;
  std::optional<std::string> tag = {};
  std::string small = {};  ///< the whole of a small file

  /// Reads it into `small` if it is one. On a disk thread.
  void read_if_small();
};

/// The part that the request's Range asks for, if If-Range lets it (RFC 9110, 13.1.5 and 14.2). Errors:
/// range_not_satisfiable, with Content-Range set.
[[nodiscard]] Result<AskedRange> asked_range(protocol::HttpExchange& http, const FileToSend& file);

/// Answers with that part as octets, with ETag and Last-Modified.
[[nodiscard]] Task<Result<>> send_part(BlockingPool* disk, protocol::HttpExchange* http, FileToSend file,
                                       AskedRange range);

/// Fills a part of a block, 0 at the end.
using ByteSource = std::function<Task<Result<std::size_t>>(std::span<char>)>;
/// A request's body.
[[nodiscard]] ByteSource body_of(protocol::HttpExchange* http);

/// The next block: full, but for the last. `source` and `block` must live until it has ended.
[[nodiscard]] Task<Result<std::size_t>> receive(const ByteSource* source, std::span<char> block);

/// Writes all of `source` by blocks, one being received while the one before is written. It is for the caller to
/// commit. Errors: those of the source and of the writer.
[[nodiscard]] Task<Result<>> store_bytes(BlockingPool* disk, ByteSource source, fs::Writer* writer);

}  // namespace skiff::runtime::api
