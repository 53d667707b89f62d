#include "runtime/process/own_limits.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <new>

#include <gtest/gtest.h>

#include "tests/support/in_child.hpp"

namespace skiff::runtime {
namespace {

using test::status_in_child;

rlimit limit_of(int resource) {
  rlimit limit{};
  ::getrlimit(resource, &limit);
  return limit;
}

bool set(int resource, rlim_t soft, rlim_t hard) {
  const rlimit limit{.rlim_cur = soft, .rlim_max = hard};
  return ::setrlimit(resource, &limit) == 0;
}

/// True without the right to raise a hard limit.
bool is_ordinary() {
  constexpr uid_t kNobody = 65534;
  return ::getuid() != 0 || ::setuid(kNobody) == 0;
}

TEST(OwnLimits, AreLeftAloneWhileNothingHasChanged) {
  OwnLimits own;
  const OwnLimits::Kept kept = own.keep();
  EXPECT_FALSE(kept.restored);
  EXPECT_EQ(kept.lost, "");
}

TEST(OwnLimits, RestoresSoftLimits) {
  EXPECT_EQ(status_in_child([] {
              OwnLimits own;
              const rlimit files = limit_of(RLIMIT_FSIZE);
              const rlimit stack = limit_of(RLIMIT_STACK);
              if (!set(RLIMIT_FSIZE, 0, files.rlim_max) || !set(RLIMIT_STACK, 4096, stack.rlim_max)) return 1;
              const OwnLimits::Kept kept = own.keep();
              if (!kept.restored || !kept.lost.empty()) return 2;
              if (limit_of(RLIMIT_FSIZE).rlim_cur != files.rlim_cur) return 3;
              if (limit_of(RLIMIT_STACK).rlim_cur != stack.rlim_cur) return 4;
              return own.keep().restored ? 5 : 0;
            }),
            0);
}

TEST(OwnLimits, NamesALostLimit) {
  EXPECT_EQ(status_in_child([] {
              OwnLimits own;
              if (!is_ordinary() || !set(RLIMIT_RTTIME, 1000, 1000)) return 1;
              if (own.keep().lost != "RLIMIT_RTTIME") return 2;
              return own.keep().lost == "RLIMIT_RTTIME" ? 0 : 3;
            }),
            0);
}

TEST(OwnLimits, RestoresAnOptionalLimitAsFarAsPossible) {
  EXPECT_EQ(status_in_child([] {
              OwnLimits own;
              if (limit_of(RLIMIT_MEMLOCK).rlim_cur <= 4096) return 0;
              if (!is_ordinary() || !set(RLIMIT_MEMLOCK, 0, 4096)) return 1;
              const OwnLimits::Kept kept = own.keep();
              if (!kept.restored || !kept.lost.empty()) return 2;
              if (limit_of(RLIMIT_MEMLOCK).rlim_cur != 4096) return 3;
              return own.keep().restored ? 4 : 0;
            }),
            0);
}

TEST(OwnLimits, IgnoresALoweredHardLimitThatIsHighEnough) {
  EXPECT_EQ(status_in_child([] {
              if (!is_ordinary() || !set(RLIMIT_FSIZE, 1 << 20, limit_of(RLIMIT_FSIZE).rlim_max)) return 1;
              OwnLimits own;
              if (!set(RLIMIT_FSIZE, 1 << 20, 1 << 20)) return 2;
              const OwnLimits::Kept kept = own.keep();
              return kept.restored || !kept.lost.empty() ? 3 : 0;
            }),
            0);
}

/// Whether operator new finds more memory.
bool finds_memory() {
  try {
    std::get_new_handler()();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

TEST(OwnLimits, AreRestoredWhenMemoryRunsOut) {
  EXPECT_EQ(status_in_child([] {
              OwnLimits own;
              if (finds_memory()) return 1;
              const rlimit memory = limit_of(RLIMIT_AS);
              if (!set(RLIMIT_AS, 0, memory.rlim_max)) return 2;
              if (!finds_memory()) return 3;
              if (limit_of(RLIMIT_AS).rlim_cur != memory.rlim_cur) return 4;
              if (finds_memory()) return 5;
              return own.keep().restored && !own.keep().restored ? 0 : 6;
            }),
            0);
}

TEST(OwnLimits, FreeTheirReservePieceByPieceWhenOneIsLost) {
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "a sanitizer has a heap of its own";
#endif
  EXPECT_EQ(status_in_child([] {
              OwnLimits own;
              if (!is_ordinary() || !set(RLIMIT_DATA, 0, 0)) return 1;
              for (int pieces = 0; pieces < 3; ++pieces) {
                if (!finds_memory()) return 3;
              }
              if (own.keep().lost != "RLIMIT_DATA") return 4;
              return finds_memory() ? 5 : 0;
            }),
            0);
}

}  // namespace
}  // namespace skiff::runtime
