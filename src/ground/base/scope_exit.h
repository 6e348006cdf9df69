// Calls a function when a scope ends, however it ends.
#pragma once

#include <utility>

namespace troika::base {

// What it calls must not throw, and what that refers to must outlive the scope.
template <class Function>
class [[nodiscard]] ScopeExit {
 public:
  explicit ScopeExit(Function function) : function_(std::move(function)) {}
  ~ScopeExit() { function_(); }
  ScopeExit(const ScopeExit&) = delete;
  ScopeExit& operator=(const ScopeExit&) = delete;

 private:
  Function function_;
};

}  // namespace troika::base
