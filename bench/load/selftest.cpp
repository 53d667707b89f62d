// A test of the load generator itself: each parser gets its input cut at every place.

#include <cstdio>
#include <string>
#include <vector>

#include "bench/load/events.hpp"
#include "bench/load/expected.hpp"
#include "bench/load/grpc.hpp"
#include "bench/load/http.hpp"
#include "bench/load/options.hpp"
#include "bench/load/socket.hpp"
#include "bench/load/websocket.hpp"

namespace skiff::bench {

namespace {

void must(bool holds, const char* what) {
  if (!holds) {
    throw Failure(std::string("selftest: ") + what);
  }
}

template <class Action>
bool fails(Action action) {
  try {
    action();
    return false;
  } catch (const Failure&) {
    return true;
  }
}

void responses() {
  const std::string whole =
      "HTTP/1.1 200 OK\r\nTRANSFER-encoding: chunked\r\n\r\n5\r\nhello\r\nb;x=1\r\n, old world\r\n0\r\nX-Exit-Code: "
      "0\r\n\r\n";
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    ResponseParser parser;
    std::string body;
    const auto sink = [&](std::string_view piece) { body.append(piece); };
    must(parser.feed(whole.substr(0, cut), sink) == cut, "the first part is taken whole");
    must(parser.done() == (cut == whole.size()), "done at the end and not before");
    must(parser.feed(whole.substr(cut) + "HTTP/", sink) == whole.size() - cut, "what follows is left alone");
    must(parser.done() && parser.status() == 200 && body == "hello, old world", "a chunked body");
    must(header_value(parser.trailers(), "x-exit-code") == "0" && parser.chunks() == 2, "trailers");
  }
  must(fails([] {
         ResponseParser().feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n",
                               [](std::string_view) {});
       }),
       "a chunk that is too long is an error");
}

void frames() {
  const std::string payload(70000, 'x');
  std::string whole("\x01\x03one\x89\x02hi\x80\x03two\x82\x7f\0\0\0\0\0\x01\x11\x70", 24);
  whole.append(payload).append("\x82\x7e\x00\x7e", 4).append(126, 'y').append("\x88\x02\x03\xe8", 4);
  for (std::size_t cut = 0; cut <= 200; ++cut) {
    FrameParser parser;
    std::string text, binary, control;
    const auto on_data = [&](bool is_binary, std::string_view piece, bool last) {
      (is_binary ? binary : text).append(piece).append(last ? "|" : "");
    };
    const auto on_control = [&](int opcode, std::string_view data) {
      control.append(std::to_string(opcode)).append(data);
    };
    const std::size_t at = cut < 100 ? cut : whole.size() - (cut - 100);
    parser.feed(std::string_view(whole).substr(0, at), on_data, on_control);
    parser.feed(std::string_view(whole).substr(at), on_data, on_control);
    must(text == "onetwo|" && binary == payload + "|" + std::string(126, 'y') + "|", "messages of frames");
    must(control == "9hi8\x03\xe8" && parser.frames() == 6, "control frames in between");
  }
  must(client_frame(1, "Hello").size() == 11, "a masked frame");
}

void events() {
  const Event event = parse_event(
      R"( {"type" : "output","usage":{"a":[1,"}\"",{}]},"offset":12,"stream":"stdout","data":"a\"b\\","exit_code":null} )");
  must(event.type == "output" && event.offset == "12" && event.data == R"(a\"b\\)" && event.exit_code == "null" &&
           event.has_data && !event.has_base64,
       "members of an event");
  must(fails([] { parse_event(R"({"type":"output)"); }) && fails([] { parse_event("[1]"); }),
       "a broken event is an error");
  std::string scratch;
  must(unescape(R"(a\"b\\\n\u001b\u00e9\/)", scratch) == "a\"b\\\n\x1b\xc3\xa9/", "escapes");

  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes, text;  // all 64 digits, often enough for each lane of the fast path
  for (unsigned i = 0; i < 4096; ++i) {
    text.push_back(digits[(i * 37 + i / 64) % 64]);
  }
  std::string slow;
  for (std::size_t i = 0; i < text.size(); i += 4) {  // four digits are too few for the fast path
    slow.append(decode_base64(text.substr(i, 4), scratch));
  }
  must(decode_base64(text, bytes) == slow && slow.size() == 3072, "base64 fast and slow agree");
  must(decode_base64("aGVsbG8=", scratch) == "hello" && decode_base64("aGVsbA==", scratch) == "hell", "padding");
  for (const std::size_t at : {std::size_t{0}, std::size_t{1000}, std::size_t{4095}}) {
    for (const char wrong : {'-', '_', '.', ':', '@', '[', '`', '{', ' ', '\xff', '\0'}) {
      std::string broken = text;
      broken[at] = wrong;
      must(fails([&] { decode_base64(broken, bytes); }), "what is not base64 is an error");
    }
  }
}

void http2() {
  PatternBlock block(kPatternBytes);
  const std::string content(block.numbered(0), 300);
  std::string messages("\0\0\0\0\x04\x0a\x02\x08\x07", 9);  // a number, output of 300 bytes, an exit with 0
  messages.append("\0\0\0\1\x2f\x12\xac\x02", 8).append(content).append("\0\0\0\0\2\x22\0", 7);
  std::string whole("\0\0\0\4\0\0\0\0\0", 9);  // SETTINGS, then the messages cut into two frames
  whole.append("\0\0\x0a\0\0\0\0\0\1", 9).append(messages, 0, 10);
  whole.append("\0\1\x3a\0\1\0\0\0\1", 9).append(messages, 10);
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    Http2Frames frames;
    StartMessages start;
    Stream stream(block);
    std::string told;
    const auto on_data = [&](std::string_view piece) { start.feed(piece, stream); };
    const auto on_frame = [&](std::uint8_t type, std::uint8_t flags, const std::string&) {
      told.append(std::to_string(type)).append(std::to_string(flags)).append(" ");
    };
    frames.feed(std::string_view(whole).substr(0, cut), on_data, on_frame);
    frames.feed(std::string_view(whole).substr(cut), on_data, on_frame);
    must(told == "40 00 01 ", "frames of HTTP/2");
    must(stream.output.offset() == 300 && stream.messages == 1 && stream.exited, "messages of Start");
  }
  Stream failed(block);
  StartMessages().feed(std::string_view("\0\0\0\0\4\x22\2\x08\1", 9), failed);
  must(!failed.exited, "a code that isn't 0");
  must(process_request("a bc") == std::string("\x0a\7\x0a\1a\x0a\2bc", 9), "a request");
}

void patterns() {
  for (const Pattern pattern : {kPatternBytes, kPatternText, kPatternShort, kPatternZero}) {
    PatternBlock block(pattern);
    std::string whole;
    for (std::uint64_t number = 0; number < 3; ++number) {
      whole.append(block.numbered(number), block.size);
    }
    Expected same(block);
    for (std::size_t at = 0; at < whole.size(); at += 10'007) {
      same.check(std::string_view(whole).substr(at, 10'007));
    }
    must(same.offset() == whole.size(), "a pattern is what it is");
    for (std::size_t at : {std::size_t{0}, block.size - 1, 2 * block.size + 3}) {
      std::string broken = whole;
      broken[at] ^= 1;
      must(fails([&] { Expected(block).check(broken); }), "one changed bit is an error");
    }
    must(pattern == kPatternZero || fails([&] { Expected(block).check(std::string_view(whole).substr(block.size)); }),
         "a lost block is an error");
  }
}

}  // namespace

void run_selftest(const Options& /*options*/) {
  responses();
  frames();
  events();
  http2();
  patterns();
  std::printf("{\"selftest\":\"passed\"}\n");
}

}  // namespace skiff::bench
