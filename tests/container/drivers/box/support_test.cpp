#include "container/drivers/box/support.hpp"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skiff::container::box {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Circumstances usual() {
  Circumstances here;
  here.most_namespaces = 100'000;
  here.kernel = 6001;
  return here;
}
Circumstances in_container() {
  Circumstances here = usual();
  here.is_container = here.is_filtered = true;
  return here;
}
Refusal refused_at(Step step, int error) {
  return {.step = step, .error = error, .what = {}, .label = {}};
}

TEST(BoxSupport, NamesTheSysctlThatForbidsNamespaces) {
  Circumstances none = usual();
  none.most_namespaces = 0;
  const Reason reason = explain(refused_at(Step::clone, ENOSPC), none);
  EXPECT_EQ(reason.why, "user.max_user_namespaces is 0");
  EXPECT_THAT(reason.remedy, HasSubstr("sysctl -w user.max_user_namespaces=15000"));
  Circumstances debian = usual();
  debian.userns_clone = 0;
  const Reason older = explain(refused_at(Step::clone, EPERM), debian);
  EXPECT_EQ(older.why, "kernel.unprivileged_userns_clone is 0");
  EXPECT_THAT(older.remedy, HasSubstr("sysctl -w kernel.unprivileged_userns_clone=1"));
}

TEST(BoxSupport, TellsALimitThatIsReachedFromOneThatForbids) {
  const Reason reason = explain(refused_at(Step::clone, ENOSPC), usual());
  EXPECT_THAT(reason.why, AllOf(HasSubstr("too many namespaces"), Not(HasSubstr("is 0"))));
}

TEST(BoxSupport, NamesAppArmor) {
  Circumstances ubuntu = usual();
  ubuntu.apparmor_restricts = true;
  for (const Step step : {Step::hostname, Step::loopback, Step::root, Step::tree, Step::proc}) {
    for (const int error : {EPERM, EACCES}) {
      const Reason reason = explain(refused_at(step, error), ubuntu);
      EXPECT_THAT(reason.why, HasSubstr("kernel.apparmor_restrict_unprivileged_userns=1"));
      EXPECT_THAT(reason.remedy, AllOf(HasSubstr("skiff doctor --apparmor | sudo tee /etc/apparmor.d/skiff"),
                                       HasSubstr("kernel.apparmor_restrict_unprivileged_userns=0")));
    }
  }
  Refusal labelled = refused_at(Step::hostname, EACCES);
  labelled.label = "unprivileged_userns_(enforce)";
  EXPECT_THAT(explain(labelled, usual()).why, HasSubstr("AppArmor"));
}

TEST(BoxSupport, NamesTheContainer) {
  const Reason filter = explain(refused_at(Step::clone, EPERM), in_container());
  EXPECT_THAT(filter.why, HasSubstr("in a container, whose filter refuses new namespaces"));
  EXPECT_THAT(filter.remedy, AllOf(HasSubstr("--driver local"), HasSubstr("seccomp=unconfined")));
  const Reason proc = explain(refused_at(Step::proc, EPERM), in_container());
  EXPECT_THAT(proc.why, HasSubstr("covers parts of /proc"));
  EXPECT_THAT(proc.remedy, HasSubstr("unmask=ALL"));
  const Reason mount = explain(refused_at(Step::root, EACCES), in_container());
  EXPECT_THAT(mount.why, HasSubstr("refuses a part of a box"));
}

TEST(BoxSupport, NamesAChroot) {
  Circumstances here = usual();
  here.is_chroot = true;
  EXPECT_THAT(explain(refused_at(Step::clone, EPERM), here).why, HasSubstr("chroot"));
}

TEST(BoxSupport, NamesAnOldKernel) {
  Circumstances old = usual();
  old.kernel = 5010;
  EXPECT_THAT(explain(refused_at(Step::tree, ENOSYS), old).why,
              HasSubstr("needs Linux 5.12 or newer, and this is 5.10"));
}

TEST(BoxSupport, SaysWhatIsWrongWithAMount) {
  Refusal moved = refused_at(Step::workspace, ESTALE);
  moved.what = "/home/me/project";
  EXPECT_THAT(explain(moved, usual()).why, HasSubstr("another directory has taken the place of \"/home/me/project\""));
  EXPECT_THAT(explain(refused_at(Step::workspace, EINVAL), usual()).remedy, HasSubstr("--mount DIR:ro"));
}

TEST(BoxSupport, HasWordsForEveryStepAndError) {
  for (int step = 0; step <= static_cast<int>(Step::exec); ++step) {
    for (const int error : {EPERM, EACCES, ENOSPC, EUSERS, EINVAL, ENOSYS, ENOENT, ENODEV, EBUSY, ENOMEM}) {
      for (const Circumstances& here : {usual(), in_container()}) {
        const Reason reason = explain(refused_at(static_cast<Step>(step), error), here);
        EXPECT_FALSE(reason.why.empty());
        EXPECT_FALSE(reason.remedy.empty()) << step_word(static_cast<Step>(step)) << " " << error;
        // A directory that cannot be mounted is no reason to go without isolation.
        const bool is_of_the_machine = static_cast<Step>(step) != Step::workspace;
        EXPECT_EQ(reason.remedy.ends_with(": --driver local"), is_of_the_machine) << reason.remedy;
      }
    }
  }
}

TEST(BoxSupport, LooksAroundHere) {
  const Circumstances here = look_around();
  EXPECT_GT(here.kernel, 4000);
  EXPECT_FALSE(here.is_chroot);
}

}  // namespace
}  // namespace skiff::container::box
