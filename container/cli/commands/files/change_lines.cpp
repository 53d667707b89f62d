#include "container/cli/commands/files/change_lines.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <stop_token>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/async/blocking_pool.hpp"
#include "container/changes/compare.hpp"
#include "container/changes/consent.hpp"
#include "container/cli/output/output.hpp"
#include "container/cli/output/printable.hpp"
#include "protocol/json/base64.hpp"
#include "protocol/json/utf8.hpp"

namespace skiff::container {
namespace {

using changes::Change;
using changes::Kind;
using nlohmann::json;

std::string_view kind_word(Kind kind) {
  return kind == Kind::added ? "added" : kind == Kind::deleted ? "deleted" : "changed";
}

char kind_letter(Kind kind) {
  return kind == Kind::added ? 'A' : kind == Kind::deleted ? 'D' : 'M';
}

std::string octal(mode_t mode) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%04o", static_cast<unsigned>(mode & 07777U));
  return text.data();
}

}  // namespace

std::string change_line(const Change& change) {
  const mode_t shown = change.kind == Kind::deleted ? change.old_mode : change.mode;
  std::string line{kind_letter(change.kind)};
  line += "  " + printable(change.path);
  if (S_ISDIR(shown)) line += '/';
  if (S_ISLNK(change.mode)) line += " -> " + printable(change.target);
  std::string notes;
  const auto note = [&notes](std::string_view text) { notes.append(notes.empty() ? "" : "; ").append(text); };
  if (!S_ISREG(shown) && !S_ISDIR(shown) && !S_ISLNK(shown)) note(changes::type_word(shown));
  if (change.kind == Kind::changed) {
    const bool is_other_type = ((change.mode ^ change.old_mode) & S_IFMT) != 0;
    const bool is_other_mode = ((change.mode ^ change.old_mode) & 0755U) != 0;
    if (is_other_type) note("was a " + std::string{changes::type_word(change.old_mode)});
    if (!is_other_type && is_other_mode) note("mode " + octal(change.old_mode) + " -> " + octal(change.mode));
  }
  if (const std::string why = changes::why_consent(change); !why.empty()) note("needs --yes: " + why);
  if (!notes.empty()) line += "  (" + notes + ")";
  return line;
}

void put_bytes(json& object, const std::string& key, const std::string& bytes) {
  object[key] = protocol::to_valid_utf8(bytes);
  if (!protocol::is_valid_utf8(bytes)) object[key + "_base64"] = protocol::encode_base64(bytes);
}

json change_json(const Change& change) {
  json object = json::object();
  put_bytes(object, "path", change.path);
  object["change"] = kind_word(change.kind);
  if (change.kind != Kind::deleted) {
    object["type"] = changes::type_word(change.mode);
    object["mode"] = octal(change.mode);
  }
  if (change.kind != Kind::added) {
    object["old_type"] = changes::type_word(change.old_mode);
    object["old_mode"] = octal(change.old_mode);
  }
  if (S_ISREG(change.mode)) object["size"] = change.size;
  if (S_ISLNK(change.mode)) put_bytes(object, "target", change.target);
  if (std::string why = changes::why_consent(change); !why.empty()) object["needs_yes"] = std::move(why);
  return object;
}

json left_out_json(const std::vector<changes::LeftOut>& left_out) {
  json items = json::array();
  for (const changes::LeftOut& one : left_out) {
    json item = json::object();
    put_bytes(item, "path", one.path);
    item["reason"] = changes::word(one.why);
    item["detail"] = protocol::to_valid_utf8(one.detail);
    items.push_back(std::move(item));
  }
  return items;
}

int tell_left_out(const std::vector<changes::LeftOut>& left_out) {
  for (const changes::LeftOut& one : left_out) {
    say("left out: " + printable(one.path) + ": " + printable(one.detail));
  }
  return left_out.empty() ? 0 : 1;
}

Result<std::vector<std::string>> relative_paths(const MountedLayer& mount, const std::vector<std::string>& words) {
  std::vector<std::string> paths;
  for (const std::string& word : words) {
    SKIFF_TRY(auto path, blaming("PATH", changes::relative_path(mount, word)));
    paths.push_back(std::move(path));
  }
  return paths;
}

Task<Result<>> run_on_files(Context* context, std::function<Result<>(const std::stop_token&)> work) {
  std::stop_source stop;
  int signal = 0;
  context->signals().relay_to([&](int number) {
    if (number == SIGWINCH || number == SIGUSR1 || number == SIGUSR2) return;
    if (signal != 0) ::_exit(128 + number);
    signal = number;
    stop.request_stop();
  });
  BlockingPool disk{"skiff-disk", 1};
  Result<> done = co_await disk.run([&] { return work(stop.get_token()); });
  context->signals().relay_to({});
  if (signal != 0) context->signals().interrupt(signal);
  co_return done;
}

}  // namespace skiff::container
