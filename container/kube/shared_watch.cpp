#include "container/kube/shared_watch.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace skiff::kube {

SharedWatch::SharedWatch(Client* client, Executor executor, WatchOptions options)
    : client_{client}, executor_{executor}, options_{std::move(options)} {}

SharedWatch::~SharedWatch() = default;

Task<Outcome<>> SharedWatch::begin() {
  ListOptions one{.label_selector = options_.label_selector, .field_selector = options_.field_selector, .page = 1};
  auto page = co_await client_->list_page(options_.resource, options_.namespace_name, std::move(one));
  if (!page) co_return std::unexpected{std::move(page.error())};
  // Another reader may have begun it meanwhile, and earlier than this one needs.
  if (watch_) co_return Outcome<>{};
  WatchOptions from = options_;
  from.resource_version = std::move(page->resource_version);
  watch_.emplace(client_, std::move(from));
  co_return Outcome<>{};
}

Task<Outcome<SharedWatch::Reader>> SharedWatch::follow(std::string name) {
  Reader reader{this, mailboxes_.emplace(mailboxes_.end(), executor_, std::move(name))};
  if (!watch_) {
    auto begun = co_await begin();
    if (!begun) co_return std::unexpected{std::move(begun.error())};
  }
  co_return reader;
}

void SharedWatch::hand_out(WatchEvent event) {
  const bool is_snapshot = event.kind == WatchEvent::Kind::snapshot;
  for (Mailbox& mailbox : mailboxes_) {
    const auto about = std::ranges::find(event.objects, mailbox.name, &Object::name);
    if (about == event.objects.end() && !is_snapshot) continue;
    const bool is_there = about != event.objects.end() && event.kind != WatchEvent::Kind::deleted;
    mailbox.newest = is_there ? std::optional{*about} : std::nullopt;
    mailbox.has_news = true;
    mailbox.filled.notify_all();
  }
}

void SharedWatch::hand_out(const Failure& failure) {
  for (Mailbox& mailbox : mailboxes_) {
    mailbox.failure = failure;
    mailbox.filled.notify_all();
  }
}

/// One event, for all who read.
Task<> SharedWatch::read() {
  is_read_ = true;
  const std::unique_ptr<SharedWatch, void (*)(SharedWatch*)> turn{this, [](SharedWatch* of) { of->is_read_ = false; }};
  auto event = co_await watch_->next();
  if (event) {
    hand_out(std::move(*event));
  } else {
    hand_out(event.error());
  }
}

void SharedWatch::pass_on() {
  if (is_read_) return;
  const auto next = std::ranges::find_if(mailboxes_, [](const Mailbox& one) { return one.filled.awaited(); });
  if (next != mailboxes_.end()) next->filled.notify_all();
}

void SharedWatch::leave(std::list<Mailbox>::iterator mailbox) {
  mailboxes_.erase(mailbox);
  if (mailboxes_.empty()) watch_.reset();
}

SharedWatch::Reader::Reader(Reader&& other) noexcept
    : watch_{std::exchange(other.watch_, nullptr)}, mailbox_{other.mailbox_} {}

SharedWatch::Reader::~Reader() {
  if (watch_ != nullptr) watch_->leave(mailbox_);
}

Task<Outcome<std::optional<Object>>> SharedWatch::Reader::next() {
  // However this ends, also by a cancellation between a wake-up and its turn: somebody who waits reads on.
  const std::unique_ptr<SharedWatch, void (*)(SharedWatch*)> then{watch_, [](SharedWatch* of) { of->pass_on(); }};
  for (;;) {
    if (mailbox_->failure) {
      Failure failure = std::move(*mailbox_->failure);
      mailbox_->failure.reset();
      co_return std::unexpected{std::move(failure)};
    }
    if (mailbox_->has_news) {
      mailbox_->has_news = false;
      co_return std::exchange(mailbox_->newest, std::nullopt);
    }
    if (watch_->is_read_) {
      co_await mailbox_->filled.wait();
    } else {
      co_await watch_->read();
    }
  }
}

}  // namespace skiff::kube
