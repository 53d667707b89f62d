#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "container/kube/objects/object.hpp"
#include "container/kube/objects/resource.hpp"
#include "container/kube/objects/status.hpp"
#include "container/kube/transport.hpp"

namespace skiff::kube {

struct WriteOptions {
  bool dry_run = false;  ///< the server checks and answers, but stores nothing
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
  merge,  ///< RFC 7396; with metadata.resourceVersion in it, 409 Conflict when the object has changed
};

struct RemoveOptions {
  std::optional<std::int64_t> grace_seconds = {};
  std::string propagation = "Background";  ///< or Foreground, Orphan
  std::string uid = {};                    ///< remove only the object with this uid: else 409 Conflict
};

struct ListOptions {
  std::string label_selector = {};
  std::string field_selector = {};
  std::size_t page = 200;  ///< objects per request; a Pod takes some 50 KB as JSON in memory
  /// All pages must show the same moment: when a page has expired, begin again instead of going on from a newer state.
  bool one_moment = false;
};

struct Page {
  std::vector<Object> items;
  std::string resource_version;
  std::string continue_token;  ///< empty: this was the last page
};

/// The question whether the client's identity may do this (SelfSubjectAccessReview).
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

/// The verbs of the Kubernetes API. Objects are JSON with typed views, so no field is lost. An empty namespace means
/// the default one, or all namespaces where objects are listed. Requests are sent again where that is safe
/// (retry.hpp). An empty name is refused: without it a path means all objects. Reactor thread only; it must outlive
/// the calls on it.
class Client {
 public:
  explicit Client(std::unique_ptr<Transport> transport);

  /// The namespace that the kubeconfig or the service account names.
  [[nodiscard]] const std::string& default_namespace() const noexcept { return transport_->access().namespace_name; }
  [[nodiscard]] Transport& transport() const noexcept { return *transport_; }

  [[nodiscard]] Task<Outcome<ServerVersion>> version();
  /// True if the server has this kind in this version.
  [[nodiscard]] Task<Outcome<bool>> serves(Resource resource);
  [[nodiscard]] Task<Outcome<bool>> allowed(Permission permission);
  /// Asks whose token it is and whether it is for that audience. Returns the answered TokenReview.
  [[nodiscard]] Task<Outcome<Object>> review_token(std::string token, std::string audience);

  [[nodiscard]] Task<Outcome<Object>> get(Resource resource, std::string namespace_name, std::string name);
  /// Creates an object. The caller chose its name, so the request may be repeated: if an earlier try created the
  /// object, that object is the answer. After a failure with `may_have_happened`, the object may exist: look for it.
  /// Without a name (`generateName`) the request is sent once.
  [[nodiscard]] Task<Outcome<Object>> create(Resource resource, Object object, WriteOptions options = {});
  /// Server-side apply: creates the object, or sets the fields that `object` contains.
  [[nodiscard]] Task<Outcome<Object>> apply(Resource resource, Object object, ApplyOptions options = {});
  /// `subresource` is "status", "scale" or empty. A JSON patch is not repeated once it may have arrived, because its
  /// own effect would make its `test` fail.
  [[nodiscard]] Task<Outcome<Object>> patch(Resource resource, std::string namespace_name, std::string name,
                                            PatchKind kind, nlohmann::json patch, std::string subresource = {},
                                            WriteOptions options = {});
  /// Returns the last metadata of the object, or a Status. An object that does not exist is a failure (`not_found()`).
  [[nodiscard]] Task<Outcome<Object>> remove(Resource resource, std::string namespace_name, std::string name,
                                             RemoveOptions options = {});

  /// Lists one page, without `managedFields`; an empty namespace means all namespaces. A `continue_token` that has
  /// expired fails with `expired()` and a fresh one in `status.continue_token`.
  [[nodiscard]] Task<Outcome<Page>> list_page(Resource resource, std::string namespace_name, ListOptions options = {},
                                              std::string continue_token = {});
  /// Passes each page to `take` and keeps none, for lists that may be long. When the server cannot go on, the list
  /// begins again with `is_first`, which replaces the pages before it. Returns the last page's version.
  [[nodiscard]] Task<Outcome<std::string>> each_page(
      Resource resource, std::string namespace_name, ListOptions options,
      std::function<void(std::vector<Object> items, bool is_first)> take);
  /// Lists all pages as one.
  [[nodiscard]] Task<Outcome<Page>> list(Resource resource, std::string namespace_name, ListOptions options = {});

 private:
  [[nodiscard]] Task<Outcome<Object>> send_object(Call call);
  [[nodiscard]] std::string place_of(const Resource& resource, const std::string& namespace_name) const;

  std::unique_ptr<Transport> transport_;
};

}  // namespace skiff::kube
