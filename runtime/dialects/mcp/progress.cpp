#include "runtime/dialects/mcp/progress.hpp"

#include <boost/asio/basic_waitable_timer.hpp>

#include "protocol/json/text.hpp"

namespace skiff::runtime::mcp {

Task<> tell_progress(std::shared_ptr<Request> request, std::chrono::milliseconds total,
                     std::function<std::string()> message) {
  const nlohmann::json token = request->message.meta("progressToken");
  if (!token.is_string() && !token.is_number_integer()) co_return;
  const std::string begun = R"({"progressToken":)" + json_of(token);
  const auto start = std::chrono::steady_clock::now();
  boost::asio::basic_waitable_timer<std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>,
                                    Executor>
      timer{request->agent.executor};
  for (;;) {
    timer.expires_after(std::chrono::seconds{1});
    co_await timer.async_wait(use_task);
    const auto passed = std::chrono::floor<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
    std::string params = begun;
    protocol::append_json_number(params, "progress", static_cast<std::uint64_t>(passed.count()));
    protocol::append_json_number(params, "total", static_cast<std::uint64_t>(std::max(total, passed).count()));
    protocol::append_json_text(params, "message", message());
    request->job->outbox->push(notification_message("notifications/progress", params + '}'));
  }
}

}  // namespace skiff::runtime::mcp
