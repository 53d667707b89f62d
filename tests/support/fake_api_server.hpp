#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/async/event.hpp"
#include "container/kube/auth/access.hpp"
#include "container/kube/objects/object.hpp"
#include "protocol/http/server/exchange.hpp"
#include "tests/protocol/http/raw_client.hpp"

namespace skiff::kube::fakes {

/// NOT a Kubernetes API server, but an imitation in memory of the verbs that skiff uses, for what the real one can't be
/// made to do on demand: `before` sees each request first, and may change the objects under the client's hands, fail
/// it, lose its answer, or lie. What it imitates was measured at a real one (statuses, reasons, the order of events);
/// the real one has tests of its own in tests/kubernetes.
///
/// It plays controllers where a test would wait for them: a Pod that is created is Ready at once, what has no owner any
/// more is collected. The pages of a list show the present, not one moment. Schemas are not checked. Stop it before it
/// goes out of scope.
class FakeApiServer {
 public:
  using Json = nlohmann::json;
  /// The text at a JSON pointer, or nothing.
  [[nodiscard]] static std::string text_of(const Json& json, std::string_view pointer);

  struct Request {
    std::string method = {};
    std::string path = {};  ///< without the query
    std::map<std::string, std::string> query = {};
    std::string type = {};  ///< of the body
    std::string text = {};  ///< the body
    Json body = {};         ///< null when there is none, or no JSON

    /// Whether it has this method and its path ends so: "DELETE", "/pods/a".
    [[nodiscard]] bool is(std::string_view verb, std::string_view path_end) const {
      return method == verb && path.ends_with(path_end);
    }
    /// The parameter of the query; empty when it is missing.
    [[nodiscard]] std::string parameter(const std::string& name) const;
    [[nodiscard]] bool is_watch() const { return query.contains("watch"); }
    [[nodiscard]] bool is_dry_run() const { return query.contains("dryRun"); }
  };

  struct Answer {
    unsigned status = 200;
    std::string body = {};
    protocol::Headers headers = {{"Content-Type", "application/json"}};
    bool is_cut = false;          ///< the connection breaks before the body's end
    bool is_carried_out = false;  ///< the request has had its effect all the same
  };
  /// A `Status` as the API server words it.
  [[nodiscard]] static Answer refusal(unsigned code, std::string_view reason, std::string_view message,
                                      Json causes = nullptr);
  /// The request takes effect, and its answer never arrives.
  [[nodiscard]] static Answer lost() { return {.is_cut = true, .is_carried_out = true}; }

  explicit FakeApiServer(Executor executor);
  ~FakeApiServer();
  FakeApiServer(const FakeApiServer&) = delete;
  FakeApiServer& operator=(const FakeApiServer&) = delete;

  [[nodiscard]] Access access() const;
  [[nodiscard]] std::uint16_t port() const { return server_.address.port(); }
  [[nodiscard]] Task<> stop();

  // --- faults -------------------------------------------------------------------------------------------------------
  /// Called with each request before it is carried out; what it returns is answered instead.
  std::function<std::optional<Answer>(const Request& request)> before = {};
  /// Answers what goes through pods/proxy (`path` is the agent's own); empty: `{}` to everything.
  std::function<Answer(const Request& request)> agent = {};
  /// Ends all watches, in good order or in the middle of a chunk.
  void end_watches(bool in_good_order);
  /// Forgets which changes there were: whoever asks for an older version is told 410. In a watch that comes as an
  /// event, as from the real server, or as the status of the answer, as from caches before it.
  void forget_history(bool is_told_by_status = false);
  /// Pods are made Ready as soon as they are created.
  bool runs_pods = true;
  /// A Pod that is deleted is only marked so; `erase` ends it.
  bool pods_linger = false;
  /// "group/version" to the plurals that are served; of "v1" and networking all kinds are.
  std::map<std::string, std::set<std::string>> served = {};

  // --- the objects, as a test sees and changes them
  // -------------------------------------------------------------------
  /// Stores it under its name, with uid and version; what was there goes, and is told as deleted. Gives what is stored.
  Object put(const Resource& resource, Object object);
  [[nodiscard]] std::optional<Object> find(const Resource& resource, std::string_view namespace_name,
                                           std::string_view name) const;
  [[nodiscard]] std::vector<Object> all(const Resource& resource) const;
  /// Changes what is there.
  void change(const Resource& resource, std::string_view namespace_name, std::string_view name,
              const std::function<void(Json& object)>& edit);
  /// Removes it whatever holds it, and what it owns.
  void erase(const Resource& resource, std::string_view namespace_name, std::string_view name);
  /// Sets the status that a kubelet writes for a Pod whose containers are ready.
  static void make_ready(Json& pod);

  /// All that came, in order.
  [[nodiscard]] const std::deque<Request>& requests() const { return requests_; }
  [[nodiscard]] std::size_t count(std::string_view method, std::string_view path_end) const;
  /// The last one of that kind; null JSON for a body when there was none.
  [[nodiscard]] Request last(std::string_view method, std::string_view path_end) const;
  [[nodiscard]] std::size_t open_watches() const { return open_watches_; }

 private:
  /// "api/v1", "pods", "default", "a".
  using Key = std::tuple<std::string, std::string, std::string, std::string>;
  /// The resource that a path names.
  struct ResourcePath {
    std::string api = {};
    std::string plural = {};
    std::string namespace_name = {};
    std::string name = {};         ///< empty: all of them
    std::string subresource = {};  ///< and what follows it
    [[nodiscard]] Key key() const { return {api, plural, namespace_name, name}; }
  };
  struct Change {
    std::uint64_t version = 0;
    Key key = {};
    Json before = {};  ///< null: it did not exist
    Json after = {};   ///< null: it was deleted
  };

  static Key key_of(const Resource& resource, std::string_view namespace_name, std::string_view name);
  static std::optional<ResourcePath> resource_path_of(const std::vector<std::string>& segments);
  static bool is_within(const Key& key, const ResourcePath& place);
  static bool is_selected(const Json& object, const Request& request);

  Task<> answer(protocol::HttpExchange& exchange);
  Task<> send(protocol::HttpExchange& exchange, Answer answer);
  Task<> watch(protocol::HttpExchange& exchange, const Request& request, const ResourcePath& place);
  [[nodiscard]] std::string events_since(std::uint64_t version, const Request& request,
                                         const ResourcePath& place) const;
  [[nodiscard]] bool is_served(const ResourcePath& place) const;

  Answer carry_out(const Request& request, const ResourcePath& place);
  Answer create(const Request& request, const ResourcePath& place);
  Answer list(const Request& request, const ResourcePath& place) const;
  Answer patch(const Request& request, const ResourcePath& place);
  Answer remove(const Request& request, const ResourcePath& place);
  static Answer ask_access(const Request& request);

  /// Whatever changes goes through these two.
  void store(const Key& key, Json object);
  void drop(const Key& key);
  void drop_dependants(const std::string& uid, bool orphan);
  [[nodiscard]] bool has_living_owner(const Json& object) const;

  skiff::test::TestServer server_;
  Event changed_;
  std::map<Key, Json> objects_;
  std::deque<Change> history_;
  std::uint64_t version_ = 1000;
  std::uint64_t oldest_ = 0;  ///< versions before it are forgotten
  bool is_expiry_a_status_ = false;
  unsigned uids_ = 0;
  unsigned ends_ = 0;  ///< how often `end_watches` was called
  bool ends_in_good_order_ = true;
  std::size_t open_watches_ = 0;
  std::deque<Request> requests_;
};

}  // namespace skiff::kube::fakes
