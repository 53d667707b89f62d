#include "protocol/http/multipart/body.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace skiff::protocol {

Task<Result<>> MultipartBody::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  SKIFF_CO_TRY(auto got, co_await http_.read_body_some({buffer_.get() + end_, kBufferBytes - end_}));
  if (got == 0) co_return fail(Errc::invalid_request, "the multipart body ends before its last boundary");
  end_ += got;
  co_return Result<>{};
}

Task<Result<MultipartParser::Step>> MultipartBody::advance() {
  for (;;) {
    auto step = parser_.next({buffer_.get() + begin_, end_ - begin_});
    if (!step) co_return step;
    if (step->event == MultipartParser::Event::data) co_return step;
    begin_ += step->used;
    if (step->event != MultipartParser::Event::more) co_return step;
    if (step->used > 0) continue;
    SKIFF_CO_TRY_VOID(co_await fill());
  }
}

Task<Result<bool>> MultipartBody::next_part() {
  for (;;) {
    SKIFF_CO_TRY(auto step, co_await advance());
    switch (step.event) {
      case MultipartParser::Event::data:
        begin_ += step.used;
        break;
      case MultipartParser::Event::part:
        in_part_ = true;
        co_return true;
      case MultipartParser::Event::end: {
        // An epilogue has no meaning, but clients may send one.
        char rest[4096];
        for (;;) {
          SKIFF_CO_TRY(auto got, co_await http_.read_body_some(rest));
          if (got == 0) co_return false;
        }
      }
      case MultipartParser::Event::part_end:
      case MultipartParser::Event::more:
        break;
    }
  }
}

Task<Result<std::size_t>> MultipartBody::read_some(std::span<char> into) {
  if (!in_part_) co_return std::size_t{0};
  SKIFF_CO_TRY(auto step, co_await advance());
  if (step.event != MultipartParser::Event::data) {
    in_part_ = false;
    co_return std::size_t{0};
  }
  const std::size_t size = std::min(into.size(), step.bytes.size());
  std::memcpy(into.data(), step.bytes.data(), size);
  begin_ += size;
  co_return size;
}

}  // namespace skiff::protocol
