#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/id.hpp"
#include "base/small_file.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/commands/secrets/secret_place.hpp"
#include "container/cli/context.hpp"
#include "container/egress/terminate/secret.hpp"
#include "protocol/net/tls.hpp"

namespace skiff::container {
namespace {

constexpr std::size_t kMostRead = 8192;
constexpr std::size_t kLargestCa = std::size_t{256} << 10U;
constexpr std::uint64_t kNotGiven = UINT64_MAX;

/// The secret, without the end of its line.
Result<std::string> read_value() {
  if (::isatty(STDIN_FILENO) == 1) {
    return fail(Errc::invalid_field, "the secret comes on stdin: skiff secret set NAME ... < FILE", "stdin");
  }
  std::string value;
  std::array<char, kMostRead> block{};
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::unexpected{system_error(errno, "read the secret from stdin")};
    if (got == 0 || value.size() > kMostRead) break;
    value.append(block.data(), static_cast<std::size_t>(got));
  }
  if (value.ends_with('\n')) value.pop_back();
  if (value.ends_with('\r')) value.pop_back();
  return value;
}

class SecretSet final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {
        {.flag = "host",
         .target = setting::List{&hosts_},
         .value = "HOST[:PORT]",
         .help = "Host that gets the secret, with TLS and by its whole name. Without a port: 443."},
        {.flag = "header",
         .target = setting::Text{&header_},
         .value = "'NAME: VALUE'",
         .help = "Field that each request gets, with {} in the place of the secret. With --placeholder the name alone: "
                 "the field in which the placeholder is replaced.",
         .shown_default = "Authorization: Bearer {}"},
        {.flag = "basic",
         .target = setting::Text{&user_},
         .value = "USER",
         .help = "Each request gets `Authorization: Basic` with this user and the secret as its password, as git "
                 "sends it."},
        {.flag = "allow",
         .target = setting::List{&requests_},
         .value = "'METHOD PATH'",
         .help = "Requests that get the secret, and no others pass: 'GET /repos/acme/**'. * is any method, or one part "
                 "of a path; ** at the end is all that is below.",
         .shown_default = "all"},
        {.flag = "upload-limit",
         .target = setting::Size{&upload_limit_},
         .help = "Most bytes of a request's body; 0: any number.",
         .shown_default = "0"},
        {.flag = "websocket",
         .target = setting::Switch{&websocket_},
         .help = "WebSockets pass, too. What they carry is not looked at."},
        {.flag = "placeholder",
         .target = setting::Text{&placeholder_},
         .value = "VARIABLE[=TEXT]",
         .help = "Variable of commands with a text that stands for the secret. The proxy replaces it in the field "
                 "`Authorization`, or in that of --header NAME; with --basic or {} in --header every request gets the "
                 "secret, and the text is for programs that insist on one.",
         .shown_default = "a new text"},
        {.flag = "no-value",
         .target = setting::Switch{&no_value_},
         .help = "Keep no secret: requests have the fields that the program sends. The other flags count for them "
                 "all the same, and the log shows them."},
        {.flag = "ca-file",
         .target = setting::Text{&ca_file_},
         .value = "FILE",
         .help = "Certificates (PEM) to trust for these hosts, beside those of the proxy's machine."}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(const auto place, co_await find_secret_place(&context));
    SKIFF_CO_TRY(auto before, co_await find(place.get(), arguments.words.at(0)));
    const bool is_as_before = before && says_nothing();
    SKIFF_CO_TRY(auto secret, is_as_before ? std::move(*before) : described(arguments.words.at(0)));
    if (secret.has_value()) {
      SKIFF_CO_TRY(secret.value, read_value());
    } else if (is_as_before) {
      co_return fail(Errc::invalid_field, "\"" + secret.name + "\" has no value that could change");
    }
    if (before && !is_as_before) SKIFF_CO_TRY_VOID(loses_no_limit(*before));
    if (!placeholder_.empty()) choose_placeholder(before ? &*before : nullptr, &secret);
    const std::string name = secret.name;
    const nlohmann::json shown{{"name", name}, {"hosts", secret.hosts}};
    SKIFF_CO_TRY_VOID(co_await place->set(std::move(secret)));
    SKIFF_CO_TRY_VOID(context.show(shown, "", name + "\n"));
    co_return 0;
  }

 private:
  Result<egress::Secret> described(std::string name) const {
    egress::Secret secret{.name = std::move(name), .hosts = hosts_, .header = {}, .value = {}};
    secret.requests = requests_;
    if (upload_limit_ != kNotGiven) secret.upload_limit = upload_limit_;
    secret.websocket = websocket_;
    SKIFF_TRY_VOID(no_value_ ? check_no_value() : describe_field(&secret));
    if (!ca_file_.empty()) {
      SKIFF_TRY(secret.ca_pem, read_small_file(ca_file_, kLargestCa));
      SKIFF_TRY_VOID(protocol::TlsContext::client({.further_ca_pem = secret.ca_pem}));
    }
    return secret;
  }

  static Task<Result<std::optional<egress::Secret>>> find(SecretPlace* place, std::string name) {
    SKIFF_CO_TRY(auto all, co_await place->list());
    const auto found = std::ranges::find(all, name, &egress::Secret::name);
    if (found == all.end()) co_return std::nullopt;
    co_return std::move(*found);
  }

  /// Whether no flag was given, so that only the value is new.
  [[nodiscard]] bool says_nothing() const {
    return hosts_.empty() && header_.empty() && user_.empty() && requests_.empty() && upload_limit_ == kNotGiven &&
           !websocket_ && placeholder_.empty() && !no_value_ && ca_file_.empty();
  }

  /// Sandboxes that exist use the secret: nobody widens what they may do with it by leaving a flag out.
  [[nodiscard]] Result<> loses_no_limit(const egress::Secret& before) const {
    if (!before.requests.empty() && requests_.empty()) {
      return fail(Errc::invalid_field,
                  "\"" + before.name + "\" is for some requests alone: name them again, or all by --allow '* /**'; " +
                      "without any flag only the value changes",
                  "--allow");
    }
    if (before.upload_limit > 0 && upload_limit_ == kNotGiven) {
      return fail(Errc::invalid_field,
                  "\"" + before.name + "\" has an upload limit: name it again, or --upload-limit 0; " +
                      "without any flag only the value changes",
                  "--upload-limit");
    }
    return {};
  }

  Result<> check_no_value() const {
    if (header_.empty() && user_.empty() && placeholder_.empty()) return {};
    return fail(Errc::invalid_field, "--no-value: omit --header, --basic and --placeholder", "--no-value");
  }

  Result<> describe_field(egress::Secret* secret) const {
    secret->header = "Authorization";
    secret->format = "Bearer {}";
    secret->replaces = !placeholder_.empty() && user_.empty() && !header_.contains(": ");
    if (secret->replaces) {
      if (!header_.empty()) secret->header = header_;
      secret->format = {};
    }
    if (!user_.empty() && !header_.empty()) {
      return fail(Errc::invalid_field, "--basic sets a field of its own: omit --header", "--basic");
    }
    if (!user_.empty()) {
      secret->user = user_;
      secret->format = {};
    }
    if (header_.empty() || secret->replaces) return {};
    const std::size_t colon = header_.find(": ");
    if (colon == std::string::npos || colon == 0) {
      return fail(Errc::invalid_field, "--header: expected 'NAME: VALUE'", "--header");
    }
    secret->header = header_.substr(0, colon);
    secret->format = header_.substr(colon + 2);
    if (secret->format.empty()) return fail(Errc::invalid_field, "--header: expected {} in the value", "--header");
    return {};
  }

  /// Sandboxes that exist have the text of the secret that is replaced.
  void choose_placeholder(const egress::Secret* before, egress::Secret* secret) const {
    const std::size_t equals = placeholder_.find('=');
    secret->variable = placeholder_.substr(0, equals);
    if (equals != std::string::npos) {
      secret->placeholder = placeholder_.substr(equals + 1);
    } else if (before != nullptr && before->variable == secret->variable) {
      secret->placeholder = before->placeholder;
    } else {
      secret->placeholder = new_id("skiff-placeholder-");
    }
  }

  std::vector<std::string> hosts_;
  std::string header_;
  std::string user_;
  std::vector<std::string> requests_;
  std::uint64_t upload_limit_ = kNotGiven;
  bool websocket_ = false;
  std::string placeholder_;
  bool no_value_ = false;
  std::string ca_file_;
};

}  // namespace

Command secret_set_command() {
  return {
      .name = "secret set",
      .group = "Sandboxes",
      .summary = "keep a secret from stdin for the requests of sandboxes to some hosts",
      .text =
          "The egress proxy of a sandbox that was made with --egress-secret NAME puts the secret into requests to\n"
          "these hosts. Commands never see it, and skiff never shows it. Set again without flags it gets another\n"
          "value, which counts from the next request on. Secrets of boxes are kept on this machine; with the driver\n"
          "pod they are kept in the namespace of the proxy of `skiff egress install`, for all sandboxes of the\n"
          "namespace.\n"
          "\n"
          "  skiff secret set github --host github.com --basic x-access-token < token\n"
          "  skiff secret set fetch --host github.com --basic x-access-token \\\n"
          "    --allow 'GET /acme/app.git/info/refs' --allow 'POST /acme/app.git/git-upload-pack' < token\n"
          "  skiff secret set docs --host docs.example.com --no-value --allow 'GET /**'\n"
          "  skiff secret set model --host api.example.com --header 'X-Api-Key: {}' --placeholder API_KEY < key",
      .words = {{.name = "NAME"}},
      .make = &create_invocation<SecretSet>};
}

}  // namespace skiff::container
