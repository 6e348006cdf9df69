// Kernels on each of Highway's targets that this machine can run.
#pragma once

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <functional>

namespace troika::cpu {

inline void use_targets(std::int64_t targets) {  // 0: all that the machine has
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

inline void on_every_target(const std::function<void()>& body) {
  const std::int64_t all = hwy::SupportedTargets();
  for (std::int64_t rest = all; rest != 0; rest &= rest - 1) {
    SCOPED_TRACE(hwy::TargetName(rest & -rest));
    use_targets(rest & -rest);
    body();
  }
  use_targets(0);
}

}  // namespace troika::cpu
