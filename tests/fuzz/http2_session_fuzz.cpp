#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "protocol/http2/session.hpp"

namespace {

using namespace skiff::protocol;

void require(bool condition) {
  if (!condition) std::abort();
}

constexpr Http2Limits kFuzzLimits{.streams = 8,
                                  .header_list_bytes = 4096,
                                  .stream_window = 4096,
                                  .connection_window = 65'535,
                                  .continuations = 4,
                                  .queued_frames = 256};

/// What a handler does with a stream, chosen by the input.
void handle(Http2Session& session, Http2Stream& stream, std::uint8_t choice) {
  static constexpr std::array<std::string_view, 2> kParts{"answer", ""};
  require(stream.header_bytes <= kFuzzLimits.header_list_bytes);
  if ((choice & 1) != 0 && !stream.answered) {
    session.respond(stream, {{"a", "b"}}, 200, (choice & 2) != 0);
  }
  if ((choice & 4) != 0 && stream.answered && !stream.closed) {
    stream.outbox = kParts;
    stream.taken = 0;
    session.resume(stream);
  }
  if ((choice & 8) != 0 && stream.answered && !stream.closed) {
    stream.trailers.emplace(Headers{{"t", "u"}});
    session.resume(stream);
  }
  if ((choice & 16) != 0 && !stream.inbox.empty()) {
    const std::size_t size = stream.inbox.size();
    stream.inbox.clear();
    session.consumed(stream, size);
  }
  if ((choice & 32) != 0) session.reset(stream, Http2Code::cancel);
}

}  // namespace

/// Whatever comes, nothing is held beyond the limits, and a session that has failed says so once.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  boost::asio::io_context io;
  Http2Session session{io.get_executor(), kFuzzLimits};
  std::vector<std::shared_ptr<Http2Stream>> streams;
  session.feed("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  std::string out;
  while (size > 0) {
    const std::uint8_t choice = *data++;
    --size;
    const std::size_t step = std::min<std::size_t>(size, 1U + (choice & 63U));
    session.feed({reinterpret_cast<const char*>(data), step});
    data += step;
    size -= step;
    for (auto& stream : session.take_requests()) streams.push_back(std::move(stream));
    std::size_t waiting = 0;
    for (const auto& stream : streams) {
      handle(session, *stream, choice);
      waiting += stream->inbox.size();
    }
    require(waiting <= kFuzzLimits.connection_window);
    require(session.streams() <= kFuzzLimits.streams);
    out.clear();
    session.produce(out, 1024);
    require(out.size() < (std::size_t{1} << 20U));
    std::erase_if(streams, [](const auto& stream) { return stream->closed.has_value(); });
  }
  if (!session.reads()) {
    session.feed("more");
    out.clear();
    session.produce(out, 1024);
  }
  session.abandon();
  for (const auto& stream : streams) require(stream->closed.has_value());
  return 0;
}
