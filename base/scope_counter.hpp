#pragma once

#include <cstddef>

namespace skiff {

/// Adds one to a count while it lives.
class ScopeCounter {
 public:
  explicit ScopeCounter(std::size_t& count) noexcept : count_{count} { ++count_; }
  ~ScopeCounter() { --count_; }
  ScopeCounter(const ScopeCounter&) = delete;
  ScopeCounter& operator=(const ScopeCounter&) = delete;

 private:
  std::size_t& count_;
};

}  // namespace skiff
