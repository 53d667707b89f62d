#include "runtime/dialects/python_runtime/execute_answer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "protocol/json/text.hpp"
#include "protocol/json/utf8.hpp"
#include "runtime/reader/outcome.hpp"

namespace skiff::runtime::dialects::python_runtime {
namespace {

constexpr std::string_view kFailed = "Failed to execute command: ";
constexpr int kTimedOutForClient = 124;

/// The number of bytes that each byte takes in a JSON string.
constexpr std::array<std::uint8_t, 256> kJsonBytes = [] {
  std::array<std::uint8_t, 256> sizes{};
  sizes.fill(1);
  for (std::size_t c = 0; c < 0x20; ++c) sizes[c] = 6;
  for (const char c : {'"', '\\', '\b', '\f', '\n', '\r', '\t'}) sizes[static_cast<unsigned char>(c)] = 2;
  return sizes;
}();

std::size_t json_bytes(std::string_view text) {
  std::size_t sum = 0;
  for (const char c : text) sum += kJsonBytes[static_cast<unsigned char>(c)];
  return sum;
}

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// Cuts the middle out, so that the rest takes at most `room` bytes in JSON. Returns the number of bytes that were cut.
std::size_t shorten(std::string& text, std::size_t room) {
  std::size_t head = 0;
  for (std::size_t used = 0; head < text.size(); ++head) {
    used += kJsonBytes[static_cast<unsigned char>(text[head])];
    if (used > room / 2) break;
  }
  std::size_t tail = text.size();
  for (std::size_t used = 0; tail > head; --tail) {
    used += kJsonBytes[static_cast<unsigned char>(text[tail - 1])];
    if (used > room / 2) break;
  }
  while (head > 0 && head < text.size() && continues_character(text[head])) --head;
  while (tail < text.size() && continues_character(text[tail])) ++tail;
  text.erase(head, tail - head);
  return tail - head;
}

std::string bytes_of_output(std::uint64_t out, std::uint64_t err) {
  std::string text;
  if (out > 0) text = std::to_string(out) + " bytes of stdout";
  if (err > 0) text += (out > 0 ? " and " : "") + std::to_string(err) + " bytes of stderr";
  return text;
}

void add_line(std::string& text, std::string_view line) {
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  text += line;
  text += '\n';
}

std::string in_seconds(std::chrono::milliseconds time) {
  std::array<char, 32> digits{};
  const double seconds = static_cast<double>(time.count()) / 1000;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), seconds, std::chars_format::fixed).ptr;
  return {digits.data(), end};
}

std::string answer_of(std::string_view out, std::string_view err, const Executed& how, bool tells_timeout) {
  std::string body;
  body.reserve(out.size() + out.size() / 8 + err.size() + err.size() / 8 + 96);
  body += '{';
  protocol::append_json_key(body, "stdout");
  protocol::append_json_string(body, out);
  protocol::append_json_key(body, "stderr");
  protocol::append_json_string(body, err);
  protocol::append_json_key(body, "exit_code");
  protocol::append_json_integer(body, static_cast<std::int64_t>(how.exit_code));
  if (tells_timeout || how.timed_out) protocol::append_json_flag(body, "timed_out", how.timed_out);
  return body + '}';
}

}  // namespace

Executed executed(const sessions::ExitStatus& status, std::chrono::milliseconds limit, bool asked) {
  using sessions::Cause;
  if (status.failure) return {.exit_code = 1, .note = std::string{kFailed} + status.failure->message};
  if (status.cause == Cause::timeout) {
    return {.exit_code = asked ? kTimedOutForClient : 1,
            .timed_out = true,
            .note = std::string{kFailed} + "it timed out after " + in_seconds(limit) + " seconds"};
  }
  Executed how{.exit_code = python_exit_code(status)};
  if (status.cause != Cause::exited && status.cause != Cause::signaled) {
    how.note = "The command was ended by the agent: " + std::string{name(status.cause)};
  }
  return how;
}

std::string execute_answer(const api::KeptOutput& output, const Executed& how, bool tells_timeout, std::size_t most) {
  std::string out = protocol::to_valid_utf8(output.out);
  std::string err = protocol::to_valid_utf8(output.err);
  std::uint64_t omitted_out = output.omitted_out;
  std::uint64_t omitted_err = output.omitted_err;
  const std::size_t out_bytes = json_bytes(out);
  const std::size_t err_bytes = json_bytes(err);
  if (out_bytes + err_bytes > most) {
    // The smaller stream stays whole, if it fits into half of the room.
    const std::size_t out_room = std::min(out_bytes, std::max(most / 2, most - std::min(most, err_bytes)));
    if (out_bytes > out_room) omitted_out += shorten(out, out_room);
    if (err_bytes > most - out_room) omitted_err += shorten(err, most - out_room);
  }
  if (omitted_out + omitted_err > 0) {
    add_line(err, "[skiffd: " + bytes_of_output(omitted_out, omitted_err) + " are left out of this answer]");
  }
  if (!how.note.empty()) add_line(err, how.note);
  return answer_of(out, err, how, tells_timeout);
}

std::string failed_answer(std::string_view why, bool tells_timeout) {
  return answer_of({}, std::string{kFailed} + protocol::to_valid_utf8(why), {.exit_code = 1}, tells_timeout);
}

}  // namespace skiff::runtime::dialects::python_runtime
