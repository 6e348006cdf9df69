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
          "Parts that are not trained, comma-separated: embedding, head, layers as 0-3 or 7. With tied embeddings, "
          "embedding and head are frozen together.")
        .flags({"freeze"})
        .unset("none");
    t.add("trainable_layers", &M::trainable_layers,
          "Train only the last N layers, or the first N if negative, and nothing else; 0: all.")
        .flags({"trainable-layers"})
        .familiar({"freeze-trainable-layers"})
        .range(-10000, 10000);
    t.add("steps", &M::steps, "Optimizer steps; 0: epochs decide.")
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
    t.add("loss", &M::loss, "What the logits are trained on.");
    t.add("products", &M::products,
          "Algorithms of matrix products on GPUs; recommended: the first that cuBLASLt names, measured: the fastest of "
          "its "
          "candidates, measured before the first step of a run and kept in its folder.");
    t.add("out", &M::out, "The run's folder.")
        .flags({"out"})
        .familiar({"save-dir", "output-dir"})
        .agree(Agreement::none);
    t.add("resume", &M::resume,
          "auto: resume from the run's newest complete checkpoint; never: start over (restarted by the launcher, it "
          "still resumes from what this launch saved); or the path of a checkpoint.")
        .flags({"resume"})
        .familiar({"resume-from-checkpoint"})
        .words(words_of(Resume{}))
        .spelled("true", "auto")
        .spelled("false", "never")
        .agree(Agreement::word_or_path);
    t.add("threads", &M::threads, "Threads per rank; 0: the host's cores divided by the ranks on it.")
        .variables({"OMP_NUM_THREADS"})
        .range(0, 65536)
        .agree(Agreement::none);
    t.add("profile", &M::profile, "Steps recorded in the timeline: all, 3, or 2,5-7.")
        .flags({"profile"})
        .familiar({"profile-batch"})
        .unset("none");
    t.add("eval_every", &M::eval_every, "Steps between evaluations on data.valid; 0: only at the end.")
        .unit("steps")
        .familiar({"eval-every", "eval-steps", "eval-interval"})
        .range(0, bounds::tera);
    t.add("early_stopping_patience", &M::early_stopping_patience,
          "The run ends after so many evaluations in a row without a lower loss on data.valid; 0: never.")
        .familiar({"early-stopping-patience", "early-stopping-steps"})
        .range(0, bounds::tera);
    t.add("early_stopping_threshold", &M::early_stopping_threshold,
          "By how much the loss on data.valid must be below the lowest so far to count as lower.")
        .familiar({"early-stopping-threshold"})
        .range(0, 1e6);
    t.add(
        "on_nonfinite", &M::on_nonfinite,
        "A step whose loss or gradients are not finite numbers updates nothing. stop: the state before it is saved and "
        "the run ends; skip: the run continues with the next step, after at most 100 such steps in a row; rollback: "
        "the "
        "state of the last checkpoint is taken back and the data since then are left out, at most 10 times in a run. "
        "With fp16 the loss scale decides.");
    t.add("checksums", &M::checksums,
          "Sums of the bits of parameters, optimizer state and messages between stages, compared when they are next "
          "used: "
          "what changed by itself ends the attempt with rank, tensor and step. auto: on CPUs.")
        .spelled("true", "on")
        .spelled("false", "off");
    t.add("recompute_audit_every", &M::recompute_audit_every,
          "Every so many steps a step is computed twice before its update, the second time each microbatch by another "
          "data-parallel rank. Losses, activations between stages and gradients must have equal bits; else the attempt "
          "ends with tensor, ranks and step. 0: never.")
        .unit("steps")
        .range(0, bounds::tera);
  }
};

struct CheckpointSettings {
  static constexpr std::string_view section = "checkpoint";
  static constexpr auto title = base::Phrase("Saving");

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
          "A checkpoint is also due when so long has passed since the last one, or 50 times as long as that one took, "
          "if "
          "that is more; 0: never by time.")
        .unit("minutes")
        .range(0, 1e6);
    t.add(
        "at_end", &M::at_end,
        "A checkpoint is also saved after the last step, and when the run is asked to stop; false is for runs that are "
        "only measured.");
    t.add("keep", &M::keep, "Complete checkpoints kept, the newest.")
        .familiar({"save-total-limit"})
        .range(1, bounds::million);
    t.add("keep_best", &M::keep_best, "Also save and keep the checkpoint with the lowest loss on data.valid.");
    t.add("async", &M::async,
          "on: what is saved is copied in memory and written while training runs; off: training waits for the disk; "
          "auto: on where the memory allows it.")
        .familiar({"async-save"})
        .spelled("true", "on")
        .spelled("false", "off");
    t.add("copies", &M::copies,
          "Hosts that hold each part of a checkpoint where they share no disk: with 2, the folder of any one host may "
          "be "
          "lost. 0: 2 where the link carries the copies in at most 1/20 of the time between checkpoints.")
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
          "What carries messages. gloo (PyTorch's word): TCP; tensors of a GPU pass through host memory. nccl: between "
          "NVIDIA "
          "GPUs, with TCP beside it for what the processors say to each other. auto: nccl where every rank has a GPU "
          "of its own.")
        .familiar({"backend"});
    t.add(
         "shared_memory", &M::shared_memory,
         "Ranks of one host read messages out of each other's memory instead of sending them over TCP. auto: where the "
         "system lets them.")
        .spelled("true", "on")
        .spelled("false", "off");
    t.add("message_ctas", &M::message_ctas,
          "Thread blocks (CTAs) that a GPU gives each message over NCCL between stages or along the ring of context "
          "parallelism. While it waits for its peer, computing does without their multiprocessors. 0: as NCCL likes.")
        .range(0, 64);
    t.add("exchange_ctas", &M::exchange_ctas,
          "The same for exchanges of gradients, parameters and parts of tensors, for which computing mostly waits.")
        .range(0, 64);
    t.add("interface", &M::interface, "Network interface to use.")
        .variables({"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"})
        .unset("the one that reaches the master")
        .agree(Agreement::none);
    t.add("timeout_seconds", &M::timeout_seconds,
          "A rank that stands still for longer while others wait for it is considered hung.")
        .unit("seconds")
        .variables({"NCCL_TIMEOUT"})
        .range(0.001, 1e7)
        .agree(Agreement::none);
    t.add("join_seconds", &M::join_seconds, "How long to wait for all ranks at the start.")
        .unit("seconds")
        .range(0.001, 1e7)
        .agree(Agreement::none);
    t.add("heartbeat_seconds", &M::heartbeat_seconds, "A rank that is silent for longer is considered dead.")
        .unit("seconds")
        .range(0.001, 1e7)
        .agree(Agreement::none);
  }
};

struct LogSettings {
  static constexpr std::string_view section = "log";
  static constexpr auto title = base::Phrase("Messages to you");

  LogLevel level = LogLevel::info;
  Progress progress = Progress::automatic;  // automatic: a bar on a terminal, lines elsewhere
  bool time_stamps = true;                  // lines of steps and notes on the screen begin with the time of day
  std::string tensorboard = "off";          // off, on, or a folder
  std::string on_event;                     // a command for the shell; "": none
  double sample_seconds = 5;                // between two records of what each rank does; 0: none

  template <class Rows>
  static void add_rows(Rows& t) {
    using M = LogSettings;
    t.add("level", &M::level, "Least severe messages shown.").spelled("warning", "warn").agree(Agreement::none);
    t.add("progress", &M::progress, "auto: a bar on a terminal, lines elsewhere; bar; lines; none.")
        .agree(Agreement::none);
    t.add(
         "time_stamps", &M::time_stamps,
         "Lines of steps and notes on the screen begin with the time of day; OUT/run.log has all of them with date and "
         "time.")
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
          "A command that /bin/sh runs when the run starts, fails, is started again, stops or ends, for at most 60 s: "
          "with TROIKA_EVENT, TROIKA_RUN, TROIKA_STEP and TROIKA_TEXT, and the event as JSON on standard input.")
        .flags({"on-event"})
        .shown("COMMAND")
        .unset("none")
        .agree(Agreement::none);
    t.add("sample_seconds", &M::sample_seconds,
          "Seconds between two records of where each rank is, what took how long, memory, links and the host "
          "(RUN/records); 0: none.")
        .unit("seconds")
        .range(0, 3600)
        .agree(Agreement::none);
  }
};

}  // namespace troika::config
