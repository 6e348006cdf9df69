// Whether a run fits: the bytes that one rank holds, by use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/choices.h"
#include "plan/programs.h"

namespace troika::plan {

// Resident memory of a rank that has opened its channels and run one small step, without its tensors (measured on x86-64: 25 to
// 27 MiB; buffers of products take some more).
inline constexpr std::int64_t program_bytes = std::int64_t{32} << 20;

// Bytes of a GPU that a process takes beside tensors: code, workspaces of libraries, channels, and the loss of an allocator between
// blocks.
inline constexpr std::int64_t gpu_program_bytes = std::int64_t{1} << 30;

// The same of the host of a GPU: the driver, cuBLASLt, NCCL, and the buffers that copies pass through.
inline constexpr std::int64_t gpu_host_program_bytes = std::int64_t{512} << 20;

// Bytes of a GPU that channels between GPUs take; a part of gpu_program_bytes.
inline constexpr std::int64_t gpu_channel_bytes = std::int64_t{512} << 20;

struct Memory {
  std::int64_t parameters = 0, gradients = 0, state = 0, activations = 0;  // the most of each
  std::int64_t fetched = 0;   // of state that is offloaded, the most that is on a GPU meanwhile
  std::int64_t at_once = 0;   // the most of the first four together; less than their sum where not all peak at one time
  std::int64_t with_logits = 0;  // the most while a loss is computed, with the logits of a chunk of rows, which no ledger has
  std::int64_t in_operations = 0;  // the most while an operation of a GPU runs, with what it takes beside what a ledger has
  std::int64_t offloaded = 0;  // the most at once where the state is offloaded: of the other three with what is fetched of it
  std::int64_t lasting = 0;   // the most of the first three together
  std::int64_t snapshot = 0;  // copied for the first checkpoint that is saved while training runs, and kept; on the host
  std::int64_t program = 0;   // the process itself: threads, buffers of the operations
  std::int64_t total() const;        // until that checkpoint
  std::int64_t with_saving() const;  // from it on
  void note(const Memory& now);  // raises what `now` has more of
  void note_loss(const Memory& now, std::int64_t logits_bytes);
  void note_operation(const Memory& now, std::int64_t bytes);
  std::int64_t held() const { return parameters + gradients + state + activations; }
};

// Free memory, and the ranks that share it.
struct Room {
  enum class Where { host, gpu, host_of_gpu } where = Where::host;
  std::int64_t available_bytes = 0;
  int ranks = 1;
};

// The same on a GPU, with what operations take there; without copies for saving, and of state that is offloaded with what is fetched.
Memory on_gpu(Memory memory, config::Offload offload);
// Memory that the rank then takes of its host: copies for saving, and state that is offloaded there.
Memory beside_gpu(const Memory& memory, config::Offload offload);

// Whether what a GPU's pool has given out at most is clearly more than the tensors of a plan on_gpu, and the workspaces of libraries.
bool took_more(const Memory& planned, std::int64_t allocated_peak);

// "1.7 GiB (parameters 300 MiB, gradients 600 MiB, optimizer 600 MiB, activations 80 MiB, program 250 MiB)"
base::Text text_of(const Memory& memory);

// The bytes that ranks hold at most, by following their programs with numbers alone: what the ranks' ledgers will count, to
// the byte. For each grid rank of the programs, which have been checked, of its rank that needs most.
std::vector<Memory> memory_of_grid_ranks(const Job& job, const Stages& stages, const Programs& programs);

// The most that an operation of the segment, trained, takes on the rank's GPU beside the entries of the ledger.
std::int64_t gpu_operation_bytes(const Job& job, const mesh::Coordinate& at, int segment);

// The memory of the rank at a coordinate. `programs` may be those of the first data-parallel rank's pipeline alone
// (pipeline_shape).
Memory memory_at(const Job& job, const Stages& stages, const Programs& programs, const mesh::Coordinate& at);

}  // namespace troika::plan
