#include "runtime/dialects/e2b/files/gunzip.hpp"

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "base/async/beside.hpp"
#include "base/async/channel.hpp"
#include "fs/archive/compression.hpp"
#include "runtime/api/files/pool_stream.hpp"

namespace skiff::runtime::dialects::e2b {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{256} << 10U;
constexpr std::size_t kOnTheWay = std::size_t{1} << 20U;

/// Passes compressed bytes to the thread that writes.
struct Gunzipping {
  explicit Gunzipping(Agent& agent) : endpoint{agent.executor, kOnTheWay, &agent.pools.search} {}
  ToThread endpoint;
  Result<> outcome = fail(Errc::cancelled, "the body was cut short");
};

/// Runs on the thread that writes.
Result<> write_decompressed(Gunzipping& work, fs::Writer& writer) {
  fs::Decompressor decompressor{[&work](std::span<char> into) -> Result<std::size_t> {
    const auto got = work.endpoint.read(into);
    if (!got) return fail(Errc::cancelled, "the body was cut short");
    return *got;
  }};
  const auto block = std::make_unique_for_overwrite<char[]>(kBlockBytes);
  for (;;) {
    SKIFF_TRY(const std::size_t got, decompressor.read({block.get(), kBlockBytes}));
    if (got == 0) break;
    SKIFF_TRY_VOID(writer.write({block.get(), got}));
  }
  if (decompressor.kind() == fs::Compression::gzip) return {};
  return fail(Errc::malformed_archive, "the body is not what gzip makes");
}

Task<> gunzip(BlockingPool* pool, Gunzipping* work, fs::Writer* writer) {
  auto job = [&] {
    try {
      work->outcome = api::admit_transfer(*pool, 0);
      if (work->outcome) work->outcome = write_decompressed(*work, *writer);
    } catch (const std::bad_alloc&) {
      work->outcome = fail(Errc::resource_exhausted, "there is not enough memory for this");
    }
    work->endpoint.leave();
    return true;
  };
  (void)co_await pool->run(std::move(job));
}

/// Ends the thread's input however the receiving ends, so that the thread does not wait for more.
struct Finish {
  explicit Finish(ToThread& of) : endpoint{of} {}
  ~Finish() { endpoint.finish(is_whole); }
  Finish(const Finish&) = delete;
  Finish& operator=(const Finish&) = delete;
  ToThread& endpoint;
  bool is_whole = false;
};

Task<Result<>> receive_compressed(protocol::HttpExchange* http, Gunzipping* work) {
  Finish finish{work->endpoint};
  for (;;) {
    std::string block(kBlockBytes, '\0');
    SKIFF_CO_TRY(auto got, co_await http->read_body_some(block));
    if (got == 0) break;
    block.resize(got);
    // The thread has ended; the outcome says why.
    if (const bool is_wanted = co_await work->endpoint.push(std::move(block)); !is_wanted) co_return Result<>{};
  }
  finish.is_whole = true;
  co_return Result<>{};
}

}  // namespace

Task<Result<>> store_gunzipped(Agent* agent, protocol::HttpExchange* http, fs::Writer* writer) {
  SKIFF_CO_TRY(const auto transfer, api::begin_transfer(*agent, http->who()));
  Gunzipping work{*agent};
  auto received = co_await run_beside(gunzip(&agent->pools.search, &work, writer), receive_compressed(http, &work));
  if (!received) co_return received;
  co_return std::move(work.outcome);
}

}  // namespace skiff::runtime::dialects::e2b
