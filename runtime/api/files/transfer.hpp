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

/// Sending and receiving of files for all protocols. A file is never in memory as a whole, and only the pool's threads
/// access the disk.
namespace skiff::runtime::api {

/// A file of at most this size is sent in one step: one job on a disk thread, one send.
inline constexpr std::size_t kSmallFile = std::size_t{64} << 10U;
/// Bytes of a block that is received while the block before is written.
inline constexpr std::size_t kUploadBlock = std::size_t{512} << 10U;

/// An open file that is to be sent.
struct FileToSend {
  fs::OpenFile file;
  std::optional<std::string> tag = {};
  std::string small = {};  ///< content of a small file

  /// Reads a small file into `small`. Call it on a disk thread.
  void read_if_small();
};

/// The part that the request's Range and If-Range ask for (RFC 9110, 13.1.5 and 14.2). Errors: range_not_satisfiable,
/// with Content-Range set.
[[nodiscard]] Result<AskedRange> asked_range(protocol::HttpExchange& http, const FileToSend& file);

/// Answers with a part of the file as octets, with ETag and Last-Modified.
[[nodiscard]] Task<Result<>> send_part(BlockingPool* disk, protocol::HttpExchange* http, FileToSend file,
                                       AskedRange range);

/// Reads bytes into a span and returns their number, 0 at the end.
using ByteSource = std::function<Task<Result<std::size_t>>(std::span<char>)>;
/// The source that reads a request's body.
[[nodiscard]] ByteSource body_of(protocol::HttpExchange* http);

/// Fills `block` from `source` and returns the number of bytes; only the last block is not full. `source` and `block`
/// must live until it ends.
[[nodiscard]] Task<Result<std::size_t>> receive(const ByteSource* source, std::span<char> block);

/// Writes all of `source` in blocks, and receives one while it writes the one before. The caller commits. Errors: those
/// of the source and of the writer.
[[nodiscard]] Task<Result<>> store_bytes(BlockingPool* disk, ByteSource source, fs::Writer* writer);

}  // namespace skiff::runtime::api
