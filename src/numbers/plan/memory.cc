#include "plan/memory.h"

#include <algorithm>

#include "base/say.h"
#include "base/units.h"

namespace troika::plan {

std::int64_t Memory::total() const { return std::max(at_once, with_logits) + program; }

// Nothing is saved before a step has been taken.
std::int64_t Memory::with_saving() const {
  return std::max(at_once, with_logits) + snapshot + program;
}

void Memory::note(const Memory& now) {
  parameters = std::max(parameters, now.parameters);
  gradients = std::max(gradients, now.gradients);
  state = std::max(state, now.state);
  activations = std::max(activations, now.activations);
  lasting = std::max(lasting, now.parameters + now.gradients + now.state);
  at_once = std::max(at_once, now.held());
  fetched = std::max(fetched, now.fetched);
  offloaded = std::max(offloaded, now.held() - now.state + now.fetched);
}

void Memory::note_loss(const Memory& now, std::int64_t logits_bytes) {
  with_logits = std::max(with_logits, now.held() + logits_bytes);
}

void Memory::note_operation(const Memory& now, std::int64_t bytes) {
  in_operations = std::max(in_operations, now.held() + bytes);
}

Memory on_gpu(Memory memory, config::Offload offload) {
  memory.program = gpu_program_bytes;
  memory.snapshot = 0;
  memory.with_logits = std::max(memory.with_logits, memory.in_operations);
  memory.in_operations = 0;
  if (offload == config::Offload::none) return memory;
  memory.at_once = std::max(memory.at_once - memory.state, memory.offloaded);
  memory.with_logits -= memory.state;
  memory.lasting -= memory.state;
  memory.state = memory.fetched;
  return memory;
}

Memory beside_gpu(const Memory& memory, config::Offload offload) {
  Memory host;
  if (offload == config::Offload::host) host.note({0, 0, memory.state, 0});
  host.snapshot = memory.snapshot;
  host.program = gpu_host_program_bytes;
  return host;
}

bool took_more(const Memory& planned, std::int64_t allocated_peak) {
  constexpr std::int64_t workspaces = std::int64_t{64} << 20;
  const std::int64_t tensors = planned.total() - planned.program;
  return allocated_peak > tensors + tensors / 20 + workspaces;
}

base::Text text_of(const Memory& m) {
  const base::Text saving = m.snapshot > 0
                                ? base::say(", {} while a checkpoint is saved during training (a copy of {})",
                                            base::format_bytes(m.with_saving()), base::format_bytes(m.snapshot))
                                : base::Text{};
  return base::say("{} (parameters {}, gradients {}, optimizer {}, activations {}, program {}){}",
                   base::format_bytes(m.total()), base::format_bytes(m.parameters), base::format_bytes(m.gradients),
                   base::format_bytes(m.state), base::format_bytes(m.activations), base::format_bytes(m.program), saving);
}

}  // namespace troika::plan
