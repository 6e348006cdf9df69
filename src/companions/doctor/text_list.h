// The texts of texts.h: name, English, Chinese. What is measured, what is wanted, and advice in one sentence.
#pragma once

// clang-format off
#define TROIKA_DOCTOR_TEXTS_OF_A_HOST(T) \
  T(not_measured, "not measured", "未测量") \
  T(no_file, "{} is not there or not readable", "{} 不存在或无法读取") \
  T(no_folder, "there is no such folder", "没有这个目录") \
  T(clock_unknown, "the system does not tell", "系统未提供") \
  T(clock_wanted, "kept right by a time daemon", "由时间同步服务校准") \
  T(clock_synchronised, "synchronised, at most {} off", "已同步，误差不超过 {}") \
  T(clock_alone, "not synchronised, as far as the system knows", "就系统所知未同步") \
  T(clock_advice, "Install chrony if time stamps of several hosts are to agree; training does not need it.", \
    "如果需要各主机的时间戳一致，请安装 chrony；训练本身不依赖时钟。") \
  T(no_port, "no port was named (--master-port)", "未指定端口（--master-port）") \
  T(port_of_launch, "{}: this launch has met there", "{}：本次启动已在此端口会合") \
  T(port_free, "{} is free", "{} 空闲") \
  T(port_free_wanted, "free on the first host, open to the others", "在首台主机上空闲，且其他主机可以访问") \
  T(port_taken, "{} is held by {}", "{} 被 {} 占用") \
  T(port_taken_advice, "End that program, or choose another --master-port on every host.", "请结束该程序，或在所有主机上换用另一个 --master-port。") \
  T(port_forbidden, "{} may not be used by this user", "当前用户无权使用端口 {}") \
  T(port_forbidden_advice, "Choose a --master-port above 1023 on every host.", "请在所有主机上选择大于 1023 的 --master-port。") \
  T(port_range, "the system hands out {} to {}", "系统自动分配的端口范围是 {} 到 {}") \
  T(port_range_known, "a port outside of it for --master-port", "--master-port 应选在此范围之外") \
  T(port_outside, "{} outside of it", "{} 应在此范围之外") \
  T(port_range_advice, "Another program may be handed port {} at any time: choose a --master-port outside {} to {}.", \
    "端口 {} 随时可能被分配给其他程序：请选择 {} 到 {} 之外的 --master-port。") \
  T(no_interface, "no network interface is up", "没有启用的网络接口") \
  T(mtu_wanted, "at least {}, alike on hosts and switch", "不小于 {}，且主机与交换机一致") \
  T(mtu_small_advice, "Raise the MTU of {}: so small a one costs speed and some networks drop what does not fit.", \
    "请调大 {} 的 MTU：过小会降低速度，有些网络还会丢弃超出的数据包。") \
  T(interface_there, "{} up, with an address", "{} 已启用并有地址") \
  T(interface_absent, "there is no interface {}", "没有网络接口 {}") \
  T(interface_absent_advice, "Give comm.interface a name that `ip address` lists, or leave it out.", \
    "请把 comm.interface 设为 `ip address` 列出的接口名，或不设置它。") \
  T(interface_down, "{} is down or has no address", "{} 未启用或没有地址") \
  T(interface_down_advice, "Bring {} up and give it an address, or name another comm.interface.", \
    "请启用 {} 并配置地址，或指定其他 comm.interface。") \
  T(no_default_route, "there is no default route", "没有默认路由") \
  T(leaves_by, "traffic leaves by {}", "流量经 {} 发出") \
  T(wired_wanted, "a wired interface", "有线网络接口") \
  T(only_wireless_advice, "A cable would be faster and steadier than Wi-Fi.", "有线连接比 Wi-Fi 更快、更稳定。") \
  T(wireless_advice, "Traffic leaves by {0} though {1} is wired: set comm.interface to {1}.", \
    "流量经 {0} 发出，而 {1} 是有线接口：请设置 comm.interface 为 {1}。") \
  T(same_subnet, "{} and {} are both in {}", "{} 与 {} 同在 {}") \
  T(subnets_wanted, "one interface in each subnet", "每个子网只有一个接口") \
  T(same_subnet_advice, "Replies may leave by the other card: put {} and {} in different subnets or set comm.interface.", \
    "应答可能从另一块网卡发出：请把 {} 和 {} 放到不同子网，或设置 comm.interface。") \
  T(no_speed, "the interfaces do not tell their speed (virtual)", "网络接口未提供速率（虚拟接口）") \
  T(half_duplex, "{} runs at half duplex", "{} 工作在半双工") \
  T(full_duplex, "full duplex, no errors", "全双工且无错误") \
  T(half_duplex_advice, "Let {} and its switch port both negotiate: a fixed setting on one end gives half duplex.", \
    "请让 {} 与交换机端口都使用自动协商：只有一端固定设置会变成半双工。") \
  T(link_errors, "{}: {} within seconds", "{}：数秒内出现 {} 个错误") \
  T(no_errors, "no errors", "没有错误") \
  T(link_errors_advice, "Change the cable of {}, or the port it is plugged into.", "请更换 {} 的网线或所插的端口。") \
  T(carrier_changes, "{} lost or found its link {} within seconds", "{} 的链路在数秒内通断 {} 次") \
  T(no_carrier_changes, "a link that stays", "链路保持稳定") \
  T(infiniband_none, "no InfiniBand", "没有 InfiniBand") \
  T(infiniband_wanted, "ports active, where there are any", "如有端口，应为 ACTIVE") \
  T(infiniband_init_advice, "{} waits for a subnet manager (sm_lid {}): start opensm on one host or on the switch.", \
    "{} 在等待子网管理器（sm_lid {}）：请在一台主机或交换机上启动 opensm。") \
  T(infiniband_down_advice, "{} has no link: look at its cable and the port at the other end.", "{} 没有链路：请检查线缆和对端端口。") \
  T(files, "{} open files (up to {})", "可打开 {} 个文件（上限 {}）") \
  T(files_wanted, "at least {}", "不少于 {}") \
  T(files_advice, "Run `ulimit -n 65536` before the start; in a unit LimitNOFILE=65536, in limits.conf nofile.", \
    "请在启动前执行 `ulimit -n 65536`；systemd 单元用 LimitNOFILE=65536，limits.conf 用 nofile。") \
  T(files_soft_advice, "Troika raises it where it needs more; for other programs run `ulimit -n 65536`.", \
    "Troika 在需要时会自行提高；其他程序可执行 `ulimit -n 65536`。") \
  T(processes, "{} processes and threads", "进程和线程上限 {}") \
  T(processes_wanted, "at least {}", "不少于 {}") \
  T(processes_advice, "Raise `ulimit -u`, or pids.max (TasksMax, --pids-limit) of the container.", \
    "请提高 `ulimit -u`，或容器的 pids.max（TasksMax、--pids-limit）。") \
  T(locked, "{} of locked memory", "可锁定内存 {}") \
  T(locked_wanted, "no limit where there is InfiniBand", "有 InfiniBand 时应不限制") \
  T(locked_advice, "Run `ulimit -l unlimited` before the start; in a unit LimitMEMLOCK=infinity.", \
    "请在启动前执行 `ulimit -l unlimited`；systemd 单元用 LimitMEMLOCK=infinity。") \
  T(no_limit, "no limit below the host's memory", "没有低于主机内存的限制") \
  T(limit_wanted, "room for the plan of every rank", "能容纳每个 rank 的计划内存") \
  T(memory_limit, "the control group grants {}", "控制组允许 {}") \
  T(memory_limit_small_advice, "Raise the container's memory: hardly a model fits into so little.", \
    "请调大容器的内存：这么小几乎放不下任何模型。") \
  T(memory_needed, "{} for this run", "本次运行需要 {}") \
  T(memory_limit_advice, "The container grants {}, the plan needs {}: raise its memory (--memory) or lower batch.micro_batch_size.", \
    "容器允许 {}，计划需要 {}：请调大容器内存（--memory）或减小 batch.micro_batch_size。") \
  T(cores, "{}", "{} 个核") \
  T(quota_wanted, "no quota below them", "没有低于核数的配额") \
  T(quota, "a quota of {}, {} visible", "CPU 配额 {} 核，可见 {} 核") \
  T(threads_asked, "{} x {}", "{} 线程 x {} 个 rank") \
  T(quota_wanted_ranks, "a core for each of {}", "{} 个 rank 每个至少一核") \
  T(quota_advice, "The quota is {}: set train.threads so that ranks x threads stay within it, or raise it.", \
    "配额是 {} 核：请设置 train.threads 使 rank 数 x 线程数不超过它，或提高配额。") \
  T(quota_note, "Threads are chosen by the quota unless train.threads says otherwise.", "除非设置 train.threads，线程数按配额选取。") \
  T(cores_online, "more of the host's {}", "主机的 {} 个核中的更多核") \
  T(srun_cores_advice, "srun gives one core unless told: use `srun -c N`, or export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK.", \
    "srun 默认只给一个核：请用 `srun -c N`，或 export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK。") \
  T(threads_advice, "More threads than cores slow each other down: set train.threads to {}.", \
    "线程多于核数会互相拖慢：请把 train.threads 设为 {}。") \
  T(ranks_asked, "{}", "{} 个 rank") \
  T(ranks_advice, "Start at most {} on this host: they share its cores.", "这台主机最多启动 {} 个 rank：它们共用其核。") \
  T(omp_advice, "Unset OMP_NUM_THREADS: then every rank takes its share of the cores.", \
    "请取消 OMP_NUM_THREADS：这样每个 rank 使用自己的那份核。") \
  T(load, "a load of {} on {}", "负载 {}，共 {} 个核") \
  T(load_wanted, "nothing else to do", "没有其他工作") \
  T(load_advice, "Other programs work on this host: training waits for cores, and what is measured here is too low.", \
    "主机上有其他程序在运行：训练会等待核，这里测得的数值也会偏低。") \
  T(memory_free, "{} available", "可用 {}") \
  T(memory_free_wanted, "at least {}", "不少于 {}") \
  T(memory_free_advice, "End other programs on this host, or lower batch.micro_batch_size.", \
    "请结束这台主机上的其他程序，或减小 batch.micro_batch_size。") \
  T(swap_used, "{} of {} swap used, none read back", "交换区已用 {}，共 {}，没有换入") \
  T(swap_wanted, "nothing swapped in meanwhile", "期间没有换入") \
  T(swap_pages, "{} pages swapped in and {} out within seconds", "数秒内换入 {} 页、换出 {} 页") \
  T(memory_pressure, "programs stood {} % of the last 10 s for memory", "最近 10 秒中有 {} % 的时间程序在等内存") \
  T(swap_advice, "The host swaps, and a step will be 10 to 100 times slower: end other programs, lower the run's memory, or turn swap off.", \
    "主机正在换页，训练一步会慢 10 到 100 倍：请结束其他程序、减少本次运行的内存，或关闭交换区。") \
  T(swap_note, "A few pages came back from swap; more of it would slow training.", "有少量页从交换区换入；更多会拖慢训练。") \
  T(huge_pages, "{} lie in huge pages", "{} 被保留为大页") \
  T(huge_pages_wanted, "at most a tenth of the memory", "不超过内存的十分之一") \
  T(huge_pages_advice, "{} are kept for huge pages, which training cannot use: lower vm.nr_hugepages.", \
    "{} 被留作大页，训练无法使用：请减小 vm.nr_hugepages。") \
  T(overcommit_wanted, "vm.overcommit_memory 0 or 1", "vm.overcommit_memory 为 0 或 1") \
  T(overcommit_advice, "Large mappings may fail though memory is free: set vm.overcommit_memory to 0.", \
    "即使内存空闲，大块映射也可能失败：请把 vm.overcommit_memory 设为 0。") \
  T(bandwidth_wanted, "as on the other hosts", "与其他主机相当") \
  T(clock_share_wanted, "at least {:.0f} % of the clock while all cores work", "所有核工作时不低于最高频率的 {:.0f} %") \
  T(clock_share, "{} % of the clock ({} GHz), governor {}", "最高频率的 {} %（{} GHz），调频策略 {}") \
  T(governor_advice, "The cores run below their clock: set the governor to performance, or look at cooling and power limits.", \
    "核的频率低于额定：请把调频策略设为 performance，或检查散热与功耗限制。") \
  T(throttling_wanted, "not throttled, below {:.0f} degrees Celsius", "没有降频，温度低于 {:.0f} 摄氏度") \
  T(throttled, "throttled {} within seconds", "数秒内降频 {} 次") \
  T(throttling_advice, "The host is too hot: look at its cooling, or use fewer train.threads.", "主机过热：请检查散热，或减少 train.threads。") \
  T(temperature, "{} degrees Celsius", "{} 摄氏度") \
  T(no_heat, "the host tells neither temperature nor throttling", "主机未提供温度和降频信息") \
  T(not_throttled, "not throttled", "没有降频") \
  T(no_raspberry, "no Raspberry Pi", "不是树莓派") \
  T(voltage_well, "no alarm", "没有告警") \
  T(voltage_wanted, "no under-voltage, where this is a Raspberry Pi", "如为树莓派，应没有欠压") \
  T(voltage_low, "under-voltage (below 4.63 V)", "欠压（低于 4.63 V）") \
  T(voltage_advice, "The supply is too weak: use the official one, and a short cable.", "电源供电不足：请使用官方电源和短线缆。") \
  T(pi_wanted, "throttled=0x0, where this is a Raspberry Pi", "如为树莓派，应为 throttled=0x0") \
  T(no_vcgencmd, "neither /sys nor vcgencmd tells (group video)", "/sys 和 vcgencmd 均未提供（需要 video 组）") \
  T(pi_hot_advice, "The Pi is capped or throttled, by heat in most cases: give it a heat sink and a fan.", \
    "树莓派被限频或降频，多因过热：请加装散热片和风扇。") \
  T(pi_voltage_before_advice, "There was under-voltage since it was started: use the official supply, and a short cable.", \
    "开机以来出现过欠压：请使用官方电源和短线缆。") \
  T(pi_hot_before_advice, "It was throttled since it was started: give it a heat sink and a fan.", "开机以来曾经降频：请加装散热片和风扇。") \
  T(gpu_none, "no NVIDIA driver", "没有 NVIDIA 驱动") \
  T(gpu_driver_wanted, "{} or later, where there are NVIDIA GPUs", "如有 NVIDIA GPU，应为 {} 或更新") \
  T(gpu_driver_is, "driver {}", "驱动 {}") \
  T(gpu_driver_untold, "a driver that does not tell its version", "驱动未提供版本") \
  T(gpu_driver_advice, "Install NVIDIA's driver {} or later: an older one takes no run on a GPU.", \
    "请安装 NVIDIA 驱动 {} 或更新版本：更旧的驱动无法在 GPU 上运行。") \
  T(gpu_cards_wanted, "compute capability 8.0 or later and {} free, where there are NVIDIA GPUs", \
    "如有 NVIDIA GPU，计算能力应为 8.0 或更高，且空闲 {}") \
  T(gpu_card, "cuda:{}: {}, compute capability {}.{}, {} free", "cuda:{}：{}，计算能力 {}.{}，空闲 {}") \
  T(gpu_unusable, "no GPU can be used: {}", "没有可用的 GPU：{}") \
  T(gpu_unusable_advice, "Until this is mended runs compute on the processor.", "在此问题解决之前，运行会使用处理器计算。") \
  T(gpu_card_advice, "Leave cuda:{} out with CUDA_VISIBLE_DEVICES: no rank can use it.", \
    "请用 CUDA_VISIBLE_DEVICES 排除 cuda:{}：任何 rank 都无法使用它。") \
  T(gpu_memory_advice, "Other programs hold the memory of cuda:{}: see which with nvidia-smi.", \
    "其他程序占用了 cuda:{} 的显存：请用 nvidia-smi 查看。") \
  T(gpu_links_wanted, "all PCIe lanes of each NVIDIA GPU in use", "每个 NVIDIA GPU 的 PCIe 通道全部启用") \
  T(gpu_link, "{}, {} of {} PCIe lanes", "{}，PCIe 通道 {}/{}") \
  T(gpu_link_advice, "GPU {} runs with {} of its {} PCIe lanes: look at how the card sits, and at its slot.", \
    "GPU {} 只启用了 {}/{} 条 PCIe 通道：请检查显卡是否插牢以及所用的插槽。") \
  T(gpu_libraries_wanted, "CUDA 12.0, cuBLASLt 12.4 and NCCL 2.28 or later, where there are NVIDIA GPUs", \
    "如有 NVIDIA GPU，应有 CUDA 12.0、cuBLASLt 12.4 和 NCCL 2.28 或更新版本") \
  T(gpu_library_unusable, "{} cannot be used: {}", "无法使用 {}：{}") \
  T(gpu_driver_library_advice, "Make libcuda.so.1 of NVIDIA's driver usable here: in a container by --gpus all and NVIDIA's container toolkit.", \
    "请使 NVIDIA 驱动的 libcuda.so.1 在此可用：容器中使用 --gpus all 和 NVIDIA 的 container toolkit。") \
  T(gpu_blas_advice, "Install cuBLASLt 12.4 or later into the active Python environment: pip install nvidia-cublas.", \
    "请在当前 Python 环境中安装 cuBLASLt 12.4 或更新版本：pip install nvidia-cublas。") \
  T(gpu_cudnn_advice, "Install cuDNN 9.10.2 or later into the active Python environment: pip install nvidia-cudnn-cu13 (or nvidia-cudnn-cu12); without it attention is computed by products in chunks.", \
    "请在当前 Python 环境中安装 cuDNN 9.10.2 或更新版本：pip install nvidia-cudnn-cu13（或 nvidia-cudnn-cu12）；没有它，注意力用分块矩阵乘法计算。") \
  T(gpu_nccl_advice, "Install NCCL 2.28 or later into the active Python environment: pip install nvidia-nccl-cu13; without it messages between GPUs go over TCP.", \
    "请在当前 Python 环境中安装 NCCL 2.28 或更新版本：pip install nvidia-nccl-cu13；没有它，GPU 之间的消息会走 TCP。") \
  T(sync_wanted, "0.1 to 50 ms to write 4 KiB through", "写透 4 KiB 用时 0.1 到 50 毫秒") \
  T(sync_slow_advice, "Saves will be slow on this disk: choose another one for --out.", "在这块盘上保存会很慢：请为 --out 换一块盘。") \
  T(sync_fast_advice, "So fast a write has not reached a disk, unless its cache is protected: saves may not survive a power cut.", \
    "这么快说明数据没有真正写到盘上（除非缓存有掉电保护）：断电时保存的内容可能丢失。") \
  T(file_system_wanted, "a file system that lasts, and is writable", "可写且持久的文件系统") \
  T(not_writable, "{} is not writable", "{} 不可写") \
  T(not_writable_advice, "Choose another folder for --out, or make this one writable for this user.", \
    "请为 --out 选择其他目录，或让当前用户可以写入它。") \
  T(soft_advice, "A soft mount loses writes when the server is slow: mount it hard.", "soft 挂载在服务器变慢时会丢失写入：请改用 hard 挂载。") \
  T(tmpfs_advice, "What is saved here lies in memory and is gone after a restart: choose a disk for --out.", \
    "保存在这里的内容位于内存，重启后会丢失：请为 --out 选择磁盘。") \
  T(overlay_advice, "What is saved here goes with the container: mount a volume for --out.", \
    "保存在这里的内容会随容器一起消失：请为 --out 挂载卷。") \
  T(space, "{} free at {}", "{} 空闲，位于 {}") \
  T(space_needed, "{} for the checkpoints kept", "保留的检查点需要 {}") \
  T(space_wanted, "at least {}", "不少于 {}") \
  T(space_advice, "Checkpoints need {}, free are {}: lower checkpoint.keep or choose another --out.", \
    "检查点需要 {}，空闲 {}：请减小 checkpoint.keep 或换一个 --out。") \
  T(space_little_advice, "Make room there, or choose another --out.", "请腾出空间，或换一个 --out。") \
  T(space_refused, "the system refuses as much at {}", "系统拒绝在 {} 分配这么多空间") \
  T(quota_space_advice, "A quota may stand in the way: ask for a larger one, or choose another --out.", \
    "可能受磁盘配额限制：请申请更大的配额，或换一个 --out。") \
  T(name_not_asked, "{} is not in /etc/hosts, and name servers were not asked", "/etc/hosts 中没有 {}，也未查询域名服务器") \
  T(name_server_silent, "nothing answered within seconds for {}", "数秒内没有得到 {} 的解析结果") \
  T(name_wanted, "the own name as an address that others reach", "本机名应解析为其他主机可以访问的地址") \
  T(name_wanted_alone, "any address, on one host", "单机时任何地址均可") \
  T(name_unknown, "{} has no address", "{} 没有对应的地址") \
  T(name_unknown_advice, "Give --master-addr as an address, or add the name to /etc/hosts on every host.", \
    "请用 IP 地址指定 --master-addr，或在所有主机的 /etc/hosts 中加入该名字。") \
  T(name_loopback_advice, "/etc/hosts maps {} to {}, which no other host reaches: give --master-addr as an address, or correct that line.", \
    "/etc/hosts 把 {} 映射到 {}，其他主机无法访问：请用 IP 地址指定 --master-addr，或修正该行。") \
  T(environment_well, "names interfaces that are there", "指定的接口均存在") \
  T(variable_wanted, "an interface of this host, where one is named", "如指定接口，应为本机的接口") \
  T(variable_advice, "Unset {}, or name an interface that `ip address` lists.", "请取消 {}，或指定 `ip address` 列出的接口。")

#define TROIKA_DOCTOR_TEXTS_OF_SEVERAL(T) \
  T(answer_wanted, "an answer", "应答") \
  T(no_answer, "no word within {}", "{} 内没有应答") \
  T(fell_silent, "fell silent: no word within {}", "中途失联：{} 内没有应答") \
  T(ended, "its doctor ended: {}", "其检查进程已结束：{}") \
  T(no_answer_advice, "See whether the host is up and reached by ssh or its launcher, and has this Troika; the other hosts went on without it.", \
    "请检查该主机是否在线、能否通过 ssh 或其启动器访问、是否装有此版本的 Troika；其他主机已继续检查。") \
  T(not_met, "no time was left for {} pairs of hosts", "有 {} 对主机来不及检查") \
  T(pair_not_answered, "the other host did not answer", "对方主机没有应答") \
  T(as_others, "{0} as on {1}", "与 {1} 一样为 {0}") \
  T(not_set, "not set", "未设置") \
  T(variable_unset, "{} is not set", "未设置 {}") \
  T(environment_differs_advice, "Set {} alike on every host, or nowhere.", "请在所有主机上把 {} 设为相同的值，或都不设置。") \
  T(environment_alike, "alike", "一致") \
  T(environment_alike_wanted, "variables alike on all hosts", "所有主机的环境变量一致") \
  T(versions_alike_wanted, "versions alike on all hosts", "所有主机的版本一致") \
  T(version_differs_advice, "Install the same Troika on every host: a run refuses builds that differ.", \
    "请在所有主机上安装相同的 Troika：构建不同会被拒绝运行。") \
  T(version_note, "Hosts may differ in this; it matters only when results or speed differ, too.", \
    "各主机在此可以不同；只有结果或速度也不同时才需要关注。") \
  T(slow_memory_wanted, "at least 70 % of the median, {} GB/s", "不低于中位数 {} GB/s 的 70 %") \
  T(slow_memory_advice, "Memory of this host is slow: a module may be missing, other work may run, or threads lie on the wrong node.", \
    "这台主机的内存偏慢：可能缺少内存条、有其他负载，或线程位于错误的 NUMA 节点。") \
  T(link_speed_wanted, "{} Mbit/s as the others", "与其他主机一样为 {} Mbit/s") \
  T(link_speed_advice, "The link of this host is slower than the others': look at its cable and its port of the switch.", \
    "这台主机的链路比其他主机慢：请检查网线和交换机端口。") \
  T(mtu_alike_wanted, "{0} as the other hosts in {1}", "与 {1} 内的其他主机一样为 {0}") \
  T(mtu_differs_advice, "Give all hosts of a network the same MTU, and the switch one as large.", \
    "请让同一网络内的所有主机使用相同的 MTU，交换机的 MTU 不小于它。") \
  T(shared_none, "each host has a folder of its own", "各主机使用各自的目录") \
  T(shared_all, "all hosts share {}", "所有主机共享 {}") \
  T(shared_some, "{} see what {} writes to {}, the others do not", "{} 能看到 {} 写入 {} 的文件，其他主机看不到") \
  T(shared_late, "seen {} after it was written", "写入后 {} 才能看到") \
  T(shared_wanted, "either is well: every host writes its own parts", "两种情况都可以：每台主机写自己的部分") \
  T(shared_advice, "Nothing needs to be changed; a second copy of checkpoints is kept where no disk is shared.", \
    "无需改动；不共享磁盘时会保留检查点的第二份副本。") \
  T(shared_late_advice, "The network file system shows files late: mount it with noac or a shorter actimeo.", \
    "网络文件系统显示新文件有延迟：请使用 noac 或更短的 actimeo 挂载。") \
  T(shared_unknown, "the first host wrote no file there", "首台主机没有在那里写入文件") \
  T(reached, "all reach each other", "相互均可连接") \
  T(refused, "{} refused at {}", "{} 在 {} 拒绝连接") \
  T(unreachable, "no way to {} at {}", "没有到 {} 的通路（{}）") \
  T(timed_out, "nothing came back from {} at {}", "{}（{}）没有任何回应") \
  T(other_error, "no connection to {} at {}: {}", "无法连接 {}（{}）：{}") \
  T(ports_wanted, "ports open between all hosts", "所有主机之间端口互通") \
  T(refused_advice, "Something refuses connections to {}: open its TCP ports to the other hosts (a firewall with REJECT).", \
    "到 {} 的连接被拒绝：请向其他主机开放其 TCP 端口（防火墙 REJECT）。") \
  T(unreachable_advice, "A firewall (firewalld rejects like this) or a missing route stands before {}: open its TCP ports to the other hosts.", \
    "{} 前有防火墙（firewalld 会这样拒绝）或缺少路由：请向其他主机开放其 TCP 端口。") \
  T(timed_out_advice, "A firewall drops what goes to {}, or its address is wrong: open its TCP ports to the other hosts.", \
    "防火墙丢弃了发往 {} 的数据，或其地址有误：请向其他主机开放其 TCP 端口。") \
  T(mtu_fits, "large messages arrive", "大消息可以到达") \
  T(mtu_hole, "small messages arrive, those of {} bytes do not", "小消息可以到达，{} 字节的不能") \
  T(mtu_pairs_wanted, "messages of every size arrive", "各种大小的消息都能到达") \
  T(mtu_hole_advice, "Large packets vanish on the way to {}: use the same MTU on hosts and switch, or lower it with `ip link set dev NAME mtu 1400`.", \
    "发往 {} 的大数据包在途中丢失：请让主机与交换机的 MTU 一致，或用 `ip link set dev NAME mtu 1400` 调小。") \
  T(mtu_udp_advice, "Packets of full size vanish on the way to {} while TCP finds a smaller one: use the same MTU on hosts and switch.", \
    "发往 {} 的满长数据包丢失，TCP 自动改用了较小的包：请让主机与交换机的 MTU 一致。") \
  T(mtu_unknown, "UDP does not pass, so that large packets were tried by TCP alone", "UDP 不通，大数据包只用 TCP 试过") \
  T(apart, "{} apart", "相差 {}") \
  T(at_most_apart, "at most {} apart", "最多相差 {}") \
  T(apart_wanted, "below 50 ms", "小于 50 毫秒") \
  T(apart_advice, "Clocks of {} are {} apart: install chrony (only timelines and time stamps suffer).", \
    "{} 的时钟相差 {}：请安装 chrony（只影响时间线和时间戳）。") \
  T(peer_name_loopback, "{} takes {} for {}", "{} 把 {} 解析为 {}") \
  T(peer_name_advice, "Correct that line of /etc/hosts, or give --master-addr as an address.", "请修正 /etc/hosts 中的该行，或用 IP 地址指定 --master-addr。") \
  T(leaves_wireless_advice, "Traffic to {0} leaves by {1}, and {2} is wired: set comm.interface to {2}.", \
    "到 {0} 的流量经 {1} 发出，而 {2} 是有线接口：请设置 comm.interface 为 {2}。") \
  T(leaves_other_advice, "Traffic to {} leaves by {} and not by comm.interface {}: correct the routes or the setting.", \
    "到 {} 的流量经 {} 发出，而不是 comm.interface {}：请修正路由或该设置。") \
  T(link_is, "{} MB/s, {} there and back", "{} MB/s，往返 {}") \
  T(links_are, "{} to {} MB/s, {} there and back at most", "{} 到 {} MB/s，往返最多 {}") \
  T(link_wanted, "at least half of the median, {} MB/s", "不低于中位数 {} MB/s 的一半") \
  T(link_advice, "This link is slower than the others: look at cables and ports of the two hosts.", \
    "这条链路比其他链路慢：请检查这两台主机的网线和端口。") \
  T(link_host_advice, "All slow links have {} in common: look at its cable, its port and its other work.", \
    "所有慢链路都与 {} 有关：请检查其网线、端口和其他负载。") \
  T(jitter, "one message in a hundred takes {}, the median {}", "百分之一的消息往返 {}，中位数 {}") \
  T(jitter_wanted, "at most 5 times the median", "不超过中位数的 5 倍") \
  T(jitter_advice, "Something delays messages on this link at times: Wi-Fi, a loaded switch, or other work on the hosts.", \
    "这条链路上的消息时有延迟：可能是 Wi-Fi、繁忙的交换机或主机上的其他负载。")

#define TROIKA_DOCTOR_TEXTS_OF_THE_REPORT(T) \
  T(wanted_is, "wanted: {}", "期望：{}") \
  T(all_hosts, "all {} hosts", "全部 {} 台主机") \
  T(summary_well, "{} looked at in {}: well, {}, {} not checked", "检查了 {} 台主机，用时 {}：正常，{} 条说明，{} 项未检查") \
  T(summary_ill, "{} looked at in {}: {} would stop the run, {}, {}, {} not checked", \
    "检查了 {} 台主机，用时 {}：{} 项会使运行无法进行，{} 条警告，{} 条说明，{} 项未检查")

#define TROIKA_DOCTOR_TEXTS(T) \
  TROIKA_DOCTOR_TEXTS_OF_A_HOST(T) TROIKA_DOCTOR_TEXTS_OF_SEVERAL(T) TROIKA_DOCTOR_TEXTS_OF_THE_REPORT(T)
// clang-format on
