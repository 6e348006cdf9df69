// What is wrong with files and JSON, in both languages.
#pragma once

#include "base/language.h"

namespace troika::base {

struct FileTexts {
  // With the path and the system's cause.
  Bilingual open = {"cannot open '{}': {}", "无法打开“{}”：{}"};
  Bilingual open_folder = {"cannot open folder '{}': {}", "无法打开目录“{}”：{}"};
  Bilingual read = {"cannot read '{}': {}", "无法读取“{}”：{}"};
  Bilingual write = {"cannot write '{}': {}", "无法写入“{}”：{}"};
  Bilingual create = {"cannot create '{}': {}", "无法创建“{}”：{}"};
  Bilingual create_folder = {"cannot create folder '{}': {}", "无法创建目录“{}”：{}"};
  Bilingual sync = {"cannot sync '{}': {}", "无法将“{}”同步到磁盘：{}"};
  Bilingual sync_folder = {"cannot sync folder '{}': {}", "无法将目录“{}”同步到磁盘：{}"};
  Bilingual read_size = {"cannot read the size of '{}': {}", "无法读取“{}”的大小：{}"};
  Bilingual remove = {"cannot remove '{}': {}", "无法删除“{}”：{}"};
  Bilingual rename_to = {"cannot rename to '{}': {}", "无法改名为“{}”：{}"};
  Bilingual rename = {"cannot rename '{}' to '{}': {}", "无法将“{}”改名为“{}”：{}"};
  Bilingual exchange = {"cannot exchange '{}' with '{}': {}", "无法互换“{}”和“{}”：{}"};
  Bilingual list = {"cannot list '{}': {}", "无法列出“{}”中的文件：{}"};
  Bilingual map = {"cannot map '{}': {}", "无法将“{}”映射到内存：{}"};
  Bilingual lock = {"cannot lock '{}': {}", "无法锁定“{}”：{}"};

  Bilingual not_regular = {"'{}' is not a regular file", "“{}”不是普通文件"};
  Bilingual unreadable = {"'{}' cannot be read at byte {}: {}", "“{}”在第 {} 字节处无法读取：{}"};
  Bilingual was_cut = {"it was cut to {} of its {} bytes while it was read; restore it",
                       "读取期间它被截断，只剩 {} 字节，而原有 {} 字节；请恢复该文件"};
  Bilingual disk_fails = {
      "its disk or network file system fails, or it was changed while it was read ({} bytes); see the system's "
      "messages (dmesg), and restore it",
      "磁盘或网络文件系统出错，或读取期间文件被改动（{} 字节）；请查看系统消息（dmesg），并恢复该文件"};
  Bilingual no_scratch = {
      "'{}' cannot hold a file of {} for optimizer state: {}; name another folder (parallel.offload_folder) or make "
      "room",
      "“{}”放不下 {} 的优化器状态文件：{}；请指定其他目录（parallel.offload_folder）或腾出空间"};

  // Of JSON, with the place.
  Bilingual deep = {"{}: JSON is nested deeper than 256 levels", "{}：JSON 嵌套超过 256 层"};
  Bilingual large_number = {"{}: a number is too large for a double", "{}：有一个数超出了 double 的范围"};
  Bilingual missing = {"{}: '{}' is missing", "{}：缺少“{}”"};
  Bilingual wrong_type = {"{}: '{}' must be {}, not {}", "{}：“{}”应为{}，而不是{}"};
  Bilingual beyond_64_bits = {"{}: '{}' is {}, which is too large for 64 bits", "{}：“{}”为 {}，超出了 64 位的范围"};
  Bilingual whole_number = {"a whole number", "整数"};
  Bilingual a_number = {"a number", "数字"};
  Bilingual a_string = {"a string", "字符串"};
  Bilingual an_array = {"an array", "数组"};
  Bilingual an_object = {"an object", "对象"};

  // Kinds of JSON.
  Bilingual null = {"null", "空值 null"};
  Bilingual boolean = {"boolean", "布尔值"};
  Bilingual number = {"number", "数字"};
  Bilingual string = {"string", "字符串"};
  Bilingual array = {"array", "数组"};
  Bilingual object = {"object", "对象"};
  Bilingual discarded = {"discarded", "无效值"};
};
inline constexpr FileTexts file_texts{};

}  // namespace troika::base
