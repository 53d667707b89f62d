#pragma once

#include "sessions/output/fair_scheduler.hpp"
#include "sessions/output/log.hpp"

namespace skiff::sessions {

/// The budget and the turns that the logs of all commands share.
struct SharedOutput {
  OutputBudget budget;
  Turns pump_turns;
  Turns reader_turns;
};

}  // namespace skiff::sessions
