#pragma once

namespace skiff::container {

/// A sandbox as it was seen at one moment. Reactor thread only.
class Sighting {
 public:
  Sighting() = default;
  Sighting(const Sighting&) = delete;
  Sighting& operator=(const Sighting&) = delete;
  virtual ~Sighting() = default;

  /// Whether its record is still the same one, and what ran then still runs. Costs no more than a few system calls.
  /// Once false, it stays so.
  [[nodiscard]] virtual bool holds() noexcept = 0;
};

}  // namespace skiff::container
