#include "fs/tree/batch.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <ranges>
#include <utility>

#include "fs/content/diff.hpp"
#include "fs/content/in_place.hpp"
#include "fs/content/replacement.hpp"
#include "fs/path/descriptor.hpp"
#include "fs/path/directory_reader.hpp"
#include "fs/path/name_lock.hpp"
#include "fs/path/stop.hpp"
#include "fs/tree/remove.hpp"

namespace skiff::fs {
namespace {

using OperationKind = Operation::Kind;

/// An operation of a batch, from its checks to its end.
struct Prepared {
  const Operation* operation = nullptr;
  Location location = {};
  Location to = {};                       // destination of a move
  std::optional<Entry> found = {};        // entry at `location`
  std::optional<Entry> replaced = {};     // entry at `to`
  std::optional<StagedFile> staged = {};  // declared after `location`, whose descriptor it uses
  Outcome outcome = {};
};

int rename_over(const Location& location, const std::string& from, const std::string& to) {
  return ::renameat(location.parent.get(), from.c_str(), location.parent.get(), to.c_str()) == 0 ? 0 : errno;
}

std::unexpected<Error> failed(int error, const std::string& path) {
  if (error == EXDEV) {
    return fail(Errc::not_supported, "a batch can't move " + in_quotes(path) + " to another file system");
  }
  if (error == EINVAL) return fail(Errc::invalid_field, "a directory can't be put into itself", "to");
  return std::unexpected{system_error(error, "change " + in_quotes(path))};
}

Result<bool> is_empty(const Location& location, const std::string& name) {
  const UniqueFd directory{
      ::openat(location.parent.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!directory) return failed(errno, name);
  SKIFF_TRY(auto reader, DirectoryReader::open(directory.get()));
  DirectoryReader::Name first;
  auto got = reader.next(first);
  if (!got) return got;
  return !*got;
}

class Batch {
 public:
  Batch(const Tree& tree, const std::stop_token& stop) : tree_{tree}, stop_{stop} {}
  ~Batch() {
    // The last first: a later operation may have staged its file in a directory that an earlier one created.
    while (!prepared_.empty()) prepared_.pop_back();
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  Result<std::vector<Outcome>> run(std::span<const Operation> operations) {
    prepared_.resize(operations.size());
    std::vector<NameKey> keys;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      prepared_[i].operation = &operations[i];
      if (auto located = locate(prepared_[i], keys); !located) return at(i, std::move(located.error()));
    }
    const NameLock lock{std::move(keys)};
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (stop_.stop_requested()) return stopped_error();
      if (auto staged = stage(prepared_[i]); !staged) return at(i, std::move(staged.error()));
    }
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (auto applied = apply(prepared_[i]); !applied) {
        std::size_t stay = 0;
        for (auto& undo : undo_ | std::views::reverse) stay += undo() ? 0U : 1U;
        if (stay > 0) applied.error().message += "; " + std::to_string(stay) + " changes before it could not be undone";
        return at(i, std::move(applied.error()));
      }
    }
    // From here on no failure changes the outcome: replaced files are removed, and the results are put together.
    for (auto& finish : finish_) finish();
    std::vector<Outcome> outcomes;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      describe(prepared_[i]);
      outcomes.push_back(std::move(prepared_[i].outcome));
    }
    return outcomes;
  }

 private:
  static std::unexpected<Error> at(std::size_t index, Error error) {
    error.message = "operation " + std::to_string(index) + ": " + error.message;
    const bool below = error.field.starts_with('/') || error.field.empty();
    error.field = "/operations/" + std::to_string(index) + (below ? "" : "/") + error.field;
    return std::unexpected{std::move(error)};
  }

  Result<> locate(Prepared& one, std::vector<NameKey>& keys) const {
    const Operation& operation = *one.operation;
    const bool writes = operation.kind == OperationKind::write;
    const bool follows = writes || operation.kind == OperationKind::edit;
    SKIFF_TRY(one.location, tree_.locate(operation.path, follows ? Links::follow : Links::keep,
                                         writes ? Parents::make : Parents::require));
    SKIFF_TRY_VOID(add_key(one.location, operation.path, keys));
    if (operation.kind != OperationKind::move) return {};
    SKIFF_TRY(one.to, tree_.locate(operation.to, Links::keep, Parents::make));
    return add_key(one.to, operation.to, keys);
  }

  static Result<> add_key(const Location& location, const std::string& path, std::vector<NameKey>& keys) {
    SKIFF_TRY(auto key, key_of(location.parent.get(), location.name));
    if (std::ranges::find(keys, key) != keys.end()) {
      return fail(Errc::invalid_field, "the batch names " + in_quotes(path) + " twice", "path");
    }
    keys.push_back(std::move(key));
    return {};
  }

  Result<> stage(Prepared& one) const {
    const Operation& operation = *one.operation;
    switch (operation.kind) {
      case OperationKind::write:
        return stage_file(one, [&](std::string& text) -> Result<> {
          text = operation.content;
          return {};
        });
      case OperationKind::edit:
        return stage_file(one, [&](std::string& text) { return create_edits(one, text); });
      case OperationKind::remove:
      case OperationKind::move:
        return check(one);
    }
    return {};
  }

  template <class Make>
  Result<> stage_file(Prepared& one, Make make) const {
    const Operation& operation = *one.operation;
    SKIFF_TRY(one.found, check_file_target(one.location, operation.conditions, operation.path, stop_));
    std::string text;
    SKIFF_TRY_VOID(make(text));
    SKIFF_TRY(auto staged, stage_for(tree_, one.location, one.found ? Becomes::replacement : Becomes::something_new));
    one.staged.emplace(std::move(staged.file));
    if (const int error = write_all(one.staged->fd(), text); error != 0) return failed(error, operation.path);
    return set_attributes(one.staged->fd(), {.mode = operation.mode}, one.location, one.found);
  }

  static Result<> create_edits(Prepared& one, std::string& text) {
    const Operation& operation = *one.operation;
    SKIFF_TRY(auto old_text, read_text(one.location, operation.path));
    SKIFF_TRY(auto replaced, replace(old_text, operation.edits));
    Diff diff = unified_diff(operation.path, old_text, replaced.text, replaced.changed);
    one.outcome.diff = std::move(diff.text);
    one.outcome.diff_cut = diff.cut;
    text = std::move(replaced.text);
    return {};
  }

  Result<> check(Prepared& one) const {
    const Operation& operation = *one.operation;
    SKIFF_TRY(auto found, check_target(one.location, operation.conditions, operation.path, stop_));
    if (!found) return fail(Errc::path_not_found, "there is no " + in_quotes(operation.path));
    one.found = std::move(found);
    const bool directory = one.found->type == EntryType::directory;
    if (operation.kind == OperationKind::remove) {
      if (!directory || operation.contents == Contents::remove) return {};
      return check_empty(one, one.location.name);
    }
    SKIFF_TRY(one.replaced, check_target(one.to, {}, operation.to));
    if (one.to.directory && !directory)
      return fail(Errc::not_a_directory, in_quotes(operation.to) + " names a directory");
    if (!one.replaced) return {};
    if (operation.existing == Existing::refuse) return fail(Errc::already_exists, in_quotes(operation.to) + " exists");
    if (one.replaced->type == EntryType::directory)
      return fail(Errc::is_a_directory, in_quotes(operation.to) + " is a directory");
    if (directory) return fail(Errc::not_a_directory, in_quotes(operation.to) + " is not a directory");
    return {};
  }

  static Result<> check_empty(const Prepared& one, const std::string& name) {
    SKIFF_TRY(auto empty, is_empty(one.location, name));
    if (empty) return {};
    return fail(Errc::directory_not_empty, in_quotes(one.operation->path) + " is not empty");
  }

  Result<> apply(Prepared& one) {
    switch (one.operation->kind) {
      case OperationKind::write:
      case OperationKind::edit:
        return one.found ? put_over(one) : put_new(one);
      case OperationKind::remove:
        return take_away(one);
      case OperationKind::move:
        return move_on(one);
    }
    return {};
  }

  Result<> put_new(Prepared& one) {
    SKIFF_TRY_VOID(one.staged->publish(one.location.name, Existing::refuse));
    undo_.emplace_back([&one] { return ::unlinkat(one.location.parent.get(), one.location.name.c_str(), 0) == 0; });
    return {};
  }

  Result<> put_over(Prepared& one) {
    if (is_mounted(one.location)) return put_into_mount(one);
    SKIFF_TRY(auto temporary, one.staged->name_it());
    const auto exchange = [&one, name = temporary] {
      const int directory = one.location.parent.get();
      return ::renameat2(directory, name.c_str(), directory, one.location.name.c_str(), RENAME_EXCHANGE) == 0 ? 0
                                                                                                              : errno;
    };
    // The staged file's destructor removes the temporary name. It holds the old content then, or the new after an undo.
    int error = exchange();
    if (error == 0) {
      undo_.emplace_back([exchange] { return exchange() == 0; });
      finish_.emplace_back([&one] { one.outcome.written = describe_fd(one.staged->fd(), false); });
      return {};
    }
    if (error == EBUSY) return put_into_mount(one);
    if (!means_unsupported(error)) return failed(error, one.operation->path);
    SKIFF_TRY_VOID(set_aside(one.location));
    error = rename_over(one.location, temporary, one.location.name);
    if (error != 0) return failed(error, one.operation->path);
    one.staged->renamed();
    return {};
  }

  /// A mount keeps its name, so it is overwritten. Its old content is kept until the batch is done.
  Result<> put_into_mount(Prepared& one) {
    const std::string& path = one.operation->path;
    SKIFF_TRY(auto made, StagedFile::make(tree_.roots().front().fd.get(), 0600));
    const auto old = std::make_shared<StagedFile>(std::move(made));
    SKIFF_TRY(const auto text, read_text(one.location, path));
    if (const int error = write_all(old->fd(), text); error != 0) return failed(error, path);
    undo_.emplace_back(
        [&one, old, &path] { return write_in_place(one.location, old->fd(), *one.found, path).has_value(); });
    SKIFF_TRY(const auto file, write_in_place(one.location, one.staged->fd(), *one.found, path));
    if (one.operation->mode && ::fchmod(file.get(), *one.operation->mode & 07777U) != 0) return failed(errno, path);
    one.outcome.written = describe_fd(file.get(), false);
    return {};
  }

  Result<> take_away(Prepared& one) {
    const std::string aside = temporary_name();
    SKIFF_TRY_VOID(set_aside(one.location, aside, one.found->type, one.operation->contents));
    if (one.found->type == EntryType::directory && one.operation->contents == Contents::refuse) {
      return check_empty(one, aside);
    }
    return {};
  }

  Result<> move_on(Prepared& one) {
    if (one.replaced) {
      SKIFF_TRY_VOID(set_aside(one.to));
    }
    const auto rename = [](const Location& from, const Location& to) {
      return rename_new(from.parent.get(), from.name, to.parent.get(), to.name);
    };
    if (const int error = rename(one.location, one.to); error != 0) return failed(error, one.operation->path);
    undo_.emplace_back([&one, rename] { return rename(one.to, one.location) == 0; });
    return {};
  }

  /// Renames the entry to a temporary name until the batch is done; then it is removed, or renamed back.
  Result<> set_aside(const Location& location, const std::string& aside = temporary_name(),
                     EntryType type = EntryType::file, Contents contents = Contents::refuse) {
    const int directory = location.parent.get();
    if (const int error = rename_new(directory, location.name, directory, aside); error != 0)
      return failed(error, location.name);
    undo_.emplace_back([&location, aside] { return rename_over(location, aside, location.name) == 0; });
    finish_.emplace_back([this, &location, aside, type, contents] {
      if (type == EntryType::directory && contents == Contents::remove) {
        [[maybe_unused]] const auto removed = remove_tree(tree_, location.parent.get(), aside);
      } else if (::unlinkat(location.parent.get(), aside.c_str(), type == EntryType::directory ? AT_REMOVEDIR : 0) !=
                 0) {
        // Another process has put a file into the directory at the last moment: restore the directory rather than lose
        // the file.
        (void)rename_new(location.parent.get(), aside, location.parent.get(), location.name);
      }
    });
    return {};
  }

  static std::optional<Written> describe_fd(int fd, bool created) {
    auto result = written(fd, created);
    if (!result) return std::nullopt;
    return std::move(*result);
  }

  static void describe(Prepared& one) {
    if (one.operation->kind == OperationKind::remove || one.outcome.written) return;
    if (one.staged) {
      one.outcome.written = describe_fd(one.staged->fd(), !one.found);
      return;
    }
    const UniqueFd object{::openat(one.to.parent.get(), one.to.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
    if (object) one.outcome.written = describe_fd(object.get(), !one.replaced);
  }

  const Tree& tree_;
  const std::stop_token& stop_;
  std::vector<Prepared> prepared_;
  std::vector<std::function<bool()>> undo_;  ///< each returns true if the state is as before
  std::vector<std::function<void()>> finish_;
};

Result<Outcome> run_one(const Tree& tree, const Operation& operation, const std::stop_token& stop) {
  if (stop.stop_requested()) return stopped_error();
  const auto outcome = [](Result<Written> result) -> Result<Outcome> {
    if (!result) return std::unexpected{std::move(result.error())};
    return Outcome{.written = std::move(*result)};
  };
  switch (operation.kind) {
    case OperationKind::write:
      return outcome(write_file(tree, operation.path, operation.content,
                                {.conditions = operation.conditions, .attributes = {.mode = operation.mode}}, stop));
    case OperationKind::edit: {
      SKIFF_TRY(auto edited, edit(tree, operation.path, operation.edits, {.conditions = operation.conditions}, stop));
      return Outcome{.written = std::move(edited.written), .diff = std::move(edited.diff), .diff_cut = edited.diff_cut};
    }
    case OperationKind::remove:
      SKIFF_TRY_VOID(remove(tree, operation.path, operation.contents, operation.conditions, stop));
      return Outcome{};
    case OperationKind::move:
      return outcome(move(tree, operation.path, operation.to,
                          {.existing = operation.existing, .conditions = operation.conditions, .stop = stop}));
  }
  return Outcome{};
}

}  // namespace

Result<std::vector<Outcome>> run_all(const Tree& tree, std::span<const Operation> operations,
                                     const std::stop_token& stop) {
  if (operations.size() > kMostOperations) {
    return fail(Errc::invalid_field, "a batch has at most 500 operations", "/operations");
  }
  return Batch{tree, stop}.run(operations);
}

std::vector<Result<Outcome>> run_each(const Tree& tree, std::span<const Operation> operations,
                                      const std::stop_token& stop) {
  std::vector<Result<Outcome>> outcomes;
  for (const Operation& operation : operations) outcomes.push_back(run_one(tree, operation, stop));
  return outcomes;
}

}  // namespace skiff::fs
