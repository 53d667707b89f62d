#pragma once

#include <zlib.h>

#include <stdexcept>
#include <string>

namespace skiff::test {

/// Compresses a text as for `Content-Encoding: gzip`.
inline std::string gzip_bytes(std::string text) {
  z_stream stream{};
  if (::deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::runtime_error{"zlib"};
  std::string packed(::deflateBound(&stream, text.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int status = ::deflate(&stream, Z_FINISH);
  packed.resize(packed.size() - stream.avail_out);
  ::deflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error{"zlib"};
  return packed;
}

}  // namespace skiff::test
