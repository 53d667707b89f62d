#pragma once

namespace skiff::container {

/// Opens closed descriptors among 0 to 2, which the next file or socket would get otherwise. Call it at the beginning
/// of main, before any file is opened. A closed stdin is then at its end, writes to a closed stdout still fail with
/// EBADF, and a closed stderr discards its output.
void hold_standard_streams() noexcept;

}  // namespace skiff::container
