#include "diagnosis/causes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace troika::diagnosis {

const std::vector<Cause>& causes() {
  static const std::vector<Cause> rows = {
      {"none", {"nothing is wrong with this run", "这个运行没有问题"}},
      {"host_out_of_memory", {"a host ran out of memory", "主机内存不足"}},
      {"device_out_of_memory", {"a GPU ran out of memory", "GPU 显存不足"}},
      {"host_swapping", {"a host swaps, and its steps take much longer", "主机在使用交换区，每步耗时大大增加"}},
      {"plan_exceeds_memory",
       {"the run needs more memory than there is, and was not started", "运行所需内存超过现有内存，因此没有启动"}},
      {"out_of_memory_while_saving", {"memory ran out while a checkpoint was written", "写检查点时内存不足"}},
      {"job_memory_limit", {"SLURM ended the job at its memory limit", "SLURM 因达到内存上限而终止了作业"}},
      {"killed_from_outside",
       {"the run was killed from outside: by a person, a scheduler or a time limit",
        "运行被外部终止：人、调度系统或时间限制"}},
      {"host_lost",
       {"a host, or its launcher, is gone or cannot be reached", "一台主机或它的启动器已消失，或无法到达"}},
      {"bus_error", {"a mapped file or shared memory could not be read", "映射的文件或共享内存读不出来"}},
      {"terminal_closed",
       {"the terminal or SSH connection that the run was started from closed", "启动运行的终端或 SSH 连接已关闭"}},
      {"wrong_processor", {"the program was built for another processor", "程序是为另一种处理器编译的"}},
      {"crashed", {"the program crashed", "程序崩溃"}},
      {"port_in_use", {"the port belongs to another program or launch", "端口被其他程序或另一次启动占用"}},
      {"wrong_secret", {"the launches have different secrets", "各次启动的密钥不同"}},
      {"wrong_address", {"ranks meet at an address that not all of them can reach", "会合地址并非所有 rank 都能到达"}},
      {"firewall", {"a firewall refuses connections between the hosts", "防火墙拒绝了主机之间的连接"}},
      {"ranks_missing", {"some ranks or hosts did not come", "有些 rank 或主机没有到"}},
      {"mtu_black_hole",
       {"small messages pass between the hosts and large ones vanish", "主机之间小消息能通过，大消息会消失"}},
      {"link_lost", {"no message passes between two hosts any more", "两台主机之间的消息不再能通过"}},
      {"rank_hangs", {"a rank stands still and the others wait for it", "一个 rank 停住不动，其他 rank 在等它"}},
      {"slow_disk", {"a disk does not keep up with the checkpoints", "磁盘跟不上检查点的写入"}},
      {"data_preparation", {"ranks wait while one prepares the data", "一个 rank 在准备数据，其他 rank 在等待"}},
      {"infiniband", {"InfiniBand cannot be used", "InfiniBand 无法使用"}},
      {"too_many_open_files", {"the limit of open files is reached", "打开的文件数达到上限"}},
      {"disk_full", {"a disk is full", "磁盘已满"}},
      {"file_system_failed", {"a file system failed under the run", "运行所用的文件系统出错"}},
      {"fp16_overflow", {"fp16 overflows with any loss scale", "无论损失缩放取何值，fp16 都会溢出"}},
      {"diverged", {"the training diverged", "训练发散"}},
      {"no_training_tokens", {"no token of the data carries loss", "数据中没有任何计入 loss 的 token"}},
      {"no_learning_signal", {"the loss does not fall", "loss 不下降"}},
      {"jump_after_resume", {"the loss jumped when the run was resumed", "恢复运行时 loss 发生跳变"}},
      {"overfitting", {"the model overfits: the validation loss rises", "模型过拟合：验证 loss 上升"}},
      {"communication_bound",
       {"the ranks exchange messages for longer than they compute", "各 rank 交换消息的时间超过计算时间"}},
      {"wrong_thread_count", {"threads and cores do not match", "线程数与核心数不相称"}},
      {"processor_throttled", {"a processor slows itself down", "处理器自行降速"}},
      {"data_bound", {"steps wait for data", "训练步在等待数据"}},
      {"straggler",
       {"one rank is slower than its like, and the others wait for it", "一个 rank 比同类慢，其他 rank 在等它"}},
      {"pipeline_bubble", {"the pipeline stands idle: it has too few microbatches", "流水线有空闲：微批次太少"}},
      {"name_unknown", {"the name of host 0 cannot be looked up", "无法解析 0 号主机的名字"}},
      {"ranks_differ", {"the ranks were started differently", "各 rank 的启动方式不一致"}},
      {"duplicate_rank", {"two processes or hosts have one number", "两个进程或主机用了同一个编号"}},
      {"folder_in_use", {"another run writes to the folder", "另一个运行正在写这个目录"}},
      {"changed_bits", {"memory or a processor changed the numbers of the run", "内存或处理器改变了运行中的数值"}},
      {"settings_refused", {"a setting or flag was refused", "某个设置或参数被拒绝"}},
      {"data_refused", {"a file is missing, empty or damaged", "某个文件缺失、为空或损坏"}},
      {"peer_lost", {"a rank or the network failed", "某个 rank 或网络失败"}},
      {"internal_fault", {"a fault of Troika itself", "Troika 自身的错误"}},
  };
  return rows;
}

base::Bilingual sentence_of(std::string_view word) {
  const auto found =
      std::find_if(causes().begin(), causes().end(), [&](const Cause& cause) { return cause.word == word; });
  if (found == causes().end()) throw base::BugError(fmt::format("'{}' is no cause", word));
  return found->sentence;
}

}  // namespace troika::diagnosis
