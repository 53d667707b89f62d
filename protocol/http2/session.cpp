#include "protocol/http2/session.hpp"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

namespace skiff::protocol {
namespace {

// What frames cost (see FrameMeter). A stream that is reset before it was answered has cost the most: a process may
// have been started for it.
constexpr std::uint32_t kAnyFrame = 1;
constexpr std::uint32_t kSettings = 10;
constexpr std::uint32_t kReset = 4;
constexpr std::uint32_t kAnswerEarns = 3;
constexpr std::uint32_t kDataEarns = 2;

constexpr std::size_t kFrameHead = 9;                  // RFC 9113, 4.1
constexpr std::uint32_t kUnlimited = (1U << 31U) - 1;  // streams

std::string_view view(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

nghttp2_nv field(std::string_view name, std::string_view value) {
  // The library copies both; it wants them writable for those that it is told not to copy.
  return {.name = reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
          .value = reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())),
          .namelen = name.size(),
          .valuelen = value.size(),
          .flags = NGHTTP2_NV_FLAG_NONE};
}

std::vector<nghttp2_nv> fields_of(const Headers& headers) {
  std::vector<nghttp2_nv> fields;
  fields.reserve(headers.size() + 1);
  for (const auto& [name, value] : headers) fields.push_back(field(name, value));
  return fields;
}

std::string big_endian(std::uint32_t number) {
  std::string text;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) text += static_cast<char>(number >> shift);
  return text;
}

std::string go_away_frame(std::int32_t last_stream, Http2Code code) {
  const std::string head{0, 0, 8, NGHTTP2_GOAWAY, 0, 0, 0, 0, 0};
  return head + big_endian(static_cast<std::uint32_t>(last_stream)) + big_endian(static_cast<std::uint32_t>(code));
}

void check(int code) {
  // All that fails here for another reason is about a stream that is over by now.
  if (code == NGHTTP2_ERR_NOMEM) throw std::bad_alloc{};
}

}  // namespace

/// The library's callbacks; `user_data` is the session. No exception may pass through the library.
struct Http2Session::Callbacks {
  template <class Work>
  static int guarded(Work work) noexcept {
    try {
      return work();
    } catch (const std::bad_alloc&) {
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
  }

  static Http2Session& self(void* user_data) { return *static_cast<Http2Session*>(user_data); }

  static int on_begin_frame(nghttp2_session* /*session*/, const nghttp2_frame_hd* head, void* user_data) {
    return self(user_data).admit(head->type, head->flags, head->length) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
  }

  static int on_begin_headers(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* user_data) {
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    return guarded([&my = self(user_data), id = frame->hd.stream_id] { return my.admit_stream(id); });
  }

  static int on_header(nghttp2_session* /*session*/, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t /*flags*/,
                       void* user_data) {
    if (frame->hd.type != NGHTTP2_HEADERS) return 0;
    return guarded([&] {
      return self(user_data).take_field(frame->hd.stream_id, view(name, name_size), view(value, value_size));
    });
  }

  static int on_frame(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* user_data) {
    auto& my = self(user_data);
    if (frame->hd.type == NGHTTP2_SETTINGS && (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) my.greeted_ = true;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    Http2Stream* const stream = my.find(frame->hd.stream_id);
    if (stream == nullptr || stream->closed) return 0;
    return guarded([&] {
      const bool begins = frame->hd.type == NGHTTP2_HEADERS && !std::exchange(stream->announced, true);
      if (begins) my.requests_.push_back(my.streams_.at(stream->id));
      if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
        stream->ended = true;
        stream->changed.notify_all();
      }
      return 0;
    });
  }

  static int on_data(nghttp2_session* session, std::uint8_t /*flags*/, std::int32_t id, const std::uint8_t* data,
                     std::size_t size, void* user_data) {
    return guarded([&] {
      Http2Stream* const stream = self(user_data).find(id);
      if (stream != nullptr && !stream->closed) {
        stream->inbox.append(view(data, size));
        self(user_data).held_ += size;
        stream->changed.notify_all();
      } else {
        check(nghttp2_session_consume_connection(session, size));
      }
      return 0;
    });
  }

  /// RFC 9113, 8.1: who has answered in full without the rest of the request says that it is not wanted.
  static int on_sent(nghttp2_session* session, const nghttp2_frame* frame, void* user_data) {
    const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (!ends || (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)) return 0;
    Http2Stream* const stream = self(user_data).find(frame->hd.stream_id);
    if (stream == nullptr || stream->ended || stream->closed) return 0;
    return guarded([&] {
      check(nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_NO_ERROR));
      return 0;
    });
  }

  static int on_close(nghttp2_session* /*session*/, std::int32_t id, std::uint32_t code, void* user_data) {
    return guarded([&] {
      auto& my = self(user_data);
      Http2Stream* const stream = my.find(id);
      if (stream != nullptr && !stream->closed) my.close(*stream, static_cast<Http2Code>(code));
      my.streams_.erase(id);
      return 0;
    });
  }

  static ssize_t read_data(nghttp2_session* session, std::int32_t id, std::uint8_t* /*buffer*/, std::size_t most,
                           std::uint32_t* flags, nghttp2_data_source* source, void* /*user_data*/) {
    auto& stream = *static_cast<Http2Stream*>(source->ptr);
    std::size_t size = 0;
    for (const std::string_view part : stream.outbox) size += part.size();
    size -= stream.taken;
    if (size > most) {
      *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
      return static_cast<ssize_t>(most);
    }
    if (stream.trailers) {
      const int submitted = guarded([&] {
        const auto fields = fields_of(*stream.trailers);
        return nghttp2_submit_trailer(session, id, fields.data(), fields.size());
      });
      if (submitted != 0) return NGHTTP2_ERR_CALLBACK_FAILURE;
      *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    } else if (size == 0) {
      return NGHTTP2_ERR_DEFERRED;
    }
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    return static_cast<ssize_t>(size);
  }

  /// Right after `read_data`, which told how much.
  static int send_data(nghttp2_session* /*session*/, nghttp2_frame* /*frame*/, const std::uint8_t* head,
                       std::size_t size, nghttp2_data_source* source, void* user_data) {
    return guarded([&my = self(user_data), &stream = *static_cast<Http2Stream*>(source->ptr), head, size] {
      my.out_->append(view(head, kFrameHead));
      std::size_t left = size;
      while (!stream.outbox.empty()) {
        const std::string_view part = stream.outbox.front().substr(stream.taken, left);
        my.out_->append(part);
        left -= part.size();
        stream.taken += part.size();
        if (stream.taken < stream.outbox.front().size()) break;
        stream.outbox = stream.outbox.subspan(1);
        stream.taken = 0;
      }
      my.meter_.earn(kDataEarns);
      if (stream.outbox.empty()) stream.changed.notify_all();
      return my.out_->size() >= my.enough_ ? static_cast<int>(NGHTTP2_ERR_PAUSE) : 0;
    });
  }

  static std::unique_ptr<nghttp2_session, Delete> make(Http2Session* session, const Http2Limits& limits) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_option* options = nullptr;
    if (nghttp2_session_callbacks_new(&callbacks) != 0) throw std::bad_alloc{};
    const std::unique_ptr<nghttp2_session_callbacks, decltype(&nghttp2_session_callbacks_del)> free_callbacks{
        callbacks, nghttp2_session_callbacks_del};
    if (nghttp2_option_new(&options) != 0) throw std::bad_alloc{};
    const std::unique_ptr<nghttp2_option, decltype(&nghttp2_option_del)> free_options{options, nghttp2_option_del};
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, send_data);
    nghttp2_option_set_no_auto_window_update(options, 1);
    nghttp2_option_set_no_closed_streams(options, 1);
    // The meter looks after both, and tells ENHANCE_YOUR_CALM.
    nghttp2_option_set_stream_reset_rate_limit(options, limits.frames.burst, limits.frames.burst);
    nghttp2_option_set_max_continuations(options, limits.continuations + 1);
    nghttp2_session* made = nullptr;
    if (nghttp2_session_server_new2(&made, callbacks, session, options) != 0) throw std::bad_alloc{};
    return std::unique_ptr<nghttp2_session, Delete>{made};
  }
};

void Http2Session::Delete::operator()(nghttp2_session* session) const noexcept {
  nghttp2_session_del(session);
}

Http2Session::Http2Session(Executor executor, const Http2Limits& limits)
    : executor_{executor},
      limits_{limits},
      meter_{limits.frames, std::chrono::steady_clock::now()},
      session_{Callbacks::make(this, limits_)} {
  // The first entry is put right in what goes out: above a limit that it knows, the library ends the connection, and
  // only the stream is to be refused (RFC 9113, 5.1.2). `admit_stream` does.
  //
  // Without RFC 7540's priorities, which RFC 9113 took back: no stream is worth more than another.
  const std::array settings{nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, kUnlimited},
                            nghttp2_settings_entry{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits_.stream_window},
                            nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits_.header_list_bytes},
                            nghttp2_settings_entry{NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1}};
  check(nghttp2_submit_settings(session_.get(), NGHTTP2_FLAG_NONE, settings.data(), settings.size()));
  const std::uint8_t* bytes = nullptr;
  const auto size = nghttp2_session_mem_send(session_.get(), &bytes);
  if (size < 0) throw std::bad_alloc{};
  greeting_ = view(bytes, static_cast<std::size_t>(size));
  greeting_.replace(kFrameHead + 2, 4, big_endian(limits_.streams));
  check(nghttp2_session_set_local_window_size(session_.get(), NGHTTP2_FLAG_NONE, 0,
                                              static_cast<std::int32_t>(limits_.connection_window)));
}

Http2Session::~Http2Session() = default;

bool Http2Session::admit(unsigned type, unsigned flags, std::size_t length) {
  std::uint32_t cost = kAnyFrame;
  switch (type) {
    case NGHTTP2_DATA:
      if (length > 0 || (flags & NGHTTP2_FLAG_END_STREAM) != 0) cost = 0;
      break;
    case NGHTTP2_HEADERS:
      continuations_ = 0;
      break;
    case NGHTTP2_CONTINUATION:
      if (++continuations_ > limits_.continuations) calm_down_ = true;
      break;
    case NGHTTP2_SETTINGS:
      cost = kSettings;
      break;
    case NGHTTP2_RST_STREAM:
      cost = kReset;
      break;
    default:
      break;
  }
  if (!meter_.pay(cost, std::chrono::steady_clock::now())) calm_down_ = true;
  return !calm_down_;
}

int Http2Session::admit_stream(std::int32_t id) {
  if (streams_.size() < limits_.streams) {
    streams_.emplace(id, std::make_shared<Http2Stream>(executor_, id));
    return 0;
  }
  check(nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM));
  return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

int Http2Session::take_field(std::int32_t id, std::string_view name, std::string_view value) {
  Http2Stream* const stream = find(id);
  if (stream == nullptr) return 0;
  constexpr std::size_t kOverhead = 32;  // RFC 9113, 6.5.2
  stream->header_bytes += name.size() + value.size() + kOverhead;
  if (stream->header_bytes > limits_.header_list_bytes) {
    check(nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_ENHANCE_YOUR_CALM));
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }
  if (stream->announced) return 0;  // trailers: nobody asks for them
  stream->kept_bytes += name.size() + value.size() + kOverhead;
  held_ += name.size() + value.size() + kOverhead;
  auto& request = stream->request;
  if (name == ":method") {
    request.method = value;
  } else if (name == ":path") {
    request.path = value;
  } else if (name == ":authority") {
    request.authority = value;
  } else if (!name.starts_with(':')) {
    request.headers.add(name, value);
  }
  return 0;
}

Http2Stream* Http2Session::find(std::int32_t id) const {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : found->second.get();
}

void Http2Session::close(Http2Stream& stream, Http2Code code) {
  if (!stream.inbox.empty()) {
    check(nghttp2_session_consume_connection(session_.get(), stream.inbox.size()));
    held_ -= stream.inbox.size();
    std::string{}.swap(stream.inbox);
  }
  forget_head(stream);
  stream.closed = code;
  stream.outbox = {};
  stream.changed.notify_all();
}

void Http2Session::forget_head(Http2Stream& stream) noexcept {
  (void)std::exchange(stream.request, {});  // assigning empty strings would keep the memory
  held_ -= std::exchange(stream.kept_bytes, 0);
}

void Http2Session::feed(std::string_view bytes) {
  if (failed_) return;
  const auto used =
      nghttp2_session_mem_recv(session_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (used == NGHTTP2_ERR_NOMEM) throw std::bad_alloc{};
  if (calm_down_ || used == NGHTTP2_ERR_FLOODED || used == NGHTTP2_ERR_TOO_MANY_CONTINUATIONS ||
      nghttp2_session_get_outbound_queue_size(session_.get()) > limits_.queued_frames) {
    fail(Http2Code::enhance_your_calm);
  } else if (used == NGHTTP2_ERR_CALLBACK_FAILURE) {
    fail(Http2Code::internal_error);  // there was no memory
  } else if (used < 0) {
    fail(Http2Code::protocol_error);
  }
}

std::vector<std::shared_ptr<Http2Stream>> Http2Session::take_requests() {
  auto requests = std::exchange(requests_, {});
  std::erase_if(requests, [](const auto& stream) { return stream->closed.has_value(); });
  return requests;
}

void Http2Session::produce(std::string& out, std::size_t enough) {
  out += std::exchange(greeting_, {});
  if (failed_) {
    out += std::exchange(last_words_, {});
    return;
  }
  out_ = &out;
  enough_ = enough;
  while (out.size() < enough) {
    const std::size_t before = out.size();
    const std::uint8_t* bytes = nullptr;
    const auto size = nghttp2_session_mem_send(session_.get(), &bytes);
    if (size == NGHTTP2_ERR_NOMEM) throw std::bad_alloc{};
    if (size < 0) {
      fail(Http2Code::internal_error);
      out += std::exchange(last_words_, {});
      break;
    }
    if (size > 0) out.append(view(bytes, static_cast<std::size_t>(size)));
    if (out.size() == before) break;
  }
  out_ = nullptr;
}

bool Http2Session::reads() const noexcept {
  return !failed_ && nghttp2_session_want_read(session_.get()) != 0;
}

bool Http2Session::finished() const noexcept {
  return failed_ || (going_ && streams_.empty()) ||
         (nghttp2_session_want_read(session_.get()) == 0 && nghttp2_session_want_write(session_.get()) == 0);
}

void Http2Session::respond(Http2Stream& stream, const Headers& head, unsigned status, bool with_body) {
  if (stream.closed || failed_) return;
  stream.answered = true;
  const std::string code = std::to_string(status);
  auto fields = fields_of(head);
  fields.insert(fields.begin(), field(":status", code));
  nghttp2_data_provider body{.source = {.ptr = &stream}, .read_callback = Callbacks::read_data};
  check(nghttp2_submit_response(session_.get(), stream.id, fields.data(), fields.size(), with_body ? &body : nullptr));
  meter_.earn(kAnswerEarns);
}

void Http2Session::resume(Http2Stream& stream) {
  if (!stream.closed && !failed_) check(nghttp2_session_resume_data(session_.get(), stream.id));
}

void Http2Session::consumed(Http2Stream& stream, std::size_t bytes) {
  if (stream.closed || failed_) return;
  held_ -= bytes;
  check(nghttp2_session_consume(session_.get(), stream.id, bytes));
}

void Http2Session::reset(Http2Stream& stream, Http2Code code) {
  if (stream.closed || failed_) return;
  check(nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream.id, static_cast<std::uint32_t>(code)));
  close(stream, code);
}

void Http2Session::ping() {
  if (!failed_) check(nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr));
}

void Http2Session::go_away() {
  if (failed_ || std::exchange(going_, true)) return;
  check(nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE,
                              nghttp2_session_get_last_proc_stream_id(session_.get()), NGHTTP2_NO_ERROR, nullptr, 0));
}

void Http2Session::abandon() {
  failed_ = true;
  held_ = 0;
  for (const auto& [id, stream] : std::exchange(streams_, {})) {
    stream->closed = Http2Code::cancel;
    stream->kept_bytes = 0;
    stream->outbox = {};
    stream->changed.notify_all();
  }
}

void Http2Session::fail(Http2Code code) {
  if (failed_) return;
  last_words_ = go_away_frame(nghttp2_session_get_last_proc_stream_id(session_.get()), code);
  abandon();
}

}  // namespace skiff::protocol
