#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/agent/client.hpp"
#include "container/agent/copy/pack.hpp"
#include "container/agent/copy/session_files.hpp"
#include "container/agent/copy/tar.hpp"

namespace skiff::container {

/// Called on the reactor thread with the number of bytes sent or received so far, and the total where it is known: for
/// uploads, and for a single file that is fetched. It may be empty: then the files are not counted beforehand.
using CopyProgress = std::function<void(std::uint64_t bytes, std::optional<std::uint64_t> total)>;

/// A source of bytes that may block its thread.
struct ByteProducer {
  /// Passes all bytes to the sink, or stops when the sink takes no more. Runs on a thread.
  std::function<Result<TarSummary>(const TarSink& sink)> produce;
  /// Makes `produce` end soon when its bytes are no longer wanted. May be empty: then it ends with the next block.
  std::function<void()> interrupt = {};
};

/// Sends the bytes as the body of a PUT of `path`; `total` is the expected size where it is known. When the producer
/// fails, the body is not ended, and the agent keeps none of it.
[[nodiscard]] Task<Result<TarSummary>> upload(AgentClient* agent, std::string path, ByteProducer bytes,
                                              CopyProgress progress, std::optional<std::uint64_t> total);

/// Copies a file or directory of this machine into a sandbox, as cp(1) -r does: into `to` if that is a directory or
/// ends in a slash, else under that name. If `to` is a link, the copy follows it, or is refused if it leads nowhere. A
/// `from` that ends in `/.` means the contents of the directory; a slash behind a link means the directory that it
/// leads to. Modes, times and hard links are kept. Paths of the sandbox are relative to the directory of `session`.
[[nodiscard]] Task<Result<TarSummary>> copy_in(AgentClient* agent, std::filesystem::path from, std::string to,
                                               CopyProgress progress,
                                               std::string session = std::string{kDefaultSession});

/// Copies from a sandbox to this machine by the same rules; `unpack_tar` unpacks. If `from` is a link, it is followed
/// in the sandbox. The error of an interrupted copy says what is missing.
[[nodiscard]] Task<Result<TarSummary>> copy_out(AgentClient* agent, std::string from, std::filesystem::path to,
                                                CopyProgress progress,
                                                std::string session = std::string{kDefaultSession});

}  // namespace skiff::container
