#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/agent/client.hpp"
#include "container/agent/pack.hpp"
#include "container/agent/session_files.hpp"
#include "container/agent/tar.hpp"

namespace skiff::container {

/// Called from the reactor with all bytes that went over the wire so far, and how many there will be where that is
/// known: of what is sent, and of a single file that is fetched. It may be empty: then nothing is counted beforehand.
using CopyProgress = std::function<void(std::uint64_t bytes, std::optional<std::uint64_t> total)>;

/// Bytes from where a thread may have to wait for them.
struct ByteProducer {
  /// Gives them to the sink until there are no more, or the sink takes no more. Runs on a thread.
  std::function<Result<TarSummary>(const TarSink& sink)> produce;
  /// Makes it end soon when nobody wants them any more. May be empty: then it ends with the next block.
  std::function<void()> interrupt = {};
};

/// The body of a PUT of `path`, of which `total` bytes are expected where that is known. When the producer fails the
/// agent gets no end of the body, and keeps none of it.
[[nodiscard]] Task<Result<TarSummary>> upload(AgentClient* agent, std::string path, ByteProducer bytes,
                                              CopyProgress progress, std::optional<std::uint64_t> total);

/// Copies a file or directory of this machine into a sandbox, as cp(1) -r: into `to` if that is a directory (or ends in
/// a slash), else under that name; a link that is there is followed, and refused if it leads nowhere. `from` that ends
/// in `/.` means what is in a directory, and a slash behind a link the directory that it leads to. Modes, times and
/// hard links are kept. `session`: to whose directory paths of the sandbox are relative.
[[nodiscard]] Task<Result<TarSummary>> copy_in(AgentClient* agent, std::filesystem::path from, std::string to,
                                               CopyProgress progress,
                                               std::string session = std::string{kDefaultSession});

/// The other way, by the same rules, and as `unpack_tar` does it. A link that is named itself is followed, in the
/// sandbox. The error of a copy that was cut says what is missing.
[[nodiscard]] Task<Result<TarSummary>> copy_out(AgentClient* agent, std::string from, std::filesystem::path to,
                                                CopyProgress progress,
                                                std::string session = std::string{kDefaultSession});

}  // namespace skiff::container
