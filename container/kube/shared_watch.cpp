#include "container/kube/shared_watch.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace skiff::kube {

SharedWatch::SharedWatch(Client* client, Executor executor, WatchOptions options)
    : client_{client}, executor_{executor}, options_{std::move(options)}, single_{executor}, shared_{executor} {}

SharedWatch::~SharedWatch() = default;

Task<Outcome<>> SharedWatch::begin(Source* source, WatchOptions options) {
  // One list is enough for all readers that come together: each of them gets the changes after it.
  while (source->is_begun && !source->watch) co_await source->begun.wait();
  if (source->watch) co_return Outcome<>{};
  source->is_begun = true;
  const std::unique_ptr<Source, void (*)(Source*)> then{source, [](Source* of) {
                                                          of->is_begun = false;
                                                          of->begun.notify_all();
                                                        }};
  ListOptions one{.label_selector = options.label_selector, .field_selector = options.field_selector, .page = 1};
  SKIFF_CO_TRY(auto page, co_await client_->list_page(options.resource, options.namespace_name, std::move(one)));
  options.resource_version = std::move(page.resource_version);
  source->watch.emplace(client_, std::move(options));
  co_return Outcome<>{};
}

Task<Outcome<SharedWatch::Reader>> SharedWatch::follow(std::string name) {
  WatchOptions options = options_;
  // A second reader does not disturb the first one; it opens the shared watch, which a third reader uses too.
  const bool is_alone = single_.mailboxes.empty() || single_.mailboxes.contains(name);
  const bool is_single = shared_.mailboxes.empty() && is_alone && options.field_selector.empty();
  if (is_single) options.field_selector = "metadata.name=" + name;
  Source& source = is_single ? single_ : shared_;
  Reader reader{&source, source.mailboxes.emplace(std::move(name), executor_)};
  if (!source.watch) {
    SKIFF_CO_TRY_VOID(co_await begin(&source, std::move(options)));
  }
  co_return reader;
}

void SharedWatch::Source::hand_out(WatchEvent event) {
  const auto tell = [](Mailbox& mailbox, const Object* object) {
    mailbox.newest = object != nullptr ? std::optional{*object} : std::nullopt;
    mailbox.has_news = true;
    mailbox.filled.notify_all();
  };
  if (event.kind != WatchEvent::Kind::snapshot) {
    const Object& about = event.objects.front();
    const auto [first, last] = mailboxes.equal_range(about.name());
    const Object* now = event.kind == WatchEvent::Kind::deleted ? nullptr : &about;
    for (auto one = first; one != last; ++one) tell(one->second, now);
    return;
  }
  std::map<std::string, const Object*> there;
  for (const Object& object : event.objects) there.emplace(object.name(), &object);
  for (auto& [name, mailbox] : mailboxes) {
    const auto about = there.find(name);
    tell(mailbox, about == there.end() ? nullptr : about->second);
  }
}

void SharedWatch::Source::hand_out(const Failure& failure) {
  for (auto& [name, mailbox] : mailboxes) {
    mailbox.failure = failure;
    mailbox.filled.notify_all();
  }
}

/// Reads one event for all readers.
Task<> SharedWatch::Source::read() {
  is_read = true;
  const std::unique_ptr<Source, void (*)(Source*)> turn{this, [](Source* of) { of->is_read = false; }};
  auto event = co_await watch->next();
  if (event) {
    hand_out(std::move(*event));
  } else {
    hand_out(event.error());
  }
}

void SharedWatch::Source::pass_on() {
  if (is_read) return;
  const auto next = std::ranges::find_if(mailboxes, [](const auto& one) { return one.second.filled.awaited(); });
  if (next != mailboxes.end()) next->second.filled.notify_all();
}

void SharedWatch::Source::leave(Mailboxes::iterator mailbox) {
  mailboxes.erase(mailbox);
  if (mailboxes.empty()) watch.reset();
}

SharedWatch::Reader::Reader(Reader&& other) noexcept
    : source_{std::exchange(other.source_, nullptr)}, mailbox_{other.mailbox_} {}

SharedWatch::Reader::~Reader() {
  if (source_ != nullptr) source_->leave(mailbox_);
}

Task<Outcome<std::optional<Object>>> SharedWatch::Reader::next() {
  // However this ends, even by a cancellation between a wake-up and the turn, another waiting reader reads on.
  const std::unique_ptr<Source, void (*)(Source*)> then{source_, [](Source* of) { of->pass_on(); }};
  Mailbox& mailbox = mailbox_->second;
  for (;;) {
    if (mailbox.failure) {
      Failure failure = std::move(*mailbox.failure);
      mailbox.failure.reset();
      co_return std::unexpected{std::move(failure)};
    }
    if (mailbox.has_news) {
      mailbox.has_news = false;
      co_return std::exchange(mailbox.newest, std::nullopt);
    }
    if (source_->is_read) {
      co_await mailbox.filled.wait();
    } else {
      co_await source_->read();
    }
  }
}

}  // namespace skiff::kube
