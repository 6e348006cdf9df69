// What is wrong with files of LLaMA-Factory and DeepSpeed, and what they mean here, in both languages.
#pragma once

#include "base/language.h"

namespace troika::config {

struct ImportTexts {
  base::Bilingual default_origin = {"LLaMA-Factory's default", "LLaMA-Factory 的默认值"};
  base::Bilingual not_supported = {"{} is not supported: {}", "不支持 {}：{}"};
  base::Bilingual twice = {"{} is given twice, first in {}", "{} 给出了两次，第一次在 {}"};
  base::Bilingual twice_unlike = {"{0} is given twice, as {1} here and first as {2} in {3}",
                                  "{0} 给出了两次：这里为 {1}，先前在 {3} 中为 {2}"};
  base::Bilingual unknown = {"unknown key '{}'{}", "未知的键“{}”{}"};
  base::Bilingual unknown_in = {"unknown key '{0}' in {1}{2}", "{1} 中有未知的键“{0}”{2}"};
  base::Bilingual one_value = {"{} takes one value, not a section", "{} 只能有一个值，不能是一节"};
  base::Bilingual truth = {"{} takes true or false, not '{}'", "{} 应为 true 或 false，而不是“{}”"};
  base::Bilingual one_of = {"{} takes {}, not '{}'{}", "{} 可取 {}，而不是“{}”{}"};
  base::Bilingual share_of_steps = {"{} {} is a share of all steps: give a number of steps",
                                    "{} {} 是总步数的比例：请给出步数"};

  // Notes.
  base::Bilingual defaults_hold = {
      "'{}' is read as a file of LLaMA-Factory, whose defaults hold for what it leaves out: {}",
      "“{}”按 LLaMA-Factory 的文件读取，未写明的项取其默认值：{}"};
  base::Bilingual idle = {"'{}' has keys without effect here (docs/llama-factory.md): {}",
                          "“{}”中有在此不起作用的键（见 docs/llama-factory.md）：{}"};
  base::Bilingual save_epoch = {
      "save_strategy epoch: checkpoints are saved by steps (checkpoint.every) and at the end of the run",
      "save_strategy epoch：检查点按步数（checkpoint.every）以及在运行结束时保存"};
  base::Bilingual evaluate_epoch = {
      "{} epoch: the loss on data.valid is computed at the end; train.eval_every sets steps",
      "{} epoch：data.valid 上的损失在结束时计算；可用 train.eval_every 设定步数"};
  base::Bilingual template_of_model = {
      "template {}: the chat template in the model's own folder is used; data.chat_template names another",
      "template {}：使用模型目录中自带的对话模板；可用 data.chat_template 指定其他模板"};
  base::Bilingual batch_alone = {"{} gives the batch alone, because {} says what the model is",
                                 "{} 只决定批量，因为模型已由 {} 指定"};

  // Of LLaMA-Factory's keys that are read together.
  base::Bilingual preferences = {"stage {} learns from preferences, which is not supported: sft and pt are",
                                 "stage {} 需要偏好数据，尚不支持：支持 sft 和 pt"};
  base::Bilingual no_layer = {
      "freeze_trainable_layers takes N or -N, not 0; for all weights finetuning_type full",
      "freeze_trainable_layers 应为 N 或 -N，而不是 0；要训练全部权重请用 finetuning_type full"};
  base::Bilingual whole_layers = {"freeze_trainable_modules takes all: whole layers are trained or frozen",
                                  "freeze_trainable_modules 只能为 all：各层整体训练或整体冻结"};
  base::Bilingual extra_modules = {
      "freeze_extra_modules is not supported: train.freeze names the parts that are not trained instead",
      "不支持 freeze_extra_modules：请改用 train.freeze 指定不训练的部分"};
  base::Bilingual several_adapters = {
      "adapter_name_or_path names several folders, but one adapter is trained: merge the others first with troika "
      "export --merge",
      "adapter_name_or_path 给出了多个目录，但只训练一个适配器：请先用 troika export --merge 合并其余的适配器"};
  base::Bilingual adapter_without_lora = {
      "adapter_name_or_path goes with finetuning_type lora, not {}: give the merged model's folder as "
      "model_name_or_path",
      "adapter_name_or_path 应与 finetuning_type lora 同用，而不是 {}：请把合并后的模型目录写入 model_name_or_path"};
  base::Bilingual download = {
      "dataset_dir {} means a download, and nothing is downloaded: copy the data into a folder with dataset_info.json",
      "dataset_dir {} 表示下载，而这里不会下载任何内容：请把数据复制到含有 dataset_info.json 的目录"};
  base::Bilingual two_losses = {"mask_history and train_on_prompt exclude each other: leave one of them out",
                                "mask_history 与 train_on_prompt 不能同时使用：请去掉其中一个"};
  base::Bilingual scheduler_numbers = {"lr_scheduler_kwargs takes names with numbers",
                                       "lr_scheduler_kwargs 应由名称和数字组成"};
  base::Bilingual scheduler_number = {
      "lr_scheduler_kwargs.{0} of lr_scheduler_type {1} is not supported: only min_lr and min_lr_rate of "
      "cosine_with_min_lr are",
      "不支持 lr_scheduler_type {1} 的 lr_scheduler_kwargs.{0}：只支持 cosine_with_min_lr 的 min_lr 和 min_lr_rate"};
  base::Bilingual wsd_number = {
      "lr_scheduler_kwargs.{} of warmup_stable_decay is {}, which is not supported: num_stable_steps and "
      "num_decay_steps of at least 1, min_lr_ratio, decay_type linear, cosine or 1-sqrt, warmup_type linear and "
      "num_cycles 0.5 are",
      "不支持 warmup_stable_decay 的 lr_scheduler_kwargs.{} 为 {}：支持至少为 1 的 num_stable_steps 和 "
      "num_decay_steps、min_lr_ratio、decay_type（linear、cosine 或 1-sqrt）、warmup_type linear 以及 num_cycles 0.5"};
  base::Bilingual wsd_sum = {
      "lr_scheduler_kwargs: warm-up, num_stable_steps and num_decay_steps must add up to max_steps, so state all of "
      "them, or leave num_stable_steps out",
      "lr_scheduler_kwargs：预热步数、num_stable_steps 与 num_decay_steps 之和必须等于 max_steps；请全部写明，或去掉 "
      "num_stable_steps"};
  base::Bilingual wsd_open = {
      "warmup_stable_decay with a warm-up and without max_steps needs num_decay_steps in lr_scheduler_kwargs: add it, "
      "the last steps, over which the rate falls",
      "warmup_stable_decay 带预热且未给出 max_steps 时，lr_scheduler_kwargs 中需要 "
      "num_decay_steps：请加上它，即学习率下降的最后若干步"};
  base::Bilingual wsd_decay_alone = {
      "num_decay_steps {0}: the rate falls over the last {0} steps, as in transformers; LLaMA-Factory without "
      "num_stable_steps lets it fall after a third of the steps",
      "num_decay_steps {0}：学习率在最后 {0} 步内下降，与 transformers 相同；而 LLaMA-Factory 在未给出 "
      "num_stable_steps 时从三分之一步数之后开始下降"};
  base::Bilingual optimizer = {"optim {} is not supported: the optimizer is AdamW, adamw_torch",
                               "不支持 optim {}：优化器为 AdamW，即 adamw_torch"};
  base::Bilingual fsdp = {"fsdp {} is not supported: full_shard, shard_grad_op, no_shard and offload are",
                          "不支持 fsdp {}：支持 full_shard、shard_grad_op、no_shard 和 offload"};

  // Of DeepSpeed.
  base::Bilingual deepspeed = {"deepspeed '{}'", "deepspeed 文件“{}”"};
  base::Bilingual deepspeed_inside = {"{} deepspeed", "{} 的 deepspeed"};
  base::Bilingual known_by_name = {"deepspeed '{}' is not there; by its name it means parallel.zero {}, offload {}",
                                   "找不到 deepspeed 文件“{}”；按其名称应为 parallel.zero {}、offload {}"};
  base::Bilingual absent = {
      "{}: deepspeed '{}' is not there, nor beside this file: copy it, or set parallel.zero instead",
      "{}：找不到 deepspeed 文件“{}”，本文件旁边也没有：请复制该文件，或改为设置 parallel.zero"};
  base::Bilingual given_twice = {"{}: {} is given twice: leave one of them out", "{}：{} 给出了两次：请去掉其中一个"};
  base::Bilingual contradiction = {"{0}: {1} is {2}, but {3} in {4}; write \"auto\" there",
                                   "{0}：{1} 为 {2}，而 {4} 指定 {3}；请在那里写 \"auto\""};
  base::Bilingual ruled_out = {"{0}: {1} is {2}, but not {3} in {4}; write \"auto\" there",
                               "{0}：{1} 为 {2}，而 {4} 关闭了 {3}；请在那里写 \"auto\""};
  base::Bilingual too_large = {"{} has {} bytes, but DeepSpeed's settings have at most {}",
                               "{} 有 {} 字节，而 DeepSpeed 的设置最多 {} 字节"};
  base::Bilingual no_object = {"{} is not a JSON object: DeepSpeed's settings are one",
                               "{} 不是 JSON 对象：DeepSpeed 的设置应为 JSON 对象"};
  base::Bilingual no_section = {"{} is {}, but must be a section", "{} 为 {}，但应为一节"};
  base::Bilingual scheduler = {"give lr_scheduler_type and warmup_ratio or warmup_steps in the YAML instead",
                               "请改在 YAML 中给出 lr_scheduler_type 以及 warmup_ratio 或 warmup_steps"};
  base::Bilingual amp = {"bf16 and fp16 say what is computed in", "计算精度由 bf16 和 fp16 指定"};
  base::Bilingual zenflow = {
      "zero_optimization.zenflow is not supported: every update uses the gradients of its own step",
      "不支持 zero_optimization.zenflow：每次更新都使用本步的梯度"};
  base::Bilingual offload_device = {"zero_optimization.offload_optimizer.device is '{}' but must be cpu, nvme or none",
                                    "zero_optimization.offload_optimizer.device 为“{}”，但应为 cpu、nvme 或 none"};
  base::Bilingual offload_param = {"offload_param (parameters stay where they are computed with)",
                                   "offload_param（参数留在计算它们的地方）"};
  base::Bilingual fixed_scale = {"fp16.loss_scale fixes the loss scale, and here it adapts itself: set it to 0",
                                 "fp16.loss_scale 固定了损失缩放，而这里会自动调整：请设为 0"};
  base::Bilingual other_optimizer = {"optimizer {} is not AdamW: leave it out", "优化器 {} 不是 AdamW：请去掉"};
  base::Bilingual idle_keys = {"{} has keys without effect here: {}", "{} 中有在此不起作用的键：{}"};
};
inline constexpr ImportTexts import_texts{};

}  // namespace troika::config
