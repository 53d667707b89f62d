#include "runtime/api/commands/wait_answer.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include "protocol/json/base64.hpp"
#include "protocol/json/text.hpp"
#include "protocol/json/utf8.hpp"
#include "runtime/api/events.hpp"
#include "runtime/api/kept_output.hpp"

namespace skiff::runtime::api {
namespace {

using protocol::append_json_integer;
using protocol::append_json_key;
using protocol::append_json_string;

void append_stream(std::string& out, std::string_view key, const std::string& bytes) {
  append_json_key(out, key);
  if (protocol::is_valid_utf8(bytes)) {
    append_json_string(out, bytes);
    return;
  }
  append_json_string(out, protocol::to_valid_utf8(bytes));
  append_json_key(out, std::string{key} + "_base64");
  out += '"';
  protocol::append_base64(out, bytes);
  out += '"';
}

}  // namespace

Task<std::string> wait_result(std::shared_ptr<sessions::Command> command, std::size_t max_bytes) {
  const KeptOutput kept = co_await kept_output(command, max_bytes);
  // Each step through a long answer is a turn of its own.
  const Executor executor = co_await boost::asio::this_coro::executor;
  const bool large = kept.out.size() + kept.err.size() > kLargeOutput;

  std::string text;
  text.reserve(kept.out.size() + kept.err.size() + 640);
  text += '{';
  append_json_key(text, "id");
  append_json_string(text, command->id());
  append_json_key(text, "state");
  append_json_string(text, name(command->state()));
  if (large) co_await boost::asio::post(executor, use_task);
  append_stream(text, "stdout", kept.out);
  if (large) co_await boost::asio::post(executor, use_task);
  append_stream(text, "stderr", kept.err);
  append_json_key(text, "omitted_bytes");
  append_per_stream(text, kept.omitted_out, kept.omitted_err);
  append_json_key(text, "truncated");
  text += kept.omitted_out + kept.omitted_err > 0 ? "true" : "false";
  append_json_key(text, "next");
  append_json_integer(text, kept.next);
  append_json_key(text, "started_at");
  append_json_string(text, rfc3339(command->started_at()));
  append_limits(text, command->spec().limits);
  if (const auto& status = command->exit_status()) append_exit_members(text, *status);
  text += '}';
  co_return text;
}

}  // namespace skiff::runtime::api
