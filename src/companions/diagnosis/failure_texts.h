// Evidence and advice about runs that failed, in both languages. Arguments stand by number where the languages order them
// differently.
#pragma once

#include "base/language.h"

namespace troika::diagnosis {

struct FailureTexts {
  using Text = base::Bilingual;

  // Of every report.
  Text head_cause{"cause", "原因"};
  Text head_advice{"what to change", "建议"};

  // How a rank ended.
  Text died_of_signal{"rank {} on {} was killed by signal {}", "rank {}（主机 {}）被信号 {} 杀死"};
  Text died_of_named_signal{"rank {} on {} was killed by signal {} (SIG{})",
                            "rank {}（主机 {}）被信号 {}（SIG{}）杀死"};
  Text last_seen{"rank {} on {} was last seen at step {}, {}", "rank {}（主机 {}）最后一次出现在第 {} 步的 {}"};
  Text last_seen_at_step{"rank {} on {} was last seen at step {}", "rank {}（主机 {}）最后一次出现在第 {} 步"};
  Text last_seen_before{"rank {} on {} had not begun a step", "rank {}（主机 {}）还没有开始任何一步"};
  Text last_line{"its log ends with: {}", "它的日志以这一行结尾：{}"};
  Text kernel_killed{"the kernel's out-of-memory killer acted {} in the half minute before",
                     "此前半分钟内，内核的内存不足终止机制（OOM killer）动作了 {} 次"};
  Text memory_left{"the last sample of {} shows {:.1f} % of the memory available",
                   "主机 {} 的最后一次采样中，可用内存只占 {:.1f} %"};
  Text no_memory_kill{
      "the out-of-memory killer did not act on the run's processes in the half minute before, so the signal came from "
      "a "
      "person, a scheduler or a time limit",
      "此前半分钟内 OOM killer 没有对该运行的进程动作，所以信号来自人、调度系统或时间限制"};
  Text records_end{"the records end {} ago, no process of the run is heard, and nobody wrote an end",
                   "记录在 {}之前中断，此后没有该运行的任何进程的消息，也没有写下结束的原因"};
  Text folder_silent{"reading {} takes more than {} s: its disk does not answer",
                     "读取 {} 超过 {} 秒：其所在磁盘没有应答"};
  Text save_unfinished{"the checkpoint of step {} was being written and is not complete",
                       "第 {} 步的检查点正在写入，尚不完整"};
  Text launcher_heard_hangup{"the launcher got SIGHUP: its terminal or SSH connection closed",
                             "启动器收到 SIGHUP：它所在的终端或 SSH 连接已关闭"};
  Text disk_left{"{} had {} free where the run's folder is", "主机 {} 上运行目录所在的磁盘剩余 {}"};
  Text disk_left_after_save{
      "the last sample of {} shows {} free where the run's folder is; what a failed save had "
      "written is free again",
      "主机 {} 的最后一次采样显示，运行目录所在的磁盘剩余 {}；保存失败时已写入的部分随即释放"};
  Text disk_left_now{"the disk of the run's folder has {} free now", "运行目录所在的磁盘现在只剩 {}"};
  Text last_save{"the last complete checkpoint is that of step {}; it stays",
                 "最后一个完整的检查点是第 {} 步的，会保留"};
  Text joined_but_no_step{"all ranks came and exchanged small messages, but no step was done",
                          "所有 rank 都已到齐并交换过小消息，但没有完成任何一步"};

  Text message_names_it{"the message names it", "错误信息给出了它"};

  // Memory.
  Text half_micro_batch{"half of the {} sequences in a forward need half of the activations; the global batch stays",
                        "一次前向从 {} 条序列减半，激活内存也减半；全局批次不变"};
  Text recompute{"activations are computed again in backward instead of kept", "激活值在反向时重新计算，而不是保留"};
  Text zero_higher{"one more kind of state is split over the {} ranks that hold the same parameters",
                   "持有相同参数的 {} 个 rank 再多分摊一类状态"};
  Text offload{"optimizer state lies in files between steps", "优化器状态在两步之间放在文件里"};
  Text half_sequence{"shorter than {} tokens, each sequence needs less", "序列短于 {} 个 token，所需内存更少"};
  Text whole_memory_of_node{"the job gets all memory of its nodes", "作业可以使用节点的全部内存"};
  Text no_snapshot{"the checkpoint is written in place, without a copy in memory, and training waits for it",
                   "检查点直接写出，不在内存中另存一份；训练会等它写完"};

  // Signals.
  Text why_tmux{"started in a session of its own, the run does not end with the terminal",
                "在独立的会话中启动，运行不会随终端一起结束"};
  Text why_linger{"sessions of the user live on after the last log-out", "用户退出登录后，其会话继续存在"};
  Text same_command{"start the same command again", "再次执行同一条命令"};
  Text why_same_command{"it resumes from the newest complete checkpoint", "它会从最新的完整检查点恢复"};
  Text why_same_command_anew{"it starts over: no checkpoint is complete yet", "它会从头开始：还没有完整的检查点"};
  Text same_package{"install the same package on every host", "在每台主机上安装同一个软件包"};
  Text why_same_package{"the program on this host was built for another processor, or is another version",
                        "这台主机上的程序是为另一种处理器编译的，或者版本不同"};
  Text copy_again{"copy the file again", "重新拷贝该文件"};
  Text why_copy_again{"it was cut, or its disk cannot read it any more", "文件被截短，或者磁盘已读不出它"};
  Text why_shared_memory{
      "containers have 64 MiB of /dev/shm unless they are told otherwise; in Kubernetes an emptyDir with medium Memory",
      "容器的 /dev/shm 默认只有 64 MiB；在 Kubernetes 中用 medium 为 Memory 的 emptyDir"};
  Text without_shared_memory{"ranks of a host then exchange messages over TCP", "同一主机的 rank 改用 TCP 交换消息"};
  Text report_it{"report it with the log of the rank", "附上该 rank 的日志，报告这个问题"};
  Text why_report_it{"this is a fault of the program, unless it always happens on one host",
                     "如果不是总发生在同一台主机上，这就是程序的错误"};
  Text why_stack{"a limit of the stack that is too small looks the same", "栈限制太小时，现象相同"};
  Text why_memtester{"faulty memory looks the same when it is always one host",
                     "若总是同一台主机，可能是它的内存有故障"};
  Text save_more_often{"less is lost when a process is killed", "进程被杀死时损失更少"};
  Text restart_by_itself{"the launcher starts all ranks again, from the newest checkpoint where there is one",
                         "启动器会自动重新启动所有 rank；有检查点时从最新的一个继续"};
  Text signal_before_limit{"the run hears of the limit in time, saves and is queued again",
                           "运行会提前得知时限，保存后重新排队"};
  Text why_in_a_step{"SLURM sends that signal to what srun starts, not to the script of the job",
                     "SLURM 只把该信号发给由 srun 启动的进程，而不发给作业脚本"};

  // Meeting.
  Text other_port{"a port that no other program has, the same on all hosts",
                  "换一个没有被其他程序占用的端口，所有主机都一样"};
  Text end_the_holder{"end the program that holds the port", "结束占用该端口的程序"};
  Text why_end_the_holder{"it may be left over from an earlier run; the message names it",
                          "它可能是以前的运行遗留下来的；错误信息中有它的名字"};
  Text why_secret{"the same file on every host", "每台主机使用同一个密钥文件"};
  Text own_node_rank{"give each host its own --node-rank", "给每台主机各自的 --node-rank"};
  Text why_own_node_rank{"hosts are numbered from 0", "主机从 0 开始编号"};
  Text launch_in_pod{"run `troika launch` in each pod", "在每个 pod 中运行 `troika launch`"};
  Text why_launch_in_pod{"PyTorchJob's RANK is the number of the pod and not of a process",
                         "PyTorchJob 的 RANK 是 pod 的编号，不是进程的编号"};
  Text same_flags{"start every host with the same command, but for --node-rank",
                  "除 --node-rank 外，每台主机都用同一条命令启动"};
  Text why_same_flags{"the message names the first difference", "错误信息指出了第一处不同"};
  Text same_data{"give every host the same data", "让每台主机使用相同的数据"};
  Text why_same_data{"their contents are compared before the first step", "第一步之前会比较数据的内容"};
  Text own_folder{"a folder of its own for each run", "每个运行使用自己的目录"};
  Text end_the_other_run{"end the other run, or let it end", "结束另一个运行，或等它结束"};
  Text why_end_the_other_run{"two runs cannot write to one folder", "两个运行不能写同一个目录"};
  Text address_as_number{"--master-addr as a number, such as 10.0.0.1", "--master-addr 写成 IP 地址，例如 10.0.0.1"};
  Text why_address_as_number{"a number needs no name service, and is the same seen from every host",
                             "IP 地址不需要域名解析，从每台主机看都一样"};
  Text names_come_late{"in Kubernetes names appear after the pods", "在 Kubernetes 中，域名比 pod 出现得晚"};
  Text why_no_sidecar{"a sidecar of Istio keeps pods from reaching each other",
                      "Istio 的 sidecar 会阻止 pod 之间的连接"};
  Text fix_hosts_file{"in /etc/hosts, give the host's name its address on the network",
                      "在 /etc/hosts 中，把主机名对应到它在网络上的地址"};
  Text why_fix_hosts_file{"Debian maps it to 127.0.1.1, which other hosts cannot reach",
                          "Debian 把它对应到 127.0.1.1，其他主机到不了"};
  Text name_interface{"--comm.interface with the card that reaches the other hosts",
                      "用 --comm.interface 指定通往其他主机的网卡"};
  Text why_name_interface{
      "with several networks the wrong one may be taken; `ip route get ADDRESS` names the right one",
      "有多个网络时可能选错；`ip route get ADDRESS` 会给出正确的网卡"};
  Text open_ports{"open TCP ports {} and 32768-60999 between the hosts", "在主机之间放开 TCP 端口 {} 和 32768-60999"};
  Text why_open_ports{
      "ranks also listen on ports that the system picks, of net.ipv4.ip_local_port_range; --join-timeout opens none",
      "各 rank 还会监听由系统从 net.ipv4.ip_local_port_range 中选取的端口；加大 --join-timeout 不会放开端口"};
  Text no_answer_at_all{
      "nothing came back from that address, not even a refusal: a firewall drops what is sent to the port, or no host "
      "has "
      "the address",
      "该地址没有任何回应，连拒绝也没有：防火墙丢弃了发往该端口的数据包，或者没有主机使用这个地址"};
  Text no_host_there{"no host has that address, or it is switched off", "没有主机使用这个地址，或者那台主机没有开机"};
  Text other_master_address{"another --master-addr: an address of host 0 on a network that all hosts share",
                            "换一个 --master-addr：0 号主机在所有主机共有的网络上的地址"};
  Text why_other_master_address{
      "`ip -br addr` on host 0 lists them; --comm.interface names that network's card to the ranks",
      "在 0 号主机上用 `ip -br addr` 列出；用 --comm.interface 让各 rank 使用该网络的网卡"};
  Text why_trusted_zone{"firewalld then lets the hosts of that network through", "firewalld 便会放行该网络中的主机"};
  Text start_the_missing{"start those that are missing, with the same --master-addr and --master-port",
                         "用相同的 --master-addr 和 --master-port 启动缺少的那些"};
  Text why_start_the_missing{"or look at their own output: they may have failed before they could join",
                             "或者查看它们自己的输出：它们可能在加入之前就已失败"};
  Text hosts_come_late{"hosts that start late are waited for longer", "对启动较晚的主机等待更久"};
  Text why_doctor{"it checks names, ports, MTU and versions between the hosts, and names the host and the remedy",
                  "它检查主机之间的域名、端口、MTU 和版本，并指出是哪台主机、如何解决"};

  // Files.
  Text out_on_other_disk{"--out on another disk", "把 --out 放到另一块磁盘上"};
  Text why_other_disk{"a local one with room for checkpoint.keep + 2 checkpoints",
                      "本地磁盘，能放下 checkpoint.keep + 2 个检查点"};
  Text keep_fewer{"fewer than {} complete checkpoints are kept", "保留的完整检查点少于 {} 个"};
  Text keep_no_best{"the best checkpoint is not kept beside the newest", "除最新的以外，不再另外保留最好的检查点"};
  Text why_open_files{"every connection and every data file takes one, in the shell that starts the run",
                      "每个连接和每个数据文件都要占用一个；在启动运行的 shell 中设置"};
  Text why_open_files_of_unit{"the same for a unit of systemd", "systemd 单元中的相应设置"};
  Text why_locked_memory{"the card needs memory that cannot be swapped; LimitMEMLOCK=infinity in a unit",
                         "网卡需要不会被换出的内存；在 systemd 单元中用 LimitMEMLOCK=infinity"};
  Text why_subnet_manager{"a port that stays in INIT has no subnet manager", "端口停在 INIT 状态，说明没有子网管理器"};
  Text over_tcp{"messages go over TCP meanwhile", "在此期间消息走 TCP"};
  Text mount_hard{"mount the shared folder with the option hard", "用 hard 选项挂载共享目录"};
  Text why_mount_hard{"soft gives up when the server restarts, and writes are lost",
                      "soft 在服务器重启时会放弃，写入会丢失"};

  // Standing still.
  Text prepares_alone{"rank {} on {} has prepared its data for {:.0f} s, and all others wait",
                      "rank {}（主机 {}）准备数据已用 {:.0f} 秒，其他 rank 都在等待"};
  Text all_wait_before_a_step{
      "all {} ranks wait for each other's messages before the first step, for {:.0f} s and more",
      "全部 {} 个 rank 在第一步之前互相等待消息，至少已有 {:.0f} 秒"};
  Text save_beside{"checkpoints are written beside training", "检查点与训练同时写出"};
  Text save_less_often{"the disk is written to less often", "减少写磁盘的次数"};
  Text why_prepare{"prepared once, the data are there when a run starts", "数据提前处理一次，运行启动时即可使用"};
  Text all_cores_tokenize{"all cores tokenize", "用全部核心分词"};
  Text shared_cache{"--data.cache in a folder that all hosts see", "把 --data.cache 放在所有主机都能看到的目录"};
  Text why_shared_cache{"one host tokenizes and the others read what it wrote", "一台主机分词，其他主机直接读取结果"};
  Text why_ping{"between the hosts, both ways: where it fails and -s 500 passes, the MTU is the cause",
                "在主机之间双向执行：若它失败而 -s 500 成功，原因就是 MTU"};
  Text why_mtu{"the same MTU on all hosts and switches, as small as the smallest on the way",
               "所有主机和交换机使用相同的 MTU，不大于途中最小的"};
  Text see_the_link{"look at the link between the two hosts", "检查这两台主机之间的链路"};
  Text why_see_the_link{"both are heard by host 0, but nothing passes between them",
                        "0 号主机能听到双方，但它们之间什么也传不过去"};
  Text why_continue{"on its host: the process is stopped, and continues", "在该主机上执行：进程被停住了，这样它会继续"};
  Text see_who_stopped{"find out who stopped the process", "查明是谁停住了该进程"};
  Text why_see_who_stopped{"a shell (Ctrl-Z), a debugger, or a scheduler that suspends jobs; it has been ended since",
                           "shell（Ctrl-Z）、调试器，或会挂起作业的调度系统；该进程现已结束"};
  Text heartbeat_is_older{"all ranks had done step {}: the heartbeat is older",
                          "所有 rank 都已完成第 {} 步：该心跳早于此"};
  Text why_ask{"the rank says in its log where it stands", "该 rank 会在日志中写下它停在哪里"};
  Text only_if_slow{"only if the rank is slow and not hung: {} s is the limit now",
                    "仅当该 rank 只是慢而没有卡死时：现在的上限是 {} 秒"};
  Text see_the_host{"look at that host: power, network, swap", "检查那台主机：电源、网络、交换区"};
  Text why_see_the_host{"nothing was heard of it any more", "再也收不到它的任何消息"};
  Text hosts_that_pause{"for hosts that stall for long: {} s is the limit now",
                        "用于会长时间停顿的主机：现在的上限是 {} 秒"};

  // The rest.
  Text leave_host_out{"leave that host out", "不使用那台主机"};
  Text why_leave_faulty_host_out{"its results cannot be trusted until it is tested", "在检测之前，它的计算结果不可信"};
  Text do_as_told{"do what the message says", "按错误信息所说的做"};
  Text why_do_as_told{"it names the setting or the file, the rule and the remedy",
                      "它指出了设置或文件、规则和解决办法"};
  Text see_the_logs{"look at the logs of the ranks", "查看各 rank 的日志"};
  Text why_see_the_logs{"the rank that was first to fail says more there", "最先失败的 rank 在那里说得更详细"};
};

}  // namespace troika::diagnosis
