// What is wrong with text that is not JSON, or not UTF-8, in both languages.
#pragma once

#include "base/language.h"

namespace troika::base {

struct JsonTexts {
  Bilingual not_json = {"{}: not valid JSON at byte {}: {}", "{}：第 {} 字节处不是有效的 JSON：{}"};

  Bilingual empty = {"there is nothing", "没有内容"};
  Bilingual ends_in_string = {"it ends inside a string", "在字符串中间结束"};
  Bilingual ends_in_object = {"it ends inside an object", "在对象中间结束"};
  Bilingual ends_in_array = {"it ends inside an array", "在数组中间结束"};
  Bilingual ends = {"it ends before a value is whole", "在值完整之前结束"};
  Bilingual line_break = {"a line break inside a string must be written \\n", "字符串中的换行应写作 \\n"};
  Bilingual control = {"the control character 0x{:02x} inside a string must be written \\u{:04x}",
                       "字符串中的控制字符 0x{:02x} 应写作 \\u{:04x}"};
  Bilingual surrogate = {"'{}' is half of a surrogate pair and no character by itself: remove it",
                         "“{}”只是代理对的一半，本身不是字符：请删除它"};
  Bilingual escape = {"'{}' is no escape of JSON (a backslash itself is written \\\\)",
                      "“{}”不是 JSON 的转义序列（反斜杠本身应写作 \\\\）"};
  Bilingual python_word = {"'{}' is Python's; JSON writes {}", "“{}”是 Python 的写法；JSON 写作 {}"};
  Bilingual no_number = {"'{}' is no number of JSON; write a finite number or null",
                         "“{}”不是 JSON 的数字；请写有限的数或 null"};
  Bilingual large_number = {"the number '{}' is too large", "数字“{}”过大"};
  Bilingual number_form = {"'{}' is no number of JSON, which has no leading zero, '+' or bare point",
                           "“{}”不是 JSON 的数字，JSON 的数字没有前导零、“+”号，小数点前后都要有数字"};
  Bilingual comment = {"a comment, which JSON does not have", "这是注释，而 JSON 没有注释"};
  Bilingual single_quotes = {"single quotes; JSON has double ones (Python's json.dumps writes them)",
                             "用了单引号；JSON 用双引号（Python 的 json.dumps 会这样写）"};
  Bilingual trailing_comma = {"a comma with nothing after it: remove the comma", "逗号之后没有内容：请去掉这个逗号"};
  Bilingual two_commas = {"a comma with nothing before it", "逗号之前没有内容"};
  Bilingual no_value = {"a value is missing", "缺少一个值"};
  Bilingual no_colon = {"a colon is missing after the key", "键之后缺少冒号"};
  Bilingual no_comma = {"a comma is missing before it", "在它之前缺少逗号"};
  Bilingual bare_key = {"a key without double quotes", "键没有加双引号"};
  Bilingual two_values = {"another value follows the first one: a comma or a line break is missing between them",
                          "第一个值之后又有一个值：两者之间缺少逗号或换行"};
  Bilingual text_after = {"text follows the value", "值之后还有文字"};
  Bilingual text_before = {"it begins with '{}', which is no JSON", "它以“{}”开头，这不是 JSON"};
  Bilingual unexpected = {"'{}' has no place there", "这里不应出现“{}”"};

  Bilingual damaged_utf8 = {"the byte 0x{:02x} is not UTF-8", "字节 0x{:02x} 不是 UTF-8"};
  Bilingual other_encoding = {
      "the byte 0x{0:02x} is not UTF-8, and the text looks like {1}: convert the file (iconv -f {1} -t UTF-8 FILE > "
      "NEW)",
      "字节 0x{0:02x} 不是 UTF-8，文字看起来是 {1}：请转换该文件（iconv -f {1} -t UTF-8 文件 > 新文件）"};
  Bilingual unknown_encoding = {
      "the byte 0x{:02x} is not UTF-8: convert the file from its encoding (iconv -f WINDOWS-1251 -t UTF-8 FILE > NEW, "
      "if that is it)",
      "字节 0x{:02x} 不是 UTF-8：请从其编码转换该文件（例如 iconv -f WINDOWS-1251 -t UTF-8 文件 > 新文件）"};
};
inline constexpr JsonTexts json_texts{};

}  // namespace troika::base
