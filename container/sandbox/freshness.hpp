#pragma once

namespace skiff::container {

/// A sandbox as it was at one moment. Reactor thread only.
class Freshness {
 public:
  Freshness() = default;
  Freshness(const Freshness&) = delete;
  Freshness& operator=(const Freshness&) = delete;
  virtual ~Freshness() = default;

  /// True while its record is the same and its agent of that moment still runs. It costs a few system calls. Once
  /// false, it stays false.
  [[nodiscard]] virtual bool holds() noexcept = 0;
};

}  // namespace skiff::container
