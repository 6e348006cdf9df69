// Evidence and advice about runs that do not learn or are slow, in both languages.
#pragma once

#include "base/language.h"

namespace troika::diagnosis {

struct TrainingTexts {
  using Text = base::Bilingual;

  // Learning.
  Text rows_without_tokens{"{0} of {1} steps had no token that carries loss",
                           "{1} 步中有 {0} 步没有任何计入 loss 的 token"};
  Text all_skipped{"the last {0} steps, up to step {1}, were all skipped, with a loss scale of {2}",
                   "到第 {1} 步为止的最后 {0} 步全部被跳过，损失缩放为 {2}"};
  Text rows_without_number{"in {0} of the last {1} steps the loss or the gradient norm is no finite number",
                           "最后 {1} 步中有 {0} 步的 loss 或梯度范数不是有限数"};
  Text loss_rose{"the loss began at {0}, was lowest with {1} at step {2}, and is {3} at step {4}",
                 "loss 从 {0} 开始，在第 {2} 步降到最低 {1}，到第 {4} 步为 {3}"};
  Text last_norms{"gradient norms of the last steps, up to step {}: {}", "到第 {} 步为止，最后几步的梯度范数：{}"};
  Text norm_rises{"after step {} the gradient norm is ten times its usual value and more",
                  "第 {} 步之后，梯度范数达到平时的十倍以上"};
  Text rate_is_zero{"the learning rate is 0 in all {} steps", "全部 {} 步的学习率都是 0"};
  Text loss_is_flat{"the loss was {0} in the first 20 steps and is {1} in the last 20 of {2}",
                    "前 20 步的 loss 为 {0}，{2} 步中的最后 20 步为 {1}"};
  Text loss_of_chance{"by chance alone it would be {}, the logarithm of a vocabulary of {}",
                      "纯靠随机猜测时为 {}，即词表大小 {} 的对数"};
  Text rates_were{"the highest learning rate was {}", "最高的学习率为 {}"};
  Text loss_jumped{"at the resume from step {} the loss jumps from {} to {}", "从第 {} 步恢复时，loss 从 {} 跳到 {}"};
  Text data_differ{"the data are not those that the checkpoint was trained on", "数据与该检查点训练时所用的不同"};
  Text valid_rises{"the validation loss was lowest with {0} at step {1} and is {2} at step {3}",
                   "验证 loss 在第 {1} 步最低，为 {0}，到第 {3} 步为 {2}"};
  Text train_falls{"meanwhile the training loss fell from {} to {}", "同期训练 loss 从 {} 降到 {}"};

  Text half_rate{"half of {}", "{} 的一半"};
  Text usual_rate{"{} is far above what models are usually trained with", "{} 远高于通常训练模型所用的值"};
  Text longer_warmup{"steps grow more slowly than over {}", "学习率上升得比 {} 步更慢"};
  Text clip_at_all{"gradients are not clipped now", "现在没有做梯度裁剪"};
  Text tighter_clip{"gradients are clipped at {} now", "现在梯度裁剪的上限是 {}"};
  Text resume_before_rise{"the checkpoint of step {} is from before the rise", "第 {} 步的检查点在上升之前"};
  Text wider_range{"bf16 has the range of fp32, and needs no loss scale",
                   "bf16 的数值范围与 fp32 相同，不需要损失缩放"};
  Text answers_cut_off{"answers behind the first {} tokens are cut off", "前 {} 个 token 之后的回答会被截掉"};
  Text marks_answers{"the template {} may not mark the answers of these conversations",
                     "模板 {} 可能没有标出这些对话中的回答"};
  Text loss_on_all{"prompts carry loss too, which shows whether the template marks the answers",
                   "提示部分也计入 loss，可以看出模板是否标出了回答"};
  Text why_inspect{"it shows samples as the run sees them, with the tokens that carry loss",
                   "它按运行实际看到的样子显示样本，并标出计入 loss 的 token"};
  Text other_rate{"{} does not move the loss", "{} 不能使 loss 下降"};
  Text shorter_warmup{"the warm-up of {} is longer than what was trained", "{} 步的预热比已训练的步数还长"};
  Text overfit_ten{
      "ten samples must be learnt by heart within some hundred steps; if they are not, the data or the targets are "
      "wrong",
      "十个样本应在几百步内被记住；若不能，则数据或目标有误"};
  Text same_settings{"compare config.yaml and config-2.yaml, and start with the settings of before",
                     "比较 config.yaml 与 config-2.yaml，用以前的设置启动"};
  Text why_same_settings{
      "a resume restores weights, optimizer and position in the data: what else changed made the jump",
      "恢复会还原权重、优化器和数据位置：是其他改动造成了跳变"};
  Text why_data_as_before{"other data, or another order of files, are another task for the model",
                          "换了数据或文件顺序，对模型来说就是另一个任务"};
  Text resume_again_from{"the checkpoint of step {}, with the settings of before", "第 {} 步的检查点，配合以前的设置"};
  Text stop_at_lowest{"after step {} the model only learns its samples by heart", "第 {} 步之后模型只是在记忆样本"};
  Text take_the_best{"the checkpoint of step {} is the one to use", "应当使用第 {} 步的检查点"};

  // Speed.
  Text pages_swapped_in{"{} swapped in {:.0f} pages since the attempt began",
                        "本次尝试开始以来，主机 {} 换入了 {:.0f} 页"};
  Text steps_slower{"steps take {:.1f} times as long as in the beginning", "每步耗时是开始时的 {:.1f} 倍"};
  Text memory_pressure{"threads of {} stood for memory in {:.0f} % of the last seconds",
                       "主机 {} 上的线程最近有 {:.0f} % 的时间在等待内存"};
  Text clock_fell{"the clock of {} fell from {:.2f} to {:.2f} GHz", "主机 {} 的主频从 {:.2f} GHz 降到 {:.2f} GHz"};
  Text throttled_times{"{} was throttled by heat {}", "主机 {} 因过热降频 {} 次"};
  Text hottest{"the highest temperature of {} was {:.0f} °C", "主机 {} 的最高温度为 {:.0f} °C"};
  Text low_voltage{"{} reports under-voltage", "主机 {} 报告供电电压过低"};
  Text better_supply{"use the official power supply", "使用官方电源"};
  Text why_better_supply{"below 4.63 V the processor is slowed down", "电压低于 4.63 V 时处理器会降速"};
  Text cool_it{"cool the host: fan, heat sink, free air", "给主机散热：风扇、散热片、通风"};
  Text why_cool_it{"the processor lowers its clock to stay below its limit", "处理器为不超过温度上限而降低主频"};
  Text less_heat{"fewer threads make less heat, and the clock stays", "线程少则发热少，主频得以保持"};
  Text threads_on_cores{"on {0} {1} threads of {2} ranks run on {3} of {4} cores",
                        "主机 {0} 上 {2} 个 rank 的 {1} 个线程运行在 {4} 个核心中的 {3} 个上"};
  Text runnable_threads{"{} has {:.0f} threads that want a core at a time", "主机 {} 上同时有 {:.0f} 个线程需要核心"};
  Text as_many_ranks_as_cores{"{0} cores run {0} ranks of one thread faster than {1} ranks that take turns",
                              "{0} 个核心运行 {0} 个单线程的 rank，比 {1} 个 rank 轮流运行更快"};
  Text threads_that_fit{"{} for {}", "{} 个核心供 {} 个 rank 使用"};
  Text why_bind{"each rank gets neighbouring cores of its own", "每个 rank 得到自己的一组相邻核心"};
  Text why_bind_none{"ranks may use all cores of the host", "各 rank 可以使用主机的全部核心"};
  Text why_cpus_per_task{"srun of SLURM 22.05 does not take --cpus-per-task from sbatch",
                         "SLURM 22.05 的 srun 不会继承 sbatch 的 --cpus-per-task"};
  Text quota_used_up{"the CPU quota of {0} was used up for {1:.0f} thread seconds in {2:.0f} s; it is {3} cores",
                     "主机 {0} 的 CPU 配额为 {3} 个核心，在 {2:.0f} 秒内线程因配额用尽共停顿 {1:.0f} 秒"};
  Text within_quota{"threads within the quota of {} do not stand still together",
                    "线程数不超过 {} 个核心的配额，就不会一起停顿"};
  Text why_larger_quota{"of the container: as many as ranks x threads", "容器的配额：至少为 rank 数乘以线程数"};
  Text computes_longer{
      "rank {0} on {1} computes {2:.1f} times as long as the others, which wait up to {3:.0f} % of their time",
      "rank {0}（主机 {1}）的计算时间是其他 rank 的 {2:.1f} 倍，其他 rank 最多有 {3:.0f} % 的时间在等待"};
  Text less_for_it{"rank {} gets fewer microbatches of a step", "让 rank {} 在每步中分到更少的微批次"};
  Text balance_measured{"stages are cut by seconds that are measured on the hosts", "按在主机上实测的时间划分各阶段"};
  Text balance_without_layers{"in place of --stage-layers: stages are cut by measured seconds",
                              "代替 --stage-layers：按实测时间划分各阶段"};
  Text why_leave_slow_host_out{"the others wait for it in every step", "其他主机在每一步都要等它"};
  Text stages_differ{"the stages have {} layers", "各阶段的层数为 {}"};
  Text why_timeline{"with --profile, it shows who waits for whom in a step", "配合 --profile，显示一步之中谁在等谁"};
  Text loads_for{"rank {} on {} waits for data in {:.0f} % of its time",
                 "rank {}（主机 {}）有 {:.0f} % 的时间在等待数据"};
  Text read_ahead{"{} read ahead now", "现在预读 {} 个微批次"};
  Text local_data{"copy the data to a local disk", "把数据拷贝到本地磁盘"};
  Text why_local_data{"a shared folder or a slow card cannot keep up", "共享目录或慢速存储卡跟不上"};
  Text saves_for{"rank {0} on {1} stands for saving in {2:.0f} % of its time; {3} checkpoints took {4:.1f} s each",
                 "rank {0}（主机 {1}）有 {2:.0f} % 的时间在等待保存；{3} 个检查点平均各用 {4:.1f} 秒"};
  Text all_wait{"every rank waits for messages in at least {:.0f} % of its time",
                "每个 rank 至少有 {:.0f} % 的时间在等待消息"};
  Text bubble_by_plan{"{:.0f} % of that would be the pipeline's bubble", "其中流水线气泡应占 {:.0f} %"};
  Text accumulate{"with {} times the microbatches in a step, parameters are exchanged that much less often",
                  "每步的微批次增加到 {} 倍，交换参数的频率就相应降低"};
  Text pipeline_sends_less{"a pipeline sends activations, not all gradients", "流水线传送的是激活值，而不是全部梯度"};
  Text fewer_hosts{"fewer hosts may be faster over this link", "在这样的链路上，主机少反而可能更快"};
  Text bubble_measured{"ranks wait in {:.0f} % of their time", "各 rank 有 {:.0f} % 的时间在等待"};
  Text bubble_planned{"with {} on {} stages {:.0f} % of a step is idle by the schedule",
                      "{} 个微批次、{} 个阶段时，按调度每步有 {:.0f} % 是空闲的"};
  Text smaller_microbatches{"the same batch in {} microbatches", "同样的批次分成 {} 个微批次"};
  Text interleave{"each rank has two shorter stages, which halves the bubble", "每个 rank 有两个较短的阶段，气泡减半"};
  Text zero_bubble{"weight gradients fill the bubble", "用权重梯度的计算填补气泡"};
};

}  // namespace troika::diagnosis
