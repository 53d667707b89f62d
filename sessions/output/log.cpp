#include "sessions/output/log.hpp"

#include <algorithm>
#include <utility>

#include "base/async/deadline.hpp"
#include "sessions/output/state.hpp"

namespace skiff::sessions {

OutputLog::State::State(Executor executor_of_log, OutputBudget::State& budget_of_log, Options options_of_log)
    : executor{executor_of_log},
      budget{budget_of_log},
      options{options_of_log},
      last_output{std::chrono::steady_clock::now()},
      changed{executor},
      exited{executor},
      room{executor} {
  if (options.checksum) checksums = std::make_unique<Checksums>();
  budget.live.push_back(*this);
}

OutputLog::State::~State() {
  // Unlink first: freeing the memory visits all linked logs.
  unlink();
  store.reset();
}

std::uint64_t OutputLog::State::pinned() const noexcept {
  if (!may_wait()) return kNothingPinned;
  if (lossless.empty()) return options.overflow == Overflow::block ? left_at : kNothingPinned;
  if (!least_known) {
    least = kNothingPinned;
    for (const Cursor::State* const reader : lossless) least = std::min(least, reader->offset);
    least_known = true;
  }
  return least;
}

bool OutputLog::State::must_wait() const noexcept {
  if (!may_wait()) return false;
  if (disk_is_behind) return true;
  const std::uint64_t from = pinned();
  const std::uint64_t unread = next > from ? next - from : 0;
  return unread >= options.keep_bytes || (unread > 0 && budget.over());
}

void OutputLog::State::retain() {
  if (!store) return;
  const std::uint64_t tail = options.keep_bytes - kHeadBytes;
  disk_is_behind = !store->retain(next > tail ? next - tail : 0, pinned(), may_wait());
}

void OutputLog::State::wake_producer() {
  if (room.awaited() && !must_wait()) room.notify_all();
}

void OutputLog::State::join(Cursor::State& reader) {
  // A log that never waits gives no reader this right.
  if (!may_wait()) return;
  reader.lossless = true;
  reader.took_at = std::chrono::steady_clock::now();
  lossless.push_back(&reader);
  least_known = false;
  wake_producer();
}

void OutputLog::State::leave(Cursor::State& reader) {
  if (!std::exchange(reader.lossless, false)) return;
  std::erase(lossless, &reader);
  least_known = false;
  left_at = std::min(reader.offset, next);
  if (budget.over()) budget.enforce();
  wake_producer();
}

void OutputLog::State::advanced(std::uint64_t before) {
  if (least_known && before != least) return;
  least_known = false;
  if (budget.over()) budget.enforce();
  wake_producer();
}

std::chrono::milliseconds OutputLog::State::lapse() {
  const SteadyTime now = std::chrono::steady_clock::now();
  const auto patience = budget.limits.lossless_patience;
  auto again = patience;
  for (std::size_t i = lossless.size(); i-- > 0;) {
    Cursor::State& reader = *lossless[i];
    const auto idle = std::chrono::floor<std::chrono::milliseconds>(now - std::max(reader.took_at, waits_since));
    if (idle < patience) {
      again = std::min(again, patience - idle);
    } else if (reader.offset < next) {
      leave(reader);
    }
  }
  return again;
}

OutputLog::OutputLog(Executor executor, OutputBudget& budget, Options options)
    : state_{std::make_unique<State>(executor, *budget.state_, options)} {}
OutputLog::~OutputLog() = default;

std::span<char> OutputLog::prepare() {
  State& log = *state_;
  if (!log.store) return log.budget.segments->spare().first(OutputStore::read_size(log.options.keep_bytes));
  return log.store->room();
}

void OutputLog::append(Stream stream, std::size_t size, bool late) {
  if (size == 0) return;
  State& log = *state_;
  if (!log.store) {
    log.store = std::make_shared<OutputStore>(log.budget, log.options.keep_bytes);
    (void)log.store->room();
  }
  if (log.checksums) {
    (stream == Stream::out ? log.checksums->out : log.checksums->err).add(log.store->appended(size));
  }
  if (!log.store->append(stream, size, late, wall_now())) log.budget.out_of_memory();
  log.next += size;
  log.budget.counts.bytes[stream == Stream::err ? 1 : 0] += size;
  if (stream == Stream::err) log.of_err += size;
  log.last_output = std::chrono::steady_clock::now();

  log.retain();
  if (log.budget.over()) {
    log.budget.enforce_for(log);
    const Spool* const spool = log.budget.spool.get();
    if (log.budget.over() && spool != nullptr && spool->backlogged()) log.disk_is_behind = log.may_wait();
  }
  if (log.options.overflow == Overflow::kill && !log.stopped && log.lossless.empty() &&
      log.next - log.left_at > log.options.keep_bytes) {
    log.overflowed = true;
  }
  if (log.changed.awaited()) log.changed.notify_all();
}

bool OutputLog::must_wait() const noexcept {
  return state_->must_wait();
}
bool OutputLog::overflowed() const noexcept {
  return state_->overflowed;
}

bool OutputLog::waits_for_nobody() const noexcept {
  return state_->options.overflow == Overflow::block && state_->lossless.empty() && !state_->disk_is_behind &&
         state_->must_wait();
}

Task<> OutputLog::room() {
  if (!state_->must_wait()) co_return;
  const auto self = shared_from_this();
  State& log = *state_;
  // The patience with lossless readers runs only while a producer waits for them.
  struct Waiting {
    explicit Waiting(State& waiting) : log{waiting} {
      // Each pipe of a command has a pump; the patience starts when the first of them waits.
      if (log.producers_waiting++ == 0) log.waits_since = std::chrono::steady_clock::now();
    }
    ~Waiting() { --log.producers_waiting; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    State& log;
  } const waiting{log};
  Deadline patience{log.executor, [&] { patience.expires_after(log.lapse()); }};
  // `block` also waits for the next lossless reader, so taking the right from this one would change nothing.
  if (log.options.overflow != Overflow::block) patience.expires_after(log.budget.limits.lossless_patience);
  while (log.must_wait()) co_await log.room.wait();
}

void OutputLog::stop_waiting() {
  state_->stopped = true;
  state_->budget.nothing_to_give = false;
  state_->disk_is_behind = false;
  state_->room.notify_all();
}

void OutputLog::exit(ExitStatus status) {
  State& log = *state_;
  log.exit_status = std::move(status);
  log.exit_at = log.next;
  if (log.store) log.store->end_record();
  log.exited.notify_all();
  log.changed.notify_all();
}

void OutputLog::end() {
  State& log = *state_;
  log.ended = true;
  log.budget.nothing_to_give = false;
  log.unlink();
  log.budget.over_with.push_back(log);
  log.changed.notify_all();
}

std::uint64_t OutputLog::first_kept() const noexcept {
  return state_->store ? state_->store->first_kept() : 0;
}
std::uint64_t OutputLog::next_offset() const noexcept {
  return state_->next;
}
std::uint64_t OutputLog::bytes_of(Stream stream) const noexcept {
  return stream == Stream::err ? state_->of_err : state_->next - state_->of_err;
}
const std::optional<ExitStatus>& OutputLog::exit_status() const noexcept {
  return state_->exit_status;
}
bool OutputLog::ended() const noexcept {
  return state_->ended;
}
SteadyTime OutputLog::last_output() const noexcept {
  return state_->last_output;
}

OutputTotals OutputLog::totals() const {
  OutputTotals totals{.out = bytes_of(Stream::out), .err = bytes_of(Stream::err), .out_sha256 = {}, .err_sha256 = {}};
  if (state_->checksums) {
    totals.out_sha256 = to_hex(state_->checksums->out.digest());
    totals.err_sha256 = to_hex(state_->checksums->err.digest());
  }
  return totals;
}

Task<> OutputLog::exited() {
  const auto self = shared_from_this();
  while (!state_->exit_status) co_await state_->exited.wait();
}

Task<> OutputLog::changed() {
  co_await state_->changed.wait();
}

void OutputLog::wake() {
  ++state_->wakes;
  state_->changed.notify_all();
}

}  // namespace skiff::sessions
