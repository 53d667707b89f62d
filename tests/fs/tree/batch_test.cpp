#include "fs/tree/batch.hpp"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "fs/content/read.hpp"
#include "tests/support/files_test.hpp"
#include "tests/support/in_child.hpp"

namespace skiff::fs {
namespace {

using test::get;
using test::Names;
using test::put;
using test::word;
using OperationKind = Operation::Kind;

Operation write_one(std::string path, std::string content) {
  return {.kind = OperationKind::write, .path = std::move(path), .content = std::move(content)};
}
Operation edit_one(std::string path, std::string old, std::string replacement) {
  return {.kind = OperationKind::edit,
          .path = std::move(path),
          .edits = {{.old = std::move(old), .replacement = std::move(replacement)}}};
}
Operation remove_one(std::string path, Contents contents = Contents::refuse) {
  return {.kind = OperationKind::remove, .path = std::move(path), .contents = contents};
}
Operation move_one(std::string path, std::string to, Existing existing = Existing::refuse) {
  return {.kind = OperationKind::move, .path = std::move(path), .to = std::move(to), .existing = existing};
}

class BatchTest : public test::Files {
 public:
  BatchTest() {
    put(root / "a", "a\n");
    put(root / "b", "b\n");
    put(root / "c", "c\n");
    put(root / "d", "d\n");
    std::filesystem::create_directories(root / "full/in");
    std::filesystem::create_directory(root / "empty");
  }

  std::string all(std::vector<Operation> operations) const { return word(run_all(tree, operations)); }

  /// All names below the root, with the content of files.
  std::set<std::string> state() const {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator{root}) {
      const std::string path = entry.path().lexically_relative(root);
      found.insert(entry.is_regular_file() ? path + "=" + get(entry.path()) : path);
    }
    return found;
  }
  /// Expects that the batch fails with `error` and leaves no change.
  void expect_undone(std::vector<Operation> operations, const std::string& error) const {
    const std::set<std::string> before = state();
    EXPECT_EQ(all(std::move(operations)), error);
    EXPECT_EQ(state(), before);
  }

  Tree tree = open_tree();
};

TEST_F(BatchTest, RunsAllOperations) {
  ASSERT_EQ(::chmod((root / "a").c_str(), 0741), 0);
  const std::vector<Operation> operations{write_one("a", "new a"),
                                          write_one("x/new", "new"),
                                          edit_one("b", "b", "B"),
                                          remove_one("c"),
                                          move_one("d", "moved/d"),
                                          remove_one("empty"),
                                          remove_one("full", Contents::remove)};
  const auto outcomes = run_all(tree, operations);
  ASSERT_TRUE(outcomes) << outcomes.error().message;
  EXPECT_EQ(state(), (Names{"a=new a", "b=B\n", "moved", "moved/d=d\n", "x", "x/new=new"}));
  ASSERT_EQ(outcomes->size(), operations.size());
  EXPECT_FALSE((*outcomes)[0].written->created);
  EXPECT_EQ((*outcomes)[0].written->entry.mode, 0741U);
  EXPECT_EQ((*outcomes)[0].written->entry.size, 5U);
  EXPECT_TRUE((*outcomes)[1].written->created);
  EXPECT_EQ((*outcomes)[2].diff, "--- a/b\n+++ b/b\n@@ -1,1 +1,1 @@\n-b\n+B\n");
  EXPECT_FALSE((*outcomes)[3].written);
  EXPECT_EQ((*outcomes)[4].written->entry.size, 2U);
  const Seen seen = look_at(tree, "a").value();
  EXPECT_EQ(entity_tag(seen.object.get(), seen.entry), (*outcomes)[0].written->tag);
}

TEST_F(BatchTest, DoesNothingWhenACheckFails) {
  const std::vector<Operation> good{write_one("a", "new"),
                                    edit_one("b", "b", "B"),
                                    remove_one("c"),
                                    move_one("d", "e"),
                                    write_one("p/q/new", "new"),
                                    write_one("p/q/r/other", "new"),
                                    move_one("empty", "p/s/empty")};
  const auto with = [&](Operation bad) {
    std::vector<Operation> operations = good;
    operations.push_back(std::move(bad));
    return operations;
  };
  put(root / "f", "f\n");
  ASSERT_EQ(::mkfifo((root / "fifo").c_str(), 0600), 0);
  expect_undone(with(edit_one("f", "none", "x")), "edit_not_found");
  expect_undone(with(edit_one("none", "x", "y")), "path_not_found");
  expect_undone(with(remove_one("none")), "path_not_found");
  expect_undone(with(remove_one("full")), "directory_not_empty");
  expect_undone(with(move_one("none", "g")), "path_not_found");
  expect_undone(with(move_one("f", "full")), "already_exists");
  expect_undone(with(move_one("f", "full", Existing::replace)), "is_a_directory");
  expect_undone(with(move_one("full", "f", Existing::replace)), "not_a_directory");
  expect_undone(with(write_one("full", "x")), "is_a_directory");
  expect_undone(with(write_one("fifo", "x")), "not_a_regular_file");
  expect_undone(with(write_one("../outside/x", "x")), "path_escapes_root");
  expect_undone(with(write_one((library / "book").string(), "x")), "permission_denied");
  expect_undone(with(write_one("a", "again")), "invalid_field");
  expect_undone(with(move_one("f", "b", Existing::replace)), "invalid_field");
  Operation stale = write_one("f", "x");
  stale.conditions.if_match = TagList::parse("\"h-00\"").value();
  expect_undone(with(stale), "precondition_failed");
  Operation fresh = write_one("f", "x");
  fresh.conditions.must_be_new = true;
  expect_undone(with(fresh), "precondition_failed");
}

TEST_F(BatchTest, UndoesWhatWasDoneWhenARenameFails) {
  // This fails only when it runs: a directory cannot be moved into itself.
  const Operation bad = move_one("full", "full/in/x");
  put(root / "f", "f\n");
  expect_undone({write_one("a", "new a"), write_one("new", "new"), edit_one("b", "b", "B"), remove_one("c"),
                 remove_one("empty"), move_one("d", "e"), move_one("f", "moved-f"), bad},
                "invalid_field");
  put(root / "g", "g\n");
  expect_undone({move_one("f", "g", Existing::replace), write_one("a", "x"), bad}, "invalid_field");
}

TEST_F(BatchTest, DoesAndUndoesTheSameOnOlderKernels) {
  const auto checks = [&] {
    expect_undone({write_one("a", "new a"), write_one("new", "new"), edit_one("b", "b", "B"), remove_one("c"),
                   remove_one("empty"), move_one("d", "e"), move_one("full", "full/in/x")},
                  "invalid_field");
    EXPECT_EQ(all({write_one("a", "new a"), write_one("new", "new"), edit_one("b", "b", "B"), remove_one("c"),
                   remove_one("empty"), move_one("d", "e")}),
              "ok");
    EXPECT_EQ(state(), (Names{"a=new a", "b=B\n", "e=d\n", "full", "full/in", "new=new"}));
  };
  test::expect_without(checks, SYS_renameat2, ENOSYS);
}

TEST_F(BatchTest, NamesTheOperationThatFailed) {
  const std::vector<Operation> operations{write_one("a", "x"), edit_one("b", "none", "x")};
  const auto result = run_all(tree, operations);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().field, "/operations/1/edits/0/old");
  EXPECT_TRUE(result.error().message.starts_with("operation 1: ")) << result.error().message;
  const std::vector<Operation> twice{write_one("a", "x"), write_one("./full/../a", "y")};
  EXPECT_EQ(run_all(tree, twice).error().field, "/operations/1/path");
}

TEST_F(BatchTest, ReplacesByAMove) {
  EXPECT_EQ(all({move_one("a", "b", Existing::replace)}), "ok");
  EXPECT_EQ(state(), (Names{"b=a\n", "c=c\n", "d=d\n", "empty", "full", "full/in"}));
}

TEST_F(BatchTest, IsBoundedAndMayBeEmpty) {
  EXPECT_EQ(all({}), "ok");
  EXPECT_EQ(all(std::vector<Operation>(501, write_one("x", ""))), "invalid_field");
}

TEST_F(BatchTest, RunsEachOperationByItselfIfRequested) {
  const std::vector<Operation> operations{write_one("a", "x"),    edit_one("b", "none", "x"), remove_one("c"),
                                          remove_one("none"),     move_one("d", "e"),         write_one("a", "again"),
                                          edit_one("b", "b", "B")};
  const auto outcomes = run_each(tree, operations);
  std::vector<std::string> words;
  for (const auto& outcome : outcomes) words.push_back(word(outcome));
  EXPECT_EQ(words, (std::vector<std::string>{"ok", "edit_not_found", "ok", "path_not_found", "ok", "ok", "ok"}));
  EXPECT_EQ(state(), (Names{"a=again", "b=B\n", "e=d\n", "empty", "full", "full/in"}));
  EXPECT_FALSE(outcomes[6]->diff.empty());
}

TEST_F(BatchTest, IsOneStepForOtherWritersWithConditions) {
  put(root / "one", "0");
  put(root / "two", "0");
  std::vector<std::thread> threads;
  std::atomic<int> done = 0;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 30; ++round) {
        const std::string next = std::to_string(i * 100 + round + 1);
        std::vector<Operation> operations{write_one("one", next), write_one("two", next)};
        if (i % 2 == 1) std::swap(operations[0], operations[1]);
        done += run_all(tree, operations) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 180);
  EXPECT_EQ(get(root / "one"), get(root / "two"));
}

TEST_F(BatchTest, ChangesNothingWhenStopped) {
  std::stop_source source;
  source.request_stop();
  const std::vector<Operation> operations{write_one("a", "x"), write_one("new", "x")};
  const std::string before = get(root / "a");
  EXPECT_EQ(word(run_all(tree, operations, source.get_token())), "cancelled");
  const auto outcomes = run_each(tree, operations, source.get_token());
  EXPECT_EQ(outcomes.front().error().code, Errc::cancelled);
  EXPECT_EQ(get(root / "a"), before);
  EXPECT_FALSE(std::filesystem::exists(root / "new"));
}

TEST_F(BatchTest, LeavesNoDescriptorOpen) {
  const std::size_t before = test::open_descriptors();
  (void)all({write_one("a", "x"), edit_one("b", "b", "B"), remove_one("c"), move_one("d", "e")});
  (void)all({write_one("a", "x"), remove_one("none")});
  EXPECT_EQ(test::open_descriptors(), before);
}

}  // namespace
}  // namespace skiff::fs
