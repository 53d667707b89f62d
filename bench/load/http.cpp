#include "bench/load/http.hpp"

#include <algorithm>
#include <charconv>

#include "bench/load/socket.hpp"

namespace skiff::bench {

namespace {

/// Returns the request line and the fields of every request.
std::string begin_request(const Options& options, std::string_view method, std::string_view path) {
  std::string text(method);
  text.append(" ").append(path).append(" HTTP/1.1\r\nHost: 127.0.0.1:").append(std::to_string(options.port));
  text.append("\r\n");
  if (!options.token.empty()) {
    text.append("Authorization: Bearer ").append(options.token).append("\r\n");
  }
  return text;
}

void append_body(std::string& text, std::string_view type, std::string_view body) {
  text.append("Content-Type: ").append(type).append("\r\nContent-Length: ").append(std::to_string(body.size()));
  text.append("\r\n\r\n").append(body);
}

}  // namespace

std::string upload_head(const Options& options, std::string_view path, std::uint64_t size) {
  std::string text = begin_request(options, options.method, path);
  return text.append("Content-Length: ").append(std::to_string(size) + "\r\n\r\n");
}

std::string connect_text(const Options& options, std::string_view path, std::string_view message) {
  std::string envelope(1, '\0');  // no flags: neither compressed nor the last one
  for (int shift = 24; shift >= 0; shift -= 8) {
    envelope += static_cast<char>(message.size() >> shift);
  }
  std::string text = begin_request(options, "POST", path).append("Connect-Protocol-Version: 1\r\n");
  append_body(text, "application/connect+json", envelope.append(message));
  return text;
}

std::string request_text(const Options& options, std::string_view path, std::string_view body,
                         std::string_view headers) {
  std::string text = begin_request(options, body.empty() ? "GET" : "POST", path);
  text.append(headers);
  if (body.empty()) {
    return text.append("\r\n");
  }
  append_body(text, "application/json", body);
  return text;
}

std::string_view header_value(std::string_view head, std::string_view name) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  while (!head.empty()) {
    const std::size_t end = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + 2, head.size()));
    if (line.size() > name.size() && line[name.size()] == ':' &&
        std::ranges::equal(line.substr(0, name.size()), name, {}, lower)) {
      const std::size_t start = line.find_first_not_of(' ', name.size() + 1);
      return start == std::string_view::npos ? std::string_view{} : line.substr(start);
    }
  }
  return {};
}

void ResponseParser::reset() {
  state_ = State::head;
  status_ = 0;
  left_ = chunks_ = 0;
  head_.clear();
  line_.clear();
}

void ResponseParser::read_head() {
  if (!head_.starts_with("HTTP/1.1 ") ||
      std::from_chars(head_.data() + 9, head_.data() + 12, status_).ec != std::errc()) {
    throw Failure("not an HTTP response: " + head_);
  }
  if (header_value(head_, "transfer-encoding") == "chunked") {
    state_ = State::chunk_size;
  } else {
    const std::string_view length = header_value(head_, "content-length");
    left_ = 0;
    std::from_chars(length.data(), length.data() + length.size(), left_);
    state_ = left_ == 0 ? State::done : State::length;
  }
}

std::size_t ResponseParser::feed(std::string_view data, const Sink& sink) {
  const std::size_t whole = data.size();
  while (!data.empty() && state_ != State::done) {
    switch (state_) {
      case State::head: {
        const std::size_t before = head_.size();
        head_.append(data);
        const std::size_t end = head_.find("\r\n\r\n", before < 3 ? 0 : before - 3);
        if (end == std::string::npos) {
          return whole;
        }
        data.remove_prefix(end + 4 - before);
        head_.resize(end + 2);
        read_head();
        break;
      }
      case State::chunk_size:
      case State::trailers: {
        const std::size_t end = data.find('\n');
        line_.append(data.substr(0, end == std::string_view::npos ? end : end + 1));
        if (end == std::string_view::npos) {
          return whole;
        }
        data.remove_prefix(end + 1);
        if (state_ == State::trailers) {  // line by line, the empty one is the last
          state_ = line_ == "\r\n" || line_.ends_with("\r\n\r\n") ? State::done : State::trailers;
        } else {
          if (std::from_chars(line_.data(), line_.data() + line_.size(), left_, 16).ec != std::errc()) {
            throw Failure("bad chunk size: " + line_);
          }
          line_.clear();
          chunks_ += left_ > 0 ? 1 : 0;
          state_ = left_ == 0 ? State::trailers : State::chunk;
        }
        break;
      }
      case State::length:
      case State::chunk: {
        const std::size_t size = std::min<std::uint64_t>(left_, data.size());
        sink(data.substr(0, size));
        data.remove_prefix(size);
        left_ -= size;
        if (left_ == 0) {
          state_ = state_ == State::chunk ? State::chunk_end : State::done;
          left_ = 2;
        }
        break;
      }
      case State::chunk_end: {
        if (data.front() != (left_ == 2 ? '\r' : '\n')) {
          throw Failure("a chunk is longer than it said");
        }
        data.remove_prefix(1);
        state_ = --left_ == 0 ? State::chunk_size : State::chunk_end;
        break;
      }
      case State::done:
        break;
    }
  }
  return whole - data.size();
}

}  // namespace skiff::bench
