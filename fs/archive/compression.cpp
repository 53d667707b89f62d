#include "fs/archive/compression.hpp"

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "fs/archive/compression_magic.hpp"

namespace skiff::fs {
namespace {

constexpr std::size_t kCompressedBlock = std::size_t{128} << 10U;
constexpr int kGzipLevel = 6;
constexpr int kGzipWindow = 15 + 16;  // the largest window, with a gzip header
constexpr int kZstdLevel = 3;
constexpr int kLargestZstdWindow = 23;  // 8 MiB: the size that RFC 8878 asks a decoder to support

struct EndDeflate {
  void operator()(z_stream* stream) const {
    ::deflateEnd(stream);
    delete stream;
  }
};
struct EndInflate {
  void operator()(z_stream* stream) const {
    ::inflateEnd(stream);
    delete stream;
  }
};
struct FreeZstd {
  void operator()(ZSTD_CCtx* context) const { ::ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ::ZSTD_freeDCtx(context); }
};

std::unexpected<Error> gone() {
  return fail(Errc::cancelled, "the client no longer reads the archive");
}
std::unexpected<Error> no_memory() {
  return fail(Errc::resource_exhausted, "there is no memory to compress or decompress an archive");
}

Bytef* bytes_of(const char* text) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(text));
}

}  // namespace

struct Compressor::State {
  Compression kind;
  ByteSink sink;
  std::vector<char> out = std::vector<char>(kCompressedBlock);
  std::size_t gathered = 0;  ///< bytes of `out` that wait, without compression
  std::unique_ptr<z_stream, EndDeflate> gzip = {};
  std::unique_ptr<ZSTD_CCtx, FreeZstd> zstd = {};

  Result<> deflate(std::string_view bytes, int flush) {
    if (!gzip) return no_memory();
    gzip->next_in = bytes_of(bytes.data());
    gzip->avail_in = static_cast<uInt>(bytes.size());
    for (;;) {
      gzip->next_out = bytes_of(out.data());
      gzip->avail_out = static_cast<uInt>(out.size());
      const int status = ::deflate(gzip.get(), flush);
      if (status == Z_STREAM_ERROR) return fail(Errc::internal, "zlib can't compress");
      if (const std::size_t size = out.size() - gzip->avail_out; size > 0 && !sink({out.data(), size})) return gone();
      if (gzip->avail_out > 0 && (flush == Z_NO_FLUSH || status == Z_STREAM_END)) return {};
    }
  }

  Result<> compress(std::string_view bytes, ZSTD_EndDirective end) {
    if (!zstd) return no_memory();
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (;;) {
      ZSTD_outBuffer filled{out.data(), out.size(), 0};
      const std::size_t left = ::ZSTD_compressStream2(zstd.get(), &filled, &in, end);
      if (::ZSTD_isError(left) != 0) {
        return fail(Errc::internal, std::string{"zstd can't compress: "} + ::ZSTD_getErrorName(left));
      }
      if (filled.pos > 0 && !sink({out.data(), filled.pos})) return gone();
      if (end == ZSTD_e_end ? left == 0 : in.pos == in.size) return {};
    }
  }

  Result<> flush() {
    const std::size_t size = std::exchange(gathered, 0);
    return size == 0 || sink({out.data(), size}) ? Result<>{} : gone();
  }

  /// Joins small pieces: each block costs its receivers a wakeup or more, and an archive of small files has many.
  Result<> gather(std::string_view bytes, bool last) {
    if (bytes.size() > out.size() - gathered) {
      SKIFF_TRY_VOID(flush());
    }
    if (bytes.size() >= out.size()) return sink(bytes) ? Result<>{} : gone();
    gathered += bytes.copy(out.data() + gathered, bytes.size());
    return last ? flush() : Result<>{};
  }

  Result<> write(std::string_view bytes, bool last) {
    switch (kind) {
      case Compression::none:
        return gather(bytes, last);
      case Compression::gzip:
        return deflate(bytes, last ? Z_FINISH : Z_NO_FLUSH);
      case Compression::zstd:
        return compress(bytes, last ? ZSTD_e_end : ZSTD_e_continue);
    }
    return {};
  }
};

Compressor::Compressor(Compression kind, ByteSink sink) : state_{new State{.kind = kind, .sink = std::move(sink)}} {
  if (kind == Compression::gzip) {
    state_->gzip.reset(new z_stream{});
    constexpr int memory = 8;
    if (::deflateInit2(state_->gzip.get(), kGzipLevel, Z_DEFLATED, kGzipWindow, memory, Z_DEFAULT_STRATEGY) != Z_OK) {
      state_->gzip.reset();
    }
  } else if (kind == Compression::zstd) {
    state_->zstd.reset(::ZSTD_createCCtx());
    if (state_->zstd) {
      (void)::ZSTD_CCtx_setParameter(state_->zstd.get(), ZSTD_c_compressionLevel, kZstdLevel);
      (void)::ZSTD_CCtx_setParameter(state_->zstd.get(), ZSTD_c_checksumFlag, 1);
    }
  }
}
Compressor::~Compressor() = default;
Compressor::Compressor(Compressor&&) noexcept = default;
Compressor& Compressor::operator=(Compressor&&) noexcept = default;

Result<> Compressor::write(std::string_view bytes) {
  // Pieces are small because zlib counts in 32 bits and the sink needs bounded blocks.
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kCompressedBlock);
    bytes.remove_prefix(part.size());
    SKIFF_TRY_VOID(state_->write(part, false));
  }
  return {};
}

Result<> Compressor::finish() {
  return state_->write({}, true);
}

struct Decompressor::State {
  ByteSource source;
  Compression kind = Compression::none;
  bool known = false;   ///< `kind` is known
  bool within = false;  ///< inside a stream: an end of input here means that it is truncated
  bool ended = false;   ///< the input has ended
  std::vector<char> in = std::vector<char>(kCompressedBlock);
  std::size_t from = 0, to = 0;  // unused range of `in`
  std::unique_ptr<z_stream, EndInflate> gzip = {};
  std::unique_ptr<ZSTD_DCtx, FreeZstd> zstd = {};

  Result<> fill() {
    if (from > 0) std::memmove(in.data(), in.data() + from, to - from);
    to -= std::exchange(from, 0);
    SKIFF_TRY(const auto got, source(std::span{in}.subspan(to)));
    ended = got == 0;
    to += got;
    return {};
  }

  Result<> find_kind() {
    while (to < kCompressionMagic && !ended) {
      SKIFF_TRY_VOID(fill());
    }
    known = true;
    kind = compression_of({in.data(), to});
    if (kind == Compression::gzip) {
      gzip.reset(new z_stream{});
      if (::inflateInit2(gzip.get(), kGzipWindow) != Z_OK) return no_memory();
    } else if (kind == Compression::zstd) {
      zstd.reset(::ZSTD_createDCtx());
      if (!zstd) return no_memory();
      (void)::ZSTD_DCtx_setParameter(zstd.get(), ZSTD_d_windowLogMax, kLargestZstdWindow);
    }
    return {};
  }

  /// One step: uses some input and fills a part of `into`.
  Result<std::size_t> inflate(std::span<char> into) {
    if (!within) {
      // Ignore data after the last stream, as gzip(1) does: zeros are the padding of tapes.
      if (!std::string_view{in.data() + from, to - from}.starts_with('\x1F')) {
        from = to;
        ended = true;
        return 0;
      }
      ::inflateReset(gzip.get());
      within = true;
    }
    gzip->next_in = bytes_of(in.data() + from);
    gzip->avail_in = static_cast<uInt>(to - from);
    gzip->next_out = bytes_of(into.data());
    gzip->avail_out = static_cast<uInt>(std::min<std::size_t>(into.size(), kCompressedBlock * 8));
    const uInt room = gzip->avail_out;
    const int status = ::inflate(gzip.get(), Z_NO_FLUSH);
    from = to - gzip->avail_in;
    if (status == Z_STREAM_END) {
      within = false;
    } else if (status == Z_MEM_ERROR) {
      return no_memory();
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      return fail(Errc::malformed_archive, "the gzip data is damaged");
    }
    return room - gzip->avail_out;
  }

  Result<std::size_t> decompress(std::span<char> into) {
    ZSTD_inBuffer bytes{in.data() + from, to - from, 0};
    ZSTD_outBuffer filled{into.data(), into.size(), 0};
    const std::size_t status = ::ZSTD_decompressStream(zstd.get(), &filled, &bytes);
    if (::ZSTD_isError(status) != 0) {
      if (::ZSTD_getErrorCode(status) == ZSTD_error_frameParameter_windowTooLarge) {
        return fail(Errc::payload_too_large, "the zstd data needs a window above 8 MiB to decompress");
      }
      return fail(Errc::malformed_archive, std::string{"the zstd data is damaged: "} + ::ZSTD_getErrorName(status));
    }
    from += bytes.pos;
    within = status != 0;
    return filled.pos;
  }

  Result<std::size_t> read(std::span<char> into) {
    if (!known) {
      SKIFF_TRY_VOID(find_kind());
    }
    for (;;) {
      if (kind == Compression::none && from < to) {
        const std::size_t size = std::min(into.size(), to - from);
        std::memcpy(into.data(), in.data() + from, size);
        from += size;
        return size;
      }
      if (kind != Compression::none && (from < to || within)) {
        const std::size_t before = from;
        const auto got = kind == Compression::gzip ? inflate(into) : decompress(into);
        if (!got || *got > 0) return got;
        if (from != before && from < to) continue;
      }
      if (ended) {
        if (within) return fail(Errc::malformed_archive, "the compressed data is truncated");
        return 0;
      }
      SKIFF_TRY_VOID(fill());
    }
  }
};

Decompressor::Decompressor(ByteSource source) : state_{new State{.source = std::move(source)}} {}
Decompressor::~Decompressor() = default;
Decompressor::Decompressor(Decompressor&&) noexcept = default;
Decompressor& Decompressor::operator=(Decompressor&&) noexcept = default;

Result<std::size_t> Decompressor::read(std::span<char> into) {
  return into.empty() ? Result<std::size_t>{0} : state_->read(into);
}

Compression Decompressor::kind() const noexcept {
  return state_->kind;
}

}  // namespace skiff::fs
