// Why a request of the page is not answered as it was meant, and what is wrong with a form, in both languages.
#pragma once

#include "base/language.h"

namespace troika::serve {

struct RefusalTexts {
  // Of requests.
  base::Bilingual no_number = {"'{}' is no number: {}", "“{}”不是数字：{}"};
  base::Bilingual own_fault = {"this request could not be answered; that is a fault of Troika",
                               "无法处理此请求；这是 Troika 自身的错误"};
  base::Bilingual wrong_token = {
      "that is not the token of this server; `troika serve --url` prints the address with it",
      "这不是本服务的令牌；`troika serve --url` 会打印带令牌的地址"};
  base::Bilingual wrong_method = {"not with this method", "不支持此请求方法"};
  base::Bilingual no_page = {"there is no such page", "没有这个页面"};
  base::Bilingual too_many = {"too many requests wait; a disk may not answer", "等待的请求太多；可能有磁盘没有响应"};
  base::Bilingual nobody_waits = {"whoever asked this has gone", "提出此请求的客户端已离开"};
  base::Bilingual silent_disk = {"the disk of {} has not answered for {:g} s", "{} 所在的磁盘已有 {:g} 秒没有响应"};
  base::Bilingual header_twice = {"a header of this request stands there twice", "此请求中有重复的请求头"};
  base::Bilingual other_host = {"this server does not answer for that host name; --allow-host gives it another one",
                                "本服务不接受该主机名；可用 --allow-host 添加"};
  base::Bilingual part_of_another = {"this page cannot be a part of another one", "本页面不能嵌入其他页面"};
  base::Bilingual only_own_page = {"only a page of this server may ask this", "只有本服务的页面才能这样请求"};
  base::Bilingual view_only = {"this server was started with --view-only: nothing can be changed here",
                               "本服务以 --view-only 启动：这里不能做任何修改"};
  base::Bilingual no_x_troika = {"the header 'X-Troika: 1' is missing", "缺少请求头 'X-Troika: 1'"};
  base::Bilingual no_json_type = {"the body of a request that changes something is application/json",
                                  "会做出修改的请求，其请求体必须是 application/json"};
  base::Bilingual no_origin = {"a request that changes something names its Origin, or has the token",
                               "会做出修改的请求必须带有 Origin 或令牌"};
  base::Bilingual no_token = {
      "the token is missing or of another server; `troika serve --url` prints the address with it",
      "缺少令牌，或令牌属于另一个服务；`troika serve --url` 会打印带令牌的地址"};

  base::Bilingual no_random = {"the system gives no random numbers for a token: {}",
                               "系统没有给出生成令牌所需的随机数：{}"};

  // Of what is read.
  base::Bilingual no_run = {"there is no run '{}'", "没有名为“{}”的运行"};
  base::Bilingual no_sweep = {"there is no sweep '{}'", "没有名为“{}”的扫描"};
  base::Bilingual no_series = {
      "there is no series '{}'; there are loss, valid_loss, grad_norm, lr, tokens_per_second, step_seconds",
      "没有名为“{}”的曲线；可用的有 loss, valid_loss, grad_norm, lr, tokens_per_second, step_seconds"};
  base::Bilingual no_axis = {"x is step, tokens or time, not '{}'", "x 应为 step、tokens 或 time，而不是“{}”"};
  base::Bilingual which_runs = {"say which runs: run=NAME, once for each", "请指明运行：每个运行写一次 run=NAME"};
  base::Bilingual most_runs = {"at most {} runs at a time", "一次最多 {} 个运行"};
  base::Bilingual limit_below_0 = {"limit is below 0", "limit 小于 0"};
  base::Bilingual long_search = {"what is searched for is longer than 200 bytes", "搜索内容超过 200 字节"};
  base::Bilingual no_rank = {"rank is the number of a rank, run or launch, not '{}'",
                             "rank 应为 rank 的编号、run 或 launch，而不是“{}”"};
  base::Bilingual no_grid = {
      "no step of this run was recorded, and there is no plan of it yet; train.profile records steps",
      "该运行没有记录过任何一步，也还没有计划；用 train.profile 可以记录各步"};
  base::Bilingual large_step = {"a step has {} instructions, more than the {} that the page simulates",
                                "一步有 {} 条指令，超过了页面可模拟的 {} 条"};
  base::Bilingual no_why = {"this run has no records yet that could tell why", "该运行还没有可说明原因的记录"};
  base::Bilingual unread_timeline = {"timeline/{} cannot be read", "无法读取 timeline/{}"};
  base::Bilingual large_timeline = {
      "the timeline of step {} is larger than the page reads; `troika timeline` merges it",
      "第 {} 步的时间线超过了页面能读取的大小；`troika timeline` 可将其合并"};
  base::Bilingual no_sweep_file = {"'{}' is no file that a sweep has written", "“{}”不是扫描写出的文件"};
  base::Bilingual no_host = {"the machine file names no host", "机器文件中没有主机"};
  base::Bilingual no_gpu = {"this machine shows no NVIDIA device", "本机没有可见的 NVIDIA 设备"};
  base::Bilingual no_config = {"{} has no config.yaml", "{} 中没有 config.yaml"};

  // Of what is started.
  base::Bilingual no_scratch = {"cannot make a folder below /tmp: {}", "无法在 /tmp 下创建目录：{}"};
  base::Bilingual no_log = {"cannot write to '{}': {}", "无法写入“{}”：{}"};
  base::Bilingual still_writes = {"what was started before still writes to '{}'", "先前启动的进程仍在写入“{}”"};
  base::Bilingual is_link = {"{} is a link", "{} 是链接"};
  base::Bilingual another_form = {"another form was sent while this one waited to be planned",
                                  "此表单等待规划时，又提交了另一份表单"};
  base::Bilingual no_answer = {"the model gave no answer", "模型没有给出回答"};
  base::Bilingual answer_late = {"no answer within {:.0f} s", "{:.0f} 秒内没有回答"};
  base::Bilingual data_late = {"the data were not read within {:.0f} s", "{:.0f} 秒内没有读完数据"};
  base::Bilingual data_words = {"{}", "读取数据失败，程序的输出为：\n{}"};
  base::Bilingual chat_words = {"{}", "模型没有给出回答，程序的输出为：\n{}"};
  base::Bilingual whole_number = {"'{}' is a whole number from 1 to {}", "“{}”应为 1 到 {} 的整数"};
  base::Bilingual temperature = {"'temperature' is a number from 0 to 100", "“temperature”应为 0 到 100 的数"};

  // Of forms.
  base::Bilingual no_form = {"the body is no JSON object with name, processes and settings",
                             "请求体不是含有 name、processes 和 settings 的 JSON 对象"};
  base::Bilingual no_file = {"the body is no JSON object with the text of the file as \"yaml\"",
                             "请求体不是以 \"yaml\" 给出文件内容的 JSON 对象"};
  base::Bilingual the_file = {"the file", "该文件"};
  base::Bilingual no_setting = {"there is no setting '{}'{}", "没有名为“{}”的设置{}"};
  base::Bilingual did_you_mean = {"; did you mean {}?", "；您是想写 {} 吗？"};
  base::Bilingual no_part = {"a form has no '{}': it has name, processes and settings",
                             "表单中没有“{}”：只有 name、processes 和 settings"};
  base::Bilingual name_no_text = {"the name of the run is no text", "运行的名称不是文本"};
  base::Bilingual processes = {"the number of processes is a whole number from 1 to {}", "进程数应为 1 到 {} 的整数"};
  base::Bilingual settings_object = {"the settings are an object of keys and texts",
                                     "settings 应为由键和文本组成的对象"};
  base::Bilingual no_text = {"{} is given as no text", "{} 的值不是文本"};
  base::Bilingual control_character = {"{} holds a control character", "{} 含有控制字符"};
  base::Bilingual needs_name = {"the run needs a name", "请为运行取一个名称"};
  base::Bilingual name_letters = {
      "the name of a run has letters from a to z, digits, '.', '_' and '-', and nothing else",
      "运行的名称只能含有英文字母、数字、“.”、“_”和“-”"};
  base::Bilingual name_begins = {"the name of a run begins with a letter, a digit or '_'",
                                 "运行的名称应以字母、数字或“_”开头"};
  base::Bilingual name_long = {"the name of a run has at most {} characters", "运行的名称最多 {} 个字符"};
  base::Bilingual is_empty = {"is empty", "是空的"};
  base::Bilingual is_too_long = {"is too long for a path", "作为路径过长"};
  base::Bilingual not_below = {"is not below {}, the folder that this page may name files of",
                               "不在 {} 之下，而本页面只能使用该目录中的文件"};
  base::Bilingual not_there = {"is not there", "不存在"};
  base::Bilingual link_out = {"holds the link {}, which leads out of {}: take it away, or put the file itself there",
                              "中的链接 {} 指向 {} 之外：请移除该链接，或放入文件本身"};
  base::Bilingual named = {"'{}' {}", "路径“{}”{}"};  // with one of the five above
  base::Bilingual comma = {"'{}' has a comma in its path, which separates files: rename it",
                           "“{}”的路径中有逗号，而逗号用来分隔文件：请改名"};
  base::Bilingual out_not_here = {"is not set here: the name of the run says where it goes",
                                  "不在这里设置：运行的名称决定其位置"};
  base::Bilingual names_a_command = {"names a command, and a page starts none", "指定了命令，而页面不会启动命令"};
  base::Bilingual on_event_not_here = {"is not set here: a page starts no commands", "不在这里设置：页面不会启动命令"};
};
inline constexpr RefusalTexts refusal_texts{};

}  // namespace troika::serve
