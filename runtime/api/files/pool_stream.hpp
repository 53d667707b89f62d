#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>

#include "fs/archive/compression.hpp"
#include "protocol/http/message.hpp"
#include "runtime/api/call.hpp"

namespace skiff::runtime::api {

/// What a search thread does for a response: it gives its bytes to the sink, which returns false when the client is
/// gone, and is asked to stop then. An error before the first byte becomes the response; a later one cuts the body.
using Producer = std::function<Result<>(const fs::ByteSink& sink, const std::stop_token& stop)>;

/// What is told behind the bytes, in trailers (RFC 9110, 6.5).
struct StreamEnd {
  std::string names = {};                          ///< those that may come, for the head's `Trailer`
  std::function<protocol::Headers()> fields = {};  ///< asked when the producer has ended well
};

/// Runs `producer` on a thread of the searches' pool and sends what it makes, chunked, as `content_type`. A client that
/// takes less than `kLeastRate` is cut off, so that nobody holds a place among the transfers for ever. Errors: also
/// resource_exhausted when too many have begun.
[[nodiscard]] Task<Result<>> stream_from_pool(Call& call, std::string content_type, Producer producer,
                                              StreamEnd end = {});

/// `other` where the request's Accept header names it and not `usual`, nor anything, before it; else `usual`. For
/// clients whose generator knows no `usual`: the bytes are the same.
[[nodiscard]] std::string_view accepted_type(const Call& call, std::string_view usual, std::string_view other);

/// What a client must take or send at least, bytes a second, in the time in which nothing else is waited for.
inline constexpr std::uint64_t kLeastRate = 1024;

/// Another transfer of his, for as long as what it gives lives. Errors: resource_exhausted.
[[nodiscard]] Result<Shares::Part> begin_transfer(Agent& agent, const std::string& who);
/// Whether a transfer may begin, asked by its job, which may have had to wait for its turn. Errors: resource_exhausted.
[[nodiscard]] Result<> admit_transfer(BlockingPool& pool, std::size_t further);

}  // namespace skiff::runtime::api
