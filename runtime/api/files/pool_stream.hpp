#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>

#include "fs/archive/compression.hpp"
#include "protocol/http/message.hpp"
#include "runtime/api/call.hpp"

namespace skiff::runtime::api {

/// Produces a response on a search thread: passes its bytes to `sink`. When the client has disconnected, `sink` returns
/// false and `stop` is requested. An error before the first byte becomes the response; a later one truncates the body.
using Producer = std::function<Result<>(const fs::ByteSink& sink, const std::stop_token& stop)>;

/// The trailers after the bytes (RFC 9110, 6.5).
struct StreamEnd {
  std::string names = {};                          ///< names of the possible trailers, for the field Trailer
  std::function<protocol::Headers()> fields = {};  ///< called when the producer has succeeded
};

/// Runs `producer` on a thread of the search pool and sends its bytes, chunked, as `content_type`. A client that reads
/// less than `kLeastRate` is disconnected, so that no transfer lasts for ever. Errors: also resource_exhausted when too
/// many transfers have begun.
[[nodiscard]] Task<Result<>> stream_from_pool(Call& call, std::string content_type, Producer producer,
                                              StreamEnd end = {});

/// Returns `other` if the Accept header names it before `usual` and before a wildcard, else `usual`. It is for clients
/// whose generator does not support `usual`; the bytes are the same.
[[nodiscard]] std::string_view accepted_type(const Call& call, std::string_view usual, std::string_view other);

/// Bytes a second that a client must at least read or send, in the time in which only the client is waited for.
inline constexpr std::uint64_t kLeastRate = 1024;

/// Counts a transfer of `who` while the result lives. Errors: resource_exhausted.
[[nodiscard]] Result<Shares::Part> begin_transfer(Agent& agent, const std::string& who);
/// Checks that a transfer may begin; its job checks again when its turn comes. Errors: resource_exhausted.
[[nodiscard]] Result<> admit_transfer(BlockingPool& pool, std::size_t further);

}  // namespace skiff::runtime::api
