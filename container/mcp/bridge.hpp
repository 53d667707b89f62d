#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "base/event.hpp"
#include "base/task_group.hpp"
#include "container/agent/client.hpp"

namespace skiff::container {

class EventStream;

/// The Model Context Protocol over stdio, in front of an agent that speaks it over HTTP: messages are lines, one JSON
/// object each. What the agent says by itself comes as it happens; only notifications and the answers to the client's
/// own requests pass. Reactor thread only.
class McpBridge {
 public:
  static constexpr std::size_t kMostRequests = 64;  ///< under way; further ones are refused
  static constexpr std::size_t kLongestLine = std::size_t{4} << 20U;

  /// How the agent is reached: asked for once, by the first message.
  using Bring = std::function<Task<Result<Endpoint>>()>;
  /// Takes a line for the client, with its newline.
  using Write = std::function<void(std::string_view line)>;

  /// `notice` begins the instructions that a model gets. May be empty.
  McpBridge(Executor executor, Bring bring, Write write, std::string notice = {});
  ~McpBridge();
  McpBridge(const McpBridge&) = delete;
  McpBridge& operator=(const McpBridge&) = delete;

  /// Takes one line of the client, without its newline. One above `kLongestLine` is refused, and may be cut.
  void take(std::string_view line);
  /// Until every request has its answer; those that only listen are not waited for.
  [[nodiscard]] Task<> idle();
  /// Ends what is under way, and the session with the agent. Call it before the object goes away.
  [[nodiscard]] Task<> close();

 private:
  struct Request;
  [[nodiscard]] Task<> forward(std::shared_ptr<Request> request);
  [[nodiscard]] Task<Result<>> exchange(std::shared_ptr<Request> request);
  /// What came of a message: nothing, one answer or a stream of messages.
  [[nodiscard]] Task<Result<>> relay(std::shared_ptr<Request> request, protocol::HttpResponseHead head);
  /// Messages until the stream ends; true when the request's answer was among them.
  [[nodiscard]] Task<Result<bool>> relay_events(AgentClient* agent, EventStream* events, std::string id);
  [[nodiscard]] Task<Result<bool>> resume(std::shared_ptr<Request> request, EventStream* events);
  [[nodiscard]] Task<> hear_news();
  [[nodiscard]] Task<> stay_in_use();
  void cancel(const nlohmann::json& message);
  [[nodiscard]] static bool belongs_to_session(const Request& request);
  /// An `initialize` is under way.
  [[nodiscard]] bool is_greeting() const;
  [[nodiscard]] Task<Result<>> ready();
  [[nodiscard]] Task<> bring_up();
  [[nodiscard]] protocol::Headers fields(const Request* request) const;
  void answer_with(const Request& request, const Error& error);
  /// The answer of a request, with the id that it had, and nothing else that an agent may have put into it.
  void say_answer(const Request& request, const nlohmann::json& answer);
  void say(const nlohmann::json& message);

  Executor executor_;
  const Bring bring_;
  const Write write_;
  const std::string notice_;
  TaskGroup tasks_;
  Event changed_;
  std::optional<Result<Endpoint>> endpoint_;
  bool bringing_ = false;
  std::map<std::string, std::shared_ptr<Request>> requests_;  ///< that wait for an answer, by their ids as JSON
  std::string session_;
  std::string revision_;
};

}  // namespace skiff::container
