#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "protocol/http/chunked.hpp"
#include "protocol/http/parser.hpp"

namespace {

using namespace skiff::protocol;

struct Read {
  unsigned status = 0;  ///< 200: a whole request; 0: more is needed
  std::string seen;
};

/// Decodes a chunked body, with the bytes cut in two; appends what it found to `read`.
void read_chunks(std::string_view bytes, std::size_t cut, Read& read) {
  ChunkedDecoder decoder;
  std::string rest;
  cut = std::min(cut, bytes.size());
  for (std::string_view piece : {bytes.substr(0, cut), bytes.substr(cut)}) {
    while (!piece.empty() && !decoder.done()) {
      const auto used = decoder.consume(piece);
      if (!used) {
        read.status = 400;
        return;
      }
      if (*used > piece.size()) std::abort();
      piece.remove_prefix(*used);
      const auto payload = static_cast<std::size_t>(std::min<std::uint64_t>(decoder.payload_left(), piece.size()));
      read.seen += piece.substr(0, payload);
      if (payload > 0) decoder.take_payload(payload);
      piece.remove_prefix(payload);
    }
    rest += piece;
  }
  if (decoder.done()) {
    read.seen += "|" + std::string{decoder.trailers().wire()} + "|" + rest;
  } else {
    read.status = 0;
  }
}

Read read_request(std::string_view bytes, std::size_t cut) {
  HeadScanner scanner{{.header_bytes = 4096, .target_bytes = 1024}};
  Read read;
  auto size = scanner.scan(bytes.substr(0, cut));
  if (size && *size == 0) size = scanner.scan(bytes);
  if (!size) {
    read.status = size.error().status;
    return read;
  }
  if (*size == 0) return read;
  auto request = parse_request_head(bytes.substr(0, *size), 1024);
  if (!request) {
    read.status = request.error().status;
    return read;
  }
  read.status = 200;
  read.seen = request->method + request->target_text + std::string{request->headers.wire()};
  // What the parser lets pass must hold nothing that could be read in two ways.
  for (const auto [name, value] : request->headers) {
    if (!is_token(name) || !is_field_value(value)) std::abort();
  }
  if (request->headers.contains("Content-Length") && request->headers.contains("Transfer-Encoding")) std::abort();
  if (request->version >= 11 && request->headers.count("Host") != 1) std::abort();
  if (request->body.kind == BodyFraming::Kind::chunked) read_chunks(bytes.substr(*size), cut, read);
  return read;
}

}  // namespace

/// Wherever the bytes are cut on their way, the same request comes out.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::size_t cut = std::min<std::size_t>(data[0], size - 1);
  const std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
  const Read whole = read_request(bytes, 0);
  const Read pieces = read_request(bytes, cut);
  // A broken line is seen as soon as it is there; a limit only when it is passed: those may differ in which comes
  // first.
  if ((whole.status < 400) != (pieces.status < 400)) std::abort();
  if (whole.status < 400 && (whole.status != pieces.status || whole.seen != pieces.seen)) std::abort();
  return 0;
}
