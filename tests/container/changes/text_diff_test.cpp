#include "container/changes/text_diff.hpp"

#include "tests/container/changes/layered.hpp"

namespace skiff::container::changes {
namespace {

class TextDiffTest : public Layered {
 protected:
  [[nodiscard]] TextDiff show(const std::string& path) const {
    for (const Change& change : find().changes) {
      if (change.path == path) return text_diff(workspace(), change).value();
    }
    return {.text = "no change"};
  }
};

TEST_F(TextDiffTest, IsThatOfGit) {
  write(under / "a", "one\ntwo\nthree\n");
  write(layer / "a", "one\n2\nthree\n");
  EXPECT_EQ(show("a").text, "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n");
}

TEST_F(TextDiffTest, NewAndGoneFilesAreComparedWithNothing) {
  write(layer / "new", "x\n");
  write(layer / "empty", "");
  write(under / "gone", "x");
  whiteout("gone");
  EXPECT_EQ(show("new").text,
            "diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1,1 @@\n+x\n");
  EXPECT_EQ(show("empty").text, "diff --git a/empty b/empty\nnew file mode 100644\n");
  EXPECT_EQ(show("gone").text,
            "diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n\\ No "
            "newline at end of file\n");
}

TEST_F(TextDiffTest, ShowsModesLinksAndOddNames) {
  write(under / "tool", "x\n");
  write(layer / "tool", "x\n");
  ASSERT_EQ(::chmod((layer / "tool").c_str(), 0755), 0);
  EXPECT_EQ(show("tool").text, "diff --git a/tool b/tool\nold mode 100644\nnew mode 100755\n");
  std::filesystem::create_symlink("old", under / "link");
  std::filesystem::create_symlink("new", layer / "link");
  EXPECT_TRUE(show("link").text.contains("-old\n\\ No newline at end of file\n+new\n"));
  write(layer / "a\nb \"c", "x\n");
  EXPECT_TRUE(show("a\nb \"c").text.starts_with("diff --git \"a/a\\012b \\\"c\" \"b/a\\012b \\\"c\"\n"));
}

TEST_F(TextDiffTest, AnotherTypeIsTwoDiffs) {
  write(under / "a", "x\n");
  std::filesystem::create_symlink("b", layer / "a");
  write(under / "d", "x\n");
  write(layer / "d/f", "x\n");
  EXPECT_EQ(show("a").text,
            "diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n"
            "diff --git a/a b/a\nnew file mode 120000\n--- /dev/null\n+++ b/a\n@@ -0,0 +1,1 @@\n+b\n\\ No newline at "
            "end of file\n");
  EXPECT_TRUE(show("d").text.starts_with("diff --git a/d b/d\ndeleted file mode 100644\n"));
  EXPECT_EQ(show("d").shown, Shown::text);
}

TEST_F(TextDiffTest, OtherThanTextIsNamedAndNotShown) {
  write(layer / "binary", std::string("a\0b", 3));
  write(layer / "large", std::string(kMostShown + 1, 'a'));
  write(layer / "dir/x", "x");
  EXPECT_EQ(show("binary").shown, Shown::binary);
  EXPECT_TRUE(show("binary").text.ends_with("Binary files a/binary and b/binary differ\n"));
  EXPECT_EQ(show("large").shown, Shown::too_large);
  EXPECT_EQ(show("dir").shown, Shown::nothing);
}

}  // namespace
}  // namespace skiff::container::changes
