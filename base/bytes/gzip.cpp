#include "base/bytes/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <memory>

namespace skiff {
namespace {

/// The largest window, with a gzip header.
constexpr int kGzipWindowBits = 15 + 16;
/// Responses of a Kubernetes API, which are JSON, pack to about a tenth.
constexpr std::size_t kUsualRatio = 10;
constexpr std::size_t kLeastRoom = 4096;

}  // namespace

Result<std::string> unpack_gzip(std::string_view packed, std::size_t limit) {
  // zlib counts in 32 bits.
  if (packed.size() > limit || packed.size() > UINT32_MAX) return fail(Errc::payload_too_large, "it is too large");
  z_stream stream{};
  if (::inflateInit2(&stream, kGzipWindowBits) != Z_OK) return fail(Errc::resource_exhausted, "zlib has no memory");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end{&stream, &::inflateEnd};
  // zlib does not write to the input; it declares the pointer const only in builds with ZLIB_CONST.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  const std::size_t most = limit + 1;
  std::string text(std::min(most, std::max(packed.size() * kUsualRatio, kLeastRoom)), '\0');
  std::size_t size = 0;
  for (;;) {
    const std::size_t room = std::min<std::size_t>(text.size() - size, UINT32_MAX);
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + size);
    stream.avail_out = static_cast<uInt>(room);
    const int status = ::inflate(&stream, Z_NO_FLUSH);
    size += room - stream.avail_out;
    if (status == Z_STREAM_END) break;
    if (status != Z_OK && status != Z_BUF_ERROR) return fail(Errc::invalid_request, "its gzip is damaged");
    if (size < text.size()) {
      if (stream.avail_in == 0) return fail(Errc::invalid_request, "its gzip is truncated");
      continue;
    }
    if (text.size() == most) break;
    text.resize(std::min(most, text.size() * 2));
  }
  if (size > limit) return fail(Errc::payload_too_large, "it is too large unpacked");
  text.resize(size);
  return text;
}

}  // namespace skiff
