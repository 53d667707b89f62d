#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "container/kube/object.hpp"
#include "container/kube/resource.hpp"
#include "container/kube/status.hpp"
#include "container/kube/transport.hpp"

namespace skiff::kube {

struct WriteOptions {
  bool dry_run = false;  ///< checked and answered, not stored
  bool strict = true;    ///< an unknown field is an error (400), not a warning
  std::string field_manager = "skiff";
};

struct ApplyOptions {
  bool dry_run = false;
  bool force = false;  ///< take fields over from other managers, instead of 409 with FieldManagerConflict causes
  std::string field_manager = "skiff";
};

enum class PatchKind : std::uint8_t {
  json,   ///< RFC 6902; an operation `test` that doesn't hold is 422 Invalid and changes nothing
  merge,  ///< RFC 7396; with metadata.resourceVersion in it, 409 Conflict when somebody was faster
};

struct RemoveOptions {
  std::optional<std::int64_t> grace_seconds = {};
  std::string propagation = "Background";  ///< or Foreground, Orphan
  std::string uid = {};                    ///< only this very object: else 409 Conflict
};

struct ListOptions {
  std::string label_selector = {};
  std::string field_selector = {};
  std::size_t page = 200;  ///< objects a request: as JSON in memory a Pod takes some 50 KB
  /// All pages show the same moment: begin again when a page has expired, instead of going on from a newer state.
  bool one_moment = false;
};

struct Page {
  std::vector<Object> items;
  std::string resource_version;
  std::string continue_token;  ///< empty: this was the last one
};

/// May the one who asks do this? (SelfSubjectAccessReview)
struct Permission {
  std::string verb = {};
  std::string group = {};
  std::string resource = {};
  std::string subresource = {};
  std::string namespace_name = {};  ///< empty: in all of them
  std::string name = {};
};

struct ServerVersion {
  std::string git_version;
  std::string platform;
};

/// The verbs of the Kubernetes API. Objects are JSON with typed views, so that nothing they hold is lost. An empty
/// namespace is the default one, but all of them where objects are listed. Requests are sent again where that is safe
/// (backoff.hpp). An empty name is refused: without it a path means all objects. Reactor thread only; it must outlive
/// the calls on it.
class Client {
 public:
  explicit Client(std::unique_ptr<Transport> transport);

  /// The namespace that the kubeconfig or the service account names.
  [[nodiscard]] const std::string& default_namespace() const noexcept { return transport_->access().namespace_name; }
  [[nodiscard]] Transport& transport() const noexcept { return *transport_; }

  [[nodiscard]] Task<Outcome<ServerVersion>> version();
  /// Whether the server has this kind in this version.
  [[nodiscard]] Task<Outcome<bool>> serves(Resource resource);
  [[nodiscard]] Task<Outcome<bool>> allowed(Permission permission);
  /// Whose token it is, and whether it is for that audience: the TokenReview as it is answered.
  [[nodiscard]] Task<Outcome<Object>> review_token(std::string token, std::string audience);

  [[nodiscard]] Task<Outcome<Object>> get(Resource resource, std::string namespace_name, std::string name);
  /// The caller chose the name, so it may be sent again: when an earlier try has made the object, that is the answer. A
  /// failure that says `may_have_happened` can be one of our own making too: look. Without a name (`generateName`) it
  /// is sent once.
  [[nodiscard]] Task<Outcome<Object>> create(Resource resource, Object object, WriteOptions options = {});
  /// Server-side apply: makes the object, or the fields in `object` what they say there.
  [[nodiscard]] Task<Outcome<Object>> apply(Resource resource, Object object, ApplyOptions options = {});
  /// `subresource`: "status", "scale", or none. A JSON patch is not sent again once it may have arrived: its `test`
  /// would fail by its own work.
  [[nodiscard]] Task<Outcome<Object>> patch(Resource resource, std::string namespace_name, std::string name,
                                            PatchKind kind, nlohmann::json patch, std::string subresource = {},
                                            WriteOptions options = {});
  /// Answers the object's metadata as they were, or a Status. One that isn't there is a failure (`not_found()`).
  [[nodiscard]] Task<Outcome<Object>> remove(Resource resource, std::string namespace_name, std::string name,
                                             RemoveOptions options = {});

  /// One page; an empty namespace is all of them. Without `managedFields`. A `continue_token` that has expired fails
  /// with `expired()` and a fresh one in `status.continue_token`.
  [[nodiscard]] Task<Outcome<Page>> list_page(Resource resource, std::string namespace_name, ListOptions options = {},
                                              std::string continue_token = {});
  /// Gives each page to `take` and forgets it: for what can be many. The first one comes again, and undoes those before
  /// it, when the server can't go on. Answers the last page's version.
  [[nodiscard]] Task<Outcome<std::string>> each_page(
      Resource resource, std::string namespace_name, ListOptions options,
      std::function<void(std::vector<Object> items, bool is_first)> take);
  /// All pages as one.
  [[nodiscard]] Task<Outcome<Page>> list(Resource resource, std::string namespace_name, ListOptions options = {});

 private:
  [[nodiscard]] Task<Outcome<Object>> send_object(Call call);
  [[nodiscard]] std::string place_of(const Resource& resource, const std::string& namespace_name) const;

  std::unique_ptr<Transport> transport_;
};

}  // namespace skiff::kube
