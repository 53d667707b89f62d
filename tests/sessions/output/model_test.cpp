#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "sessions/output/log.hpp"
#include "tests/support/output_test.hpp"

/// Runs random producers and readers against a plain reference: a reader always gets the right bytes, in order, and a
/// gap for all missing bytes.
namespace skiff::sessions {
namespace {

using test::kKiB;
using test::kMiB;
using Kind = LogItem::Kind;

/// Steps of a run; a sanitizer takes many times as long for each.
constexpr int kSteps = SKIFF_TEST_SLOWDOWN == 1 ? 3000 : 250;

struct Case {
  Overflow overflow;
  std::size_t keep_bytes;
  std::size_t memory_bytes;
  bool spool;
  std::uint64_t seed;
};

struct Reader {
  Reader(const std::shared_ptr<OutputLog>& log, Cursor::Options options)
      : cursor{log, options}, only{options.only}, lossless{options.lossless}, opened_at{log->next_offset()} {}
  Cursor cursor;
  std::optional<Stream> only;
  bool lossless;
  std::uint64_t opened_at;
  bool exit_seen = false;
};

class RandomRun {
 public:
  RandomRun(Executor executor, Case test_case)
      : case_{test_case},
        logs_{executor,
              {.memory_bytes = case_.memory_bytes,
               .spool = case_.spool ? directory_.path() : "",
               .spool_bytes = 1024 * kMiB}},
        log_{logs_.make(case_.keep_bytes, case_.overflow, true)},
        random_{case_.seed} {}

  Task<> go() {
    for (int step = 0; step < kSteps && !::testing::Test::HasFatalFailure(); ++step) {
      const std::uint64_t dice = random_() % 100;
      if (dice < 50) {
        if (!log_->must_wait() && model_.size() < 8 * case_.keep_bytes) append(false);
      } else if (dice < 56) {
        if (readers_.size() < 20) open();
      } else if (dice < 60) {
        if (!readers_.empty())
          readers_.erase(readers_.begin() + static_cast<std::ptrdiff_t>(random_() % readers_.size()));
      } else if (!readers_.empty()) {
        Reader& reader = *readers_[random_() % readers_.size()];
        for (auto count = random_() % 8; count > 0; --count) {
          if (!(co_await step_of(&reader))) break;
        }
      }
      if (case_.spool && random_() % 20 == 0)
        co_await boost::asio::post(co_await boost::asio::this_coro::executor, use_task);
    }
    exit_at_ = log_->next_offset();
    log_->exit({});
    for (int i = 0; i < 20; ++i) {
      if (!log_->must_wait()) append(true);
    }
    log_->end();
    for (int i = 0; i < 10; ++i) open();
    readers_.push_back(std::make_unique<Reader>(log_, Cursor::Options{}));
    for (const auto& reader : readers_) {
      while (!reader->cursor.finished() && !::testing::Test::HasFatalFailure()) (void)co_await step_of(reader.get());
      EXPECT_TRUE(reader->exit_seen);
    }
    EXPECT_EQ(log_->next_offset(), model_.size());
    EXPECT_EQ(log_->bytes_of(Stream::out) + log_->bytes_of(Stream::err), model_.size());
    readers_.clear();
    log_.reset();
    co_await logs_.budget.drain();
    EXPECT_EQ(logs_.budget.memory_used(), 0U);
    EXPECT_EQ(logs_.budget.spool_used(), 0U);
    EXPECT_TRUE(directory_.empty());
  }

 private:
  void append(bool late) {
    static constexpr std::array<std::size_t, 6> kSizes{3, 100, 5'000, 70'000, 300'000, 40};
    const std::size_t size = 1 + random_() % kSizes[random_() % kSizes.size()];
    const Stream stream = random_() % 3 == 0 ? Stream::err : Stream::out;
    // Write like a pump: as much as there is room for, and nothing while it has to wait.
    std::string bytes = test::pattern(size, random_());
    std::string_view rest = bytes;
    while (!rest.empty() && !log_->must_wait()) {
      const std::span<char> room = log_->prepare();
      const std::string_view part = rest.substr(0, room.size());
      std::memcpy(room.data(), part.data(), part.size());
      log_->append(stream, part.size(), late);
      model_.add(stream, part, late);
      rest.remove_prefix(part.size());
    }
  }

  void open() {
    Cursor::Options options;
    options.from = random_() % (log_->next_offset() + 1000);
    if (random_() % 3 == 0) options.from = log_->next_offset();
    if (random_() % 3 == 0) options.only = random_() % 2 == 0 ? Stream::out : Stream::err;
    options.lossless = random_() % 3 == 0;
    readers_.push_back(std::make_unique<Reader>(log_, options));
  }

  Task<bool> step_of(Reader* reader) {
    const std::uint64_t before = reader->cursor.offset();
    const std::size_t most = random_() % 4 == 0 ? 1 + random_() % 10 : 1 + random_() % 300'000;
    auto item = reader->cursor.next(most);
    if (!item && (reader->cursor.offset() < log_->next_offset() || log_->ended())) {
      EXPECT_TRUE(case_.spool || reader->cursor.finished()) << "it is in memory";
      for (int i = 0; i < 100 && !item; ++i) {
        co_await reader->cursor.ready();
        item = reader->cursor.next(most);
        if (!item && reader->cursor.offset() >= log_->next_offset() && !log_->ended()) co_return false;
      }
      EXPECT_TRUE(item) << "ready() came back but there was nothing";
    }
    if (!item) co_return false;
    EXPECT_LE(item->bytes.size(), most);
    model_.check(*item, before, reader->only);
    if (item->kind == Kind::output) EXPECT_EQ(item->late, item->offset >= exit_at_);
    if (item->kind == Kind::exit) {
      EXPECT_FALSE(std::exchange(reader->exit_seen, true));
      EXPECT_GE(item->offset, exit_at_);
    }
    if (item->kind == Kind::gap) {
      EXPECT_LT(item->offset, item->next);
      // A gap may only occur if nothing may wait for a slow disk.
      EXPECT_TRUE(!case_.spool || case_.overflow == Overflow::drop) << "the disk has room for everything";
      // When memory is short, an ended log loses its head, too.
      if (!log_->ended() || case_.memory_bytes > case_.keep_bytes) EXPECT_GE(item->offset, OutputLog::kHeadBytes);
      if (reader->lossless && case_.overflow != Overflow::drop) {
        EXPECT_LE(item->next, reader->opened_at) << "a lossless reader lost bytes";
      }
    }
    co_return true;
  }

  const Case case_;
  test::TemporaryDirectory directory_;
  test::Logs logs_;
  std::shared_ptr<OutputLog> log_;
  test::LogModel model_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Reader>> readers_;
  std::uint64_t exit_at_ = std::numeric_limits<std::uint64_t>::max();
};

class OutputModel : public ::testing::TestWithParam<std::tuple<Overflow, std::size_t, bool, bool>> {};

TEST_P(OutputModel, AgreesWithThePlainReference) {
  const auto [overflow, keep, tight, spool] = GetParam();
  for (std::uint64_t seed = 1; seed <= (keep > kMiB || SKIFF_TEST_SLOWDOWN > 1 ? 1U : 3U); ++seed) {
    const Case test_case{.overflow = overflow,
                         .keep_bytes = keep,
                         .memory_bytes = tight ? kMiB : 1024 * kMiB,
                         .spool = spool,
                         .seed = seed};
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::size_t descriptors = test::open_descriptors();
    test::run_on_reactor(
        [&](Executor executor) -> Task<> {
          RandomRun run{executor, test_case};
          co_await run.go();
        },
        std::chrono::seconds{60});
    EXPECT_EQ(test::open_descriptors(), descriptors);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, OutputModel,
    ::testing::Combine(::testing::Values(Overflow::automatic, Overflow::drop, Overflow::block, Overflow::kill),
                       ::testing::Values(128 * kKiB, 3 * kMiB), ::testing::Bool(), ::testing::Bool()));

}  // namespace
}  // namespace skiff::sessions
