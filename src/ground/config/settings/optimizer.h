// The optimizer and the number formats. A setting is a member with its default and its row (rows.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "config/choices.h"
#include "config/settings/rows.h"

namespace troika::config {

struct OptimizerSettings {
  static constexpr std::string_view section = "optimizer";
  static constexpr auto title = base::Phrase("The optimizer and the learning rate");

  Optimizer name = Optimizer::adamw;
  double lr = 3e-4;
  double min_lr = 3e-5;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1;
  double clip_norm = 1.0;  // 0: no clipping
  LrSchedule lr_schedule = LrSchedule::cosine;
  std::int64_t warmup_steps = 0;
  double warmup_ratio = 0;       // of all steps, used when warmup_steps is 0
  std::int64_t decay_steps = 0;  // of wsd, its last ones
  double decay_ratio = 0.1;      // of all steps, used when decay_steps is 0
  LrDecay decay = LrDecay::linear;
  LrAt lr_at = LrAt::end;

  template <class Rows>
  static void add_rows(Rows& t) {
    using M = OptimizerSettings;
    t.add("name", &M::name, "How gradients update the parameters.").flags({"optimizer"});
    t.add("lr", &M::lr, "Peak learning rate.").flags({"lr"}).familiar({"learning-rate"}).range(0, 1000);
    t.add("min_lr", &M::min_lr, "Learning rate at the end of the decay.").range(0, 1000);
    t.add("beta1", &M::beta1, "AdamW's beta1; below 1.").familiar({"adam-beta1"}).range(0, bounds::below_one);
    t.add("beta2", &M::beta2, "AdamW's beta2; below 1.").familiar({"adam-beta2"}).range(0, bounds::below_one);
    t.add("eps", &M::eps, "AdamW's epsilon.").familiar({"adam-epsilon"}).range(0, 1);
    t.add("weight_decay", &M::weight_decay, "Decoupled weight decay.").familiar({"weight-decay"}).range(0, 1000);
    t.add("clip_norm", &M::clip_norm, "Gradient clipping: the largest global gradient norm; 0: no clipping.")
        .familiar({"max-grad-norm"})
        .range(0, 1e30);
    t.add("lr_schedule", &M::lr_schedule, "Learning rate schedule after the warm-up.")
        .familiar({"lr-scheduler-type"})
        .spelled("constant_with_warmup", "constant");
    t.add("warmup_steps", &M::warmup_steps, "Steps over which the learning rate rises from 0.")
        .unit("steps")
        .familiar({"warmup-steps"})
        .range(0, bounds::tera);
    t.add("warmup_ratio", &M::warmup_ratio, "Warm-up as a fraction of all steps, used when warmup_steps is 0.")
        .familiar({"warmup-ratio"})
        .range(0, 1);
    t.add("decay_steps", &M::decay_steps, "wsd: the number of last steps in which the learning rate decays to min_lr.")
        .unit("steps")
        .familiar({"decay-steps", "num-decay-steps", "lr-wsd-decay-iters"})
        .range(0, bounds::tera);
    t.add("decay_ratio", &M::decay_ratio, "wsd: the decay as a fraction of all steps, used when decay_steps is 0.")
        .familiar({"decay-ratio", "warmdown-ratio"})
        .range(0, 1);
    t.add("decay", &M::decay, "wsd: the shape of the decay; sqrt is 1 - sqrt of the completed fraction.")
        .familiar({"lr-wsd-decay-style"})
        .spelled("1-sqrt", "sqrt")
        .spelled("minus_sqrt", "sqrt");
    t.add("lr_at", &M::lr_at,
          "Point of the schedule that sets a step's rate: end, the last step has min_lr; start, the first step has the schedule's value at 0, as in transformers.");
  }
};

struct PrecisionSettings {
  static constexpr std::string_view section = "precision";
  static constexpr auto title = base::Phrase("Number formats");

  Precision compute = Precision::fp32;  // of activations and weights; the optimizer is fp32 in all three
  // The loss scale of fp16.
  double loss_scale = 65536;              // at the start
  std::int64_t loss_scale_window = 2000;  // steps without overflow after which it grows
  double loss_scale_growth = 2;           // factor of a growth
  double loss_scale_backoff = 0.5;        // factor after an overflow
  double loss_scale_min = 1;              // never below

  template <class Rows>
  static void add_rows(Rows& t) {
    using M = PrecisionSettings;
    t.add("compute", &M::compute,
          "Data type of activations and of the weights they are multiplied with; optimizer state is fp32. Defaults to bf16 on GPUs.")
        .flags({"precision"})
        .spelled("float32", "fp32")
        .spelled("bfloat16", "bf16")
        .spelled("float16", "fp16");
    t.add("loss_scale", &M::loss_scale, "fp16: initial loss scale.").range(bounds::above_zero, 1e30);
    t.add("loss_scale_window", &M::loss_scale_window, "fp16: steps without overflow before the loss scale grows.")
        .unit("steps")
        .range(1, bounds::tera);
    t.add("loss_scale_growth", &M::loss_scale_growth, "fp16: factor by which the loss scale grows.")
        .range(1, bounds::million);
    t.add("loss_scale_backoff", &M::loss_scale_backoff, "fp16: factor of the loss scale after an overflow; below 1.")
        .range(bounds::above_zero, bounds::below_one);
    t.add("loss_scale_min", &M::loss_scale_min, "fp16: the smallest loss scale.").range(bounds::above_zero, 1e30);
  }
};

}  // namespace troika::config
