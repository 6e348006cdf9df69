// The run, its checkpoints, messages and what it prints. A setting is a member with its default and its row (rows.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config/choices.h"
#include "config/settings/rows.h"

namespace troika::config {

struct TrainSettings {
  static constexpr std::string_view section = "train";
  static constexpr auto title = base::Phrase("The run");

  TrainPreset preset = TrainPreset::none;  // model size and batch for two devices
  std::string freeze;                      // parts that are not trained: embedding, head, layers as 0-3 or 7
  std::int64_t trainable_layers = 0;       // only the last N layers, or the first -N, are trained; 0: all
  std::int64_t steps = 0;                  // 0: epochs decide
  double epochs = 1;                       // used when steps is 0
  std::uint64_t seed = 1234;
  std::string device = "auto";  // auto, cpu, cuda, or one device such as cuda:1
  std::string out = "runs/default";
  std::string resume = "auto";                // auto, never, or a path
  std::int64_t threads = 0;                   // per rank; 0: cores of the host / ranks on it
  std::string profile = "";                   // steps to record: "", "all", "3", "2,5-7"
  std::int64_t eval_every = 0;                // steps between evaluations on data.valid; 0: only at the end
  std::int64_t early_stopping_patience = 0;   // evaluations without a lower loss after which the run ends; 0: never
  double early_stopping_threshold = 0;        // by how much a loss must be lower to count
  Loss loss = Loss::cross_entropy;            // of the logits
  Products products = Products::recommended;  // of matrices on a GPU
  OnNonfinite on_nonfinite = OnNonfinite::stop;
  OnOff checksums = OnOff::automatic;      // of parameters, optimizer state and messages between stages
  std::int64_t recompute_audit_every = 0;  // steps between those that are computed twice; 0: none

  template <class Rows>
  static void add_rows(Rows& t) {
    using M = TrainSettings;
    t.add("preset", &M::preset, "A named model size and batch for two devices; any other setting overrides it.")
        .flags({"preset"});
    t.add("freeze", &M::freeze,
          "Frozen parts, comma-separated: embedding, head, layers as 0-3 or 7. With tied embeddings, embedding and head are frozen together.")
        .flags({"freeze"})
        .unset("none");
    t.add("trainable_layers", &M::trainable_layers,
          "Train only the last N layers, or the first N if negative, and nothing else; 0: all.")
        .flags({"trainable-layers"})
        .familiar({"freeze-trainable-layers"})
        .range(-10000, 10000);
    t.add("steps", &M::steps, "Optimizer steps; 0: set by epochs.")
        .unit("steps")
        .flags({"steps"})
        .familiar({"train-steps", "max-steps", "num-iterations", "train-iters"})
        .range(0, bounds::tera);
    t.add("epochs", &M::epochs, "Passes over the data, used when steps is 0; may be a fraction.")
        .flags({"epochs"})
        .familiar({"num-epochs", "num-train-epochs"})
        .range(bounds::above_zero, 1e9);
    t.add("seed", &M::seed, "Seed of weights and data order.").flags({"seed"}).range(0, bounds::any_seed);
    t.add("device", &M::device, "auto, cpu, cuda, or one device such as cuda:1.")
        .flags({"device"})
        .agree(Agreement::kind);
    t.add("loss", &M::loss, "Training target of the logits.");
    t.add("products", &M::products,
          "Algorithms for matrix products on GPUs; recommended: cuBLASLt's first choice, measured: the fastest of its candidates, measured before the first step of a run and stored in its folder.");
    t.add("out", &M::out, "The run's folder.")
        .flags({"out"})
        .familiar({"save-dir", "output-dir"})
        .agree(Agreement::none);
    t.add("resume", &M::resume,
          "auto: resume from the run's newest complete checkpoint; never: start over (after a launcher restart, it still resumes from what this launch saved); or the path of a checkpoint.")
        .flags({"resume"})
        .familiar({"resume-from-checkpoint"})
        .words(words_of(Resume{}))
        .spelled("true", "auto")
        .spelled("false", "never")
        .agree(Agreement::word_or_path);
    t.add("threads", &M::threads, "Threads per rank; 0: the host's cores divided by its ranks.")
        .variables({"OMP_NUM_THREADS"})
        .range(0, 65536)
        .agree(Agreement::none);
    t.add("profile", &M::profile, "Steps to record in the timeline: all, 3, or 2,5-7.")
        .flags({"profile"})
        .familiar({"profile-batch"})
        .unset("none");
    t.add("eval_every", &M::eval_every, "Steps between evaluations on data.valid; 0: only at the end.")
        .unit("steps")
        .familiar({"eval-every", "eval-steps", "eval-interval"})
        .range(0, bounds::tera);
    t.add("early_stopping_patience", &M::early_stopping_patience,
          "The run ends after this many evaluations in a row without a lower loss on data.valid; 0: never.")
        .familiar({"early-stopping-patience", "early-stopping-steps"})
        .range(0, bounds::tera);
    t.add("early_stopping_threshold", &M::early_stopping_threshold,
          "How far the loss on data.valid must be below the lowest so far to count as an improvement.")
        .familiar({"early-stopping-threshold"})
        .range(0, 1e6);
    t.add(
        "on_nonfinite", &M::on_nonfinite,
        "A step whose loss or gradients are not finite updates nothing. stop: save the state before it and end the run; skip: continue with the next step, after at most 100 such steps in a row; rollback: restore the last checkpoint and skip the data since then, at most 10 times in a run. With fp16 the loss scale decides.");
    t.add("checksums", &M::checksums,
          "Checksums of parameters, optimizer state and messages between stages, verified at their next use: silent corruption ends the attempt, naming rank, tensor and step. auto: on CPUs.")
        .spelled("true", "on")
        .spelled("false", "off");
    t.add("recompute_audit_every", &M::recompute_audit_every,
          "Every this many steps, compute a step twice before its update, each microbatch the second time on another data-parallel rank. Losses, activations between stages and gradients must have equal bits; else the attempt ends, naming tensor, ranks and step. 0: never.")
        .unit("steps")
        .range(0, bounds::tera);
  }
};

struct CheckpointSettings {
  static constexpr std::string_view section = "checkpoint";
  static constexpr auto title = base::Phrase("Checkpoints");

  std::int64_t every = 0;          // steps; 0: by time and at the end
  double every_minutes = 10;       // since the last one; 0: never by time
  bool at_end = true;              // after the last step, and when the run is asked to stop
  std::int64_t keep = 2;           // newest complete ones kept
  bool keep_best = true;           // and the one with the lowest loss on data.valid
  OnOff async = OnOff::automatic;  // written from a snapshot while training runs
  std::int64_t copies = 0;         // hosts that hold each part; 0: decided

  template <class Rows>
  static void add_rows(Rows& t) {
    using M = CheckpointSettings;
    t.add("every", &M::every, "Steps between checkpoints; 0: by time and at the end.")
        .unit("steps")
        .familiar({"save-steps", "save-interval"})
        .range(0, bounds::tera);
    t.add("every_minutes", &M::every_minutes,
          "Also save a checkpoint when this much time has passed since the last one, or 50 times as long as that one took, if that is more; 0: never by time.")
        .unit("minutes")
        .range(0, 1e6);
    t.add(
        "at_end", &M::at_end,
        "Also save a checkpoint after the last step, and when the run is asked to stop; use false only for benchmark runs.");
    t.add("keep", &M::keep, "Number of newest complete checkpoints to keep.")
        .familiar({"save-total-limit"})
        .range(1, bounds::million);
    t.add("keep_best", &M::keep_best, "Also save and keep the checkpoint with the lowest loss on data.valid.");
    t.add("async", &M::async,
          "on: copy the state in memory and write it while training runs; off: training waits for the disk; auto: on if memory allows it.")
        .familiar({"async-save"})
        .spelled("true", "on")
        .spelled("false", "off");
    t.add("copies", &M::copies,
          "Hosts that store each part of a checkpoint if they share no disk: with 2, the folder of any one host may be lost. 0: 2 if the link carries the copies in at most 1/20 of the time between checkpoints.")
        .spelled("auto", "0")
        .range(0, 2);
  }
};

struct CommSettings {
  static constexpr std::string_view section = "comm";
  static constexpr auto title = base::Phrase("Messages between ranks");

  Backend backend = Backend::automatic;
  OnOff shared_memory = OnOff::automatic;  // between ranks of one host
  // Thread blocks that a GPU gives one operation of NCCL; 0: as NCCL likes.
  std::int64_t message_ctas = 4, exchange_ctas = 16;
  std::string interface;          // network interface name; empty: the one that reaches the master
  double timeout_seconds = 1800;  // a rank that waits for longer, while others wait for it, has failed
  double join_seconds = 120;      // waiting for all ranks at the start
  double heartbeat_seconds = 10;  // a rank silent for longer is taken for dead

  template <class Rows>
  static void add_rows(Rows& t) {
    using M = CommSettings;
    t.add("backend", &M::backend,
          "Message transport. gloo (PyTorch's name): TCP; GPU tensors pass through host memory. nccl: between NVIDIA GPUs, with TCP for CPU-side messages. auto: nccl if every rank has its own GPU.")
        .familiar({"backend"});
    t.add(
         "shared_memory", &M::shared_memory,
         "Ranks of one host read messages from each other's memory instead of sending them over TCP. auto: if the system allows it.")
        .spelled("true", "on")
        .spelled("false", "off");
    t.add("message_ctas", &M::message_ctas,
          "Thread blocks (CTAs) that a GPU gives each NCCL message between stages or along the context-parallel ring. While it waits for its peer, computation cannot use their multiprocessors. 0: NCCL's default.")
        .range(0, 64);
    t.add("exchange_ctas", &M::exchange_ctas,
          "The same for exchanges of gradients, parameters and parts of tensors, which computation mostly waits for.")
        .range(0, 64);
    t.add("interface", &M::interface, "Network interface to use.")
        .variables({"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"})
        .unset("the interface that reaches the master")
        .agree(Agreement::none);
    t.add("timeout_seconds", &M::timeout_seconds,
          "A rank that is stalled for longer while others wait for it is considered hung.")
        .unit("seconds")
        .variables({"NCCL_TIMEOUT"})
        .range(0.001, 1e7)
        .agree(Agreement::none);
    t.add("join_seconds", &M::join_seconds, "How long to wait for all ranks at the start.")
        .unit("seconds")
        .range(0.001, 1e7)
        .agree(Agreement::none);
    t.add("heartbeat_seconds", &M::heartbeat_seconds, "A rank that sends nothing for longer is considered dead.")
        .unit("seconds")
        .range(0.001, 1e7)
        .agree(Agreement::none);
  }
};

struct LogSettings {
  static constexpr std::string_view section = "log";
  static constexpr auto title = base::Phrase("Logging");

  LogLevel level = LogLevel::info;
  Progress progress = Progress::automatic;  // automatic: a bar on a terminal, lines elsewhere
  bool time_stamps = true;                  // lines of steps and notes on the screen begin with the time of day
  std::string tensorboard = "off";          // off, on, or a folder
  std::string on_event;                     // a command for the shell; "": none
  double sample_seconds = 5;                // between two records of what each rank does; 0: none

  template <class Rows>
  static void add_rows(Rows& t) {
    using M = LogSettings;
    t.add("level", &M::level, "Minimum severity of messages shown.").spelled("warning", "warn").agree(Agreement::none);
    t.add("progress", &M::progress, "auto: a bar on a terminal, lines elsewhere; bar; lines; none.")
        .agree(Agreement::none);
    t.add(
         "time_stamps", &M::time_stamps,
         "Prefix steps and notes on the screen with the time of day; OUT/run.log has all of them with date and time.")
        .agree(Agreement::none);
    t.add("tensorboard", &M::tensorboard,
          "Also write event files for TensorBoard. on: to OUT/tensorboard; or the folder.")
        .words(words_of(Tensorboard{}))
        .familiar({"tensorboard-dir"})
        .spelled("true", "on")
        .spelled("false", "off")
        .shown("on|FOLDER")
        .agree(Agreement::none);
    t.add("on_event", &M::on_event,
          "A command that /bin/sh runs when the run starts, fails, restarts, stops or ends, for at most 60 s: with TROIKA_EVENT, TROIKA_RUN, TROIKA_STEP and TROIKA_TEXT, and the event as JSON on standard input.")
        .flags({"on-event"})
        .shown("COMMAND")
        .unset("none")
        .agree(Agreement::none);
    t.add("sample_seconds", &M::sample_seconds,
          "Seconds between records of each rank's position, timings, memory, links and host (RUN/records); 0: none.")
        .unit("seconds")
        .range(0, 3600)
        .agree(Agreement::none);
  }
};

}  // namespace troika::config
