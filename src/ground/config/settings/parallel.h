// The layout over ranks and what each keeps. A setting is a member with its default and its row (rows.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/choices.h"
#include "config/settings/rows.h"

namespace troika::config {

struct ParallelSettings {
  static constexpr std::string_view section = "parallel";
  static constexpr auto title = base::Phrase("Parallel layout");

  LayoutChoice layout = LayoutChoice::stated;
  std::int64_t dp = 0;  // 0: what remains of the world
  std::int64_t pp = 1;
  std::int64_t tp = 1;
  std::int64_t cp = 1;
  std::int64_t world() const { return dp * pp * tp * cp; }
  bool sequence_parallel = true;    // between the split layers of a block each tp rank keeps a part of the rows
  std::int64_t zero = 0;            // 1: optimizer state split over dp x cp; 2: gradients too; 3: parameters too
  std::int64_t virtual_stages = 1;  // stages per pipeline rank
  Schedule schedule = Schedule::one_f_one_b;
  std::string schedule_file;               // a step program as text; empty: `schedule` builds it
  std::vector<std::int64_t> stage_layers;  // transformer layers per stage, pp x virtual_stages; empty: split by cost
  std::vector<double> stage_costs;         // relative seconds per segment; empty: by stage_balance
  StageBalance stage_balance = StageBalance::model;  // model: cut by multiply-adds; measured: by seconds at the start
  std::vector<std::int64_t> shares;                  // microbatches of a step of each dp rank; empty: equal
  Recompute recompute = Recompute::none;             // activation checkpointing: full layers, or what costs little
  Offload offload = Offload::none;                   // where optimizer state lies between steps
  std::string offload_folder;                        // of Offload::file; empty: OUT/offload
  bool overlap = true;                               // collectives on parameters and gradients beside computation
  Reproducible reproducible = Reproducible::run;

  template <class Rows>
  static void add_rows(Rows& t) {
    using M = ParallelSettings;
    t.add("layout", &M::layout,
          "auto: train in the layout that `troika plan` finds fastest on the run's machines; flags fix parts of it.")
        .flags({"layout"});
    t.add("dp", &M::dp, "Data-parallel ranks (DDP; with zero 3, FSDP); 0: all remaining ranks.")
        .flags({"dp"})
        .range(0, bounds::million);
    t.add("pp", &M::pp, "Pipeline-parallel ranks.")
        .flags({"pp"})
        .familiar({"pp-size", "pipeline-model-parallel-size"})
        .variables({"PP_SIZE"})
        .range(1, bounds::million);
    t.add("tp", &M::tp, "Tensor-parallel ranks: each holds a slice of every layer's weights.")
        .flags({"tp"})
        .familiar({"tp-size", "tensor-model-parallel-size"})
        .variables({"TP_SIZE"})
        .range(1, bounds::million);
    t.add("cp", &M::cp, "Context-parallel ranks (ring attention): each holds a slice of every sequence.")
        .flags({"cp"})
        .familiar({"cp-size", "context-parallel-size"})
        .range(1, bounds::million);
    t.add("sequence_parallel", &M::sequence_parallel,
          "With tp above 1: split norms and residuals along the sequence over the tensor-parallel ranks.")
        .flags({"sequence-parallel"});
    t.add("zero", &M::zero,
          "ZeRO stage over dp x cp; 0: replicas all-reduce gradients (DDP), 1: shard optimizer state, 2: gradients too, 3: parameters too (FSDP).")
        .flags({"zero"})
        .familiar({"zero-stage"})
        .range(0, 3);
    t.add("virtual_stages", &M::virtual_stages, "Pipeline stages per rank; above 1: the interleaved schedule.")
        .flags({"virtual-stages"})
        .familiar({"virtual-pipeline-size", "num-virtual-stages"})
        .range(1, 10000);
    t.add("schedule", &M::schedule, "Pipeline schedule: the order of forward and backward passes.")
        .flags({"schedule"})
        .familiar({"pipeline-schedule"});
    t.add("schedule_file", &M::schedule_file,
          "A step program to run instead of a built-in schedule (docs/formats/program.md).")
        .flags({"schedule-file"})
        .unset("none; built by the schedule")
        .agree(Agreement::none);
    t.add("stage_layers", &M::stage_layers, "Transformer layers of each pipeline stage, such as 2,1,1.")
        .flags({"stage-layers"})
        .unset("balanced by cost")
        .range(1, 10000);
    t.add("stage_costs", &M::stage_costs,
          "Relative times of the embedding, each transformer layer and the head, for balancing stages.")
        .flags({"stage-costs"})
        .unset("by stage_balance")
        .range(0, 1e9);
    t.add("stage_balance", &M::stage_balance,
          "How to balance stages; model: by the FLOPs of each segment, measured: by times measured at the start.")
        .flags({"stage-balance"});
    t.add("shares", &M::shares,
          "Microbatches per step of each data-parallel rank, such as 9,3 for machines of unequal speed; zero 0 or 1.")
        .flags({"shares"})
        .unset("equal")
        .range(1, bounds::million);
    t.add("recompute", &M::recompute,
          "Activation checkpointing (recomputation); full: whole layers, selective: only cheap operations.")
        .flags({"recompute"})
        .familiar({"activation-recomputation", "recompute-granularity"});
    t.add("offload", &M::offload,
          "Where optimizer state is kept between steps; none: on the device, host: in CPU memory, file: on disk.")
        .flags({"offload"})
        .familiar({"offload-optimizer"})
        .spelled("cpu", "host")
        .spelled("disk", "file")
        .spelled("nvme", "file");
    t.add("offload_folder", &M::offload_folder, "Folder for the files of offload file.")
        .unset("offload in the run's folder")
        .agree(Agreement::none);
    t.add("overlap", &M::overlap, "Overlap collectives of parameters and gradients with computation.")
        .flags({"overlap"});
    t.add("reproducible", &M::reproducible,
          "run: bit-identical results in every layout where possible; bits: reject layouts where it is not; layout: bit-identical in the same layout; off: no guarantee.")
        .flags({"reproducible"});
  }
};

}  // namespace troika::config
