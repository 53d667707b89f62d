#include "sessions/own_root.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "fs/path/descriptor.hpp"
#include "fs/path/path.hpp"
#include "fs/tree/change.hpp"
#include "fs/tree/remove.hpp"

namespace skiff::sessions {
namespace {

/// The current path of the directory that `fd` refers to.
Result<std::string> real_path_of(int fd) {
  std::array<char, fs::kMostPathBytes + 1> path;
  const ssize_t size = ::readlink(fs::proc_path(fd).c_str(), path.data(), path.size());
  if (size < 0) return std::unexpected{system_error(errno, "read the path of a directory")};
  return std::string{path.data(), static_cast<std::size_t>(size)};
}

/// The part of a root's path below `agent_root`: "a/b".
std::string_view below(std::string_view path, std::string_view agent_root) {
  path.remove_prefix(agent_root == "/" ? 1 : agent_root.size() + 1);
  return path;
}

std::string join(const std::string& directory, std::string_view name) {
  return (directory == "/" ? "" : directory) + '/' + std::string{name};
}

std::unexpected<Error> moved(const std::string& root) {
  return fail(Errc::path_escapes_root,
              "the session's root \"" + root + "\" is no longer where it was created: a link replaced it");
}

}  // namespace

Result<OwnRoot> create_own_root(const fs::Tree& agent_root, const std::string& agent_root_path,
                                const std::string& relative) {
  auto made = fs::create_directory(agent_root, relative, fs::Parents::make);
  if (!made && made.error().code != Errc::already_exists) return std::unexpected{std::move(made.error())};
  SKIFF_TRY(auto directory, agent_root.open_directory(relative));
  SKIFF_TRY(auto real, real_path_of(directory.get()));
  const std::string real_path = agent_root.main_path();
  if (real == real_path) return OwnRoot{agent_root_path, std::move(directory)};
  return OwnRoot{join(agent_root_path, below(real, real_path)), std::move(directory)};
}

Result<> remove_own_root(const fs::Tree& agent_root, const std::string& agent_root_path, const std::string& root) {
  const std::string relative{below(root, agent_root_path)};
  auto place = agent_root.locate(relative, fs::Links::keep);
  if (!place && place.error().code == Errc::path_not_found) return {};
  if (!place) return std::unexpected{std::move(place.error())};
  SKIFF_TRY(auto parent, real_path_of(place->parent.get()));
  if (join(parent, place->name) != join(agent_root.main_path(), relative)) return moved(root);
  return fs::remove_tree(agent_root, place->parent.get(), place->name);
}

Result<std::shared_ptr<const fs::Tree>> living(std::shared_ptr<const fs::Tree> tree, const std::optional<Error>& why) {
  if (!tree && why) return std::unexpected{*why};
  if (!tree) return fail(Errc::path_not_found, "the agent's root could not be opened when the agent started");
  if (tree->lives()) return tree;
  SKIFF_TRY(auto again, tree->reopened());
  return std::make_shared<const fs::Tree>(std::move(again));
}

}  // namespace skiff::sessions
