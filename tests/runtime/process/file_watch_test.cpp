#include "runtime/process/file_watch.hpp"

#include "base/async/beside.hpp"
#include "base/async/event.hpp"
#include "tests/support/fake_root.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::runtime {
namespace {

/// Watches `file`, makes `change`, and waits until it is reported.
template <class Change>
Task<> expect_told(Executor executor, std::string file, Change change) {
  auto watch = FileWatch::open({std::move(file)});
  CO_ASSERT_TRUE(watch) << watch.error().message;
  Event told{executor};
  bool changed = false;
  TaskGroup group{executor};
  group.spawn("watch", watch->watch([&] {
    changed = true;
    told.notify_all();
  }));
  change();
  while (!changed) co_await told.wait();
  group.cancel();
  co_await group.join();
}

CO_TEST(FileWatch, ReportsAFileThatIsWritten) {
  const test::FakeRoot directory;
  directory.write("cert", "1");
  co_await expect_told(executor, directory.path / "cert", [&] { directory.write("cert", "2"); });
}

CO_TEST(FileWatch, ReportsAFileThatIsReplaced) {
  const test::FakeRoot directory;
  directory.write("cert", "1");
  directory.write("new/cert", "2");
  co_await expect_told(executor, directory.path / "cert",
                       [&] { std::filesystem::rename(directory.path / "new/cert", directory.path / "cert"); });
}

CO_TEST(FileWatch, ReportsASwappedLinkOfASecret) {
  const test::FakeRoot directory;
  directory.write("..1/cert", "1");
  directory.write("..2/cert", "2");
  directory.link("..data", "..1");
  directory.link("cert", "..data/cert");
  co_await expect_told(executor, directory.path / "cert", [&] {
    directory.link("..data_tmp", "..2");
    std::filesystem::rename(directory.path / "..data_tmp", directory.path / "..data");
  });
}

TEST(FileWatch, FailsForAMissingDirectory) {
  EXPECT_FALSE(FileWatch::open({"/nonexistent/cert"}));
}

}  // namespace
}  // namespace skiff::runtime
