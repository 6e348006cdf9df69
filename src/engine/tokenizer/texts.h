// What is wrong with a tokenizer, in both languages.
#pragma once

#include "base/language.h"

namespace troika::tokenizer {

struct TokenizerTexts {
  base::Bilingual small_vocabulary = {
      "the vocabulary size {} is too small: 256 bytes and <|endoftext|> need at least 257",
      "词表大小 {} 太小：256 个字节和 <|endoftext|> 至少需要 257"};
  base::Bilingual many_words = {"the different words of the text have {} bytes; at most {} can be trained on: give less text",
                                "文本中不同的词共有 {} 字节；最多可用 {} 字节训练：请减少文本"};
  base::Bilingual bad_id = {"the added token '{}' has the id {}", "附加 token“{}”的 id 为 {}"};
  base::Bilingual no_bytes = {"the vocabulary has no token for any of the 256 bytes; it is not byte-level BPE",
                              "词表中 256 个字节都没有对应的 token；它不是字节级 BPE"};
  base::Bilingual unknown_token = {
      "{}: the model's unk_token is '{}', which its vocabulary lacks, and {} of the 256 bytes need it: set it to null, "
      "which drops them, or to a token of the vocabulary",
      "{}：模型的 unk_token 为“{}”，但词表中没有它，而 256 个字节中有 {} 个需要它：请设为 null（丢弃这些字节），"
      "或设为词表中的 token"};
  base::Bilingual merge_of_unk = {
      "merge {} is of the unk_token, which is not supported where bytes have no token: set unk_token to null, which "
      "drops them",
      "第 {} 个合并涉及 unk_token；有字节没有 token 时不支持：请将 unk_token 设为 null（丢弃这些字节）"};
  base::Bilingual no_merges = {
      "{}: the model has no list of merges ('merges' is {}), so text would be cut into single bytes: the file is "
      "incomplete; copy or make it again",
      "{}：模型没有合并列表（“merges”为{}），文本会被切成单个字节：文件不完整；请重新复制或生成"};
  base::Bilingual merges_absent = {"missing", "缺失"};
  base::Bilingual merges_empty = {"empty, but {} tokens have several bytes", "空，而有 {} 个 token 由多个字节组成"};
  base::Bilingual no_vocab = {"{}: the model has no vocabulary ('vocab' is {}); copy or make the file again",
                              "{}：模型没有词表（“vocab”为{}）；请重新复制或生成该文件"};
  base::Bilingual too_large = {"'{}' has {} bytes; a file of a tokenizer has at most {}: is it the right one?",
                               "“{}”有 {} 字节；分词器的文件最多 {} 字节：是否给错了文件？"};
  base::Bilingual long_added = {"{}: the added tokens have more than {} bytes together, up to '{}...'",
                                "{}：附加 token 合计超过 {} 字节，直到“{}...”"};
  base::Bilingual no_id = {"{}: the token '{}' has no usable id", "{}：token“{}”没有可用的 id"};
  base::Bilingual same_id = {"{}: two tokens have the id {}", "{}：有两个 token 的 id 都是 {}"};
  base::Bilingual id_of_another = {"{}: the added token '{}' has the id {} of another token",
                                   "{}：附加 token“{}”的 id {} 属于另一个 token"};
  base::Bilingual merge_of_unknown = {"{}: the merge '{} {}' names a token that is not in the vocabulary",
                                      "{}：合并“{} {}”中有不在词表里的 token"};
  base::Bilingual other_id = {"{}: the added token '{}' has the id {}, but {} in the vocabulary",
                              "{}：附加 token“{}”的 id 为 {}，而在词表中为 {}"};
  base::Bilingual two_ids = {"{}: the added token '{}' has two ids, {} and {}",
                             "{}：附加 token“{}”有两个 id：{} 和 {}"};
  base::Bilingual not_hugging_face = {"{}: not a tokenizer.json as Hugging Face writes it: {}",
                                      "{}：不是 Hugging Face 写出的 tokenizer.json：{}"};
  base::Bilingual pattern_part = {
      "the tokenizer's pattern '{}' uses {}, which is not supported: Oniguruma and PCRE2 mean different things by it",
      "分词器的正则表达式“{}”使用了 {}，不支持：Oniguruma 和 PCRE2 对它的解释不同"};
  base::Bilingual long_pattern = {"the tokenizer's pattern '{}...' is {} bytes long; at most {} are read",
                                  "分词器的正则表达式“{}...”长 {} 字节；最多读取 {} 字节"};
  base::Bilingual unknown_pattern = {"the tokenizer's pattern '{}' is not understood before '{}': {}",
                                     "无法理解分词器的正则表达式“{}”中“{}”之前的部分：{}"};
  base::Bilingual empty_pattern = {"the tokenizer's pattern '{}' can match nothing, so it cuts no text",
                                   "分词器的正则表达式“{}”可能匹配空串，因此无法切分文本"};
  base::Bilingual failed_pattern = {"the tokenizer's pattern '{}' failed on {} bytes of text: {}",
                                    "分词器的正则表达式“{}”在 {} 字节的文本上失败：{}"};
  base::Bilingual too_many_steps = {
      "the tokenizer's pattern '{0}' takes more than {1} steps on a text of {2} bytes: cut the text into shorter "
      "documents, or take another tokenizer",
      "分词器的正则表达式“{0}”在 {2} 字节的文本上超过了 {1} 步：请把文本分成较短的文档，或改用其他分词器"};
  base::Bilingual matches_nothing = {"it matches nothing", "它什么也没有匹配到"};
  base::Bilingual too_many_bits = {
      "a vocabulary of {} ids with {} merges is not supported: two ids and a rank take {} bits, at most 64 are",
      "不支持含 {} 个 id 和 {} 次合并的词表：两个 id 和一个序号需要 {} 位，最多支持 64 位"};
  base::Bilingual no_pair = {"{}: the merge {} ({}) is not a pair", "{}：第 {} 个合并（{}）不是一对"};
  base::Bilingual nested_value = {"a nested value", "嵌套的值"};
  base::Bilingual deep = {"{}: JSON is nested deeper than {} levels", "{}：JSON 嵌套超过 {} 层"};
  base::Bilingual absent = {
      "the tokenizer '{}' does not exist: give 'bytes', a folder with tokenizer.json, or the file itself",
      "分词器“{}”不存在：请给出 bytes、含有 tokenizer.json 的目录，或该文件本身"};
  base::Bilingual not_supported = {
      "{}: {} is not supported; byte-level BPE is (make one by 'troika data tokenizer INPUT --out DIR')",
      "{}：不支持{}；支持字节级 BPE（可用 troika data tokenizer INPUT --out DIR 生成）"};
  base::Bilingual after_bytes = {"the pre-tokenizer '{}' after ByteLevel", " ByteLevel 之后的预分词器“{}”"};
  base::Bilingual pre_tokenizer = {"the pre-tokenizer '{}'", "预分词器“{}”"};
  base::Bilingual prefix_space = {"ByteLevel with add_prefix_space after another pre-tokenizer",
                                  "其他预分词器之后带 add_prefix_space 的 ByteLevel"};
  base::Bilingual split_by_nothing = {"a Split by nothing", "没有内容的 Split"};
  base::Bilingual many_pre_tokenizers = {"more than {} pre-tokenizers", "超过 {} 个预分词器"};
  base::Bilingual normalizer = {"the normalizer '{}'", "规范化器“{}”"};
  base::Bilingual no_decoder = {"a tokenizer without the ByteLevel decoder", "没有 ByteLevel 解码器的分词器"};
  base::Bilingual decoder = {"the decoder '{}'", "解码器“{}”"};
  base::Bilingual model = {"a {} model", " {} 模型"};
  base::Bilingual key = {"'{}'", "“{}”这一项"};
  base::Bilingual dropout = {"dropout of merges", "合并的 dropout"};
  base::Bilingual no_pre_tokenizer = {"a tokenizer without the ByteLevel pre-tokenizer",
                                      "没有 ByteLevel 预分词器的分词器"};
  base::Bilingual post_processor = {"the post-processor '{}' is not supported", "不支持后处理器“{}”"};
  base::Bilingual many_ids = {"the post-processor adds more than {} ids before the text",
                              "后处理器在文本之前添加了超过 {} 个 id"};
  base::Bilingual other_entry = {"TemplateProcessing: 'single' holds an entry other than SpecialToken and Sequence",
                                 "TemplateProcessing：“single”中有 SpecialToken 和 Sequence 之外的项"};
  base::Bilingual no_sequence = {"TemplateProcessing: 'single' has no Sequence, so no place for the text",
                                 "TemplateProcessing：“single”中没有 Sequence，因此没有文本的位置"};
  base::Bilingual merge_token = {"merge {} is of a token that is not in the vocabulary",
                                 "第 {} 个合并中有不在词表里的 token"};
  base::Bilingual merge_result = {"the result of merge {} is not in the vocabulary", "第 {} 个合并的结果不在词表里"};
  base::Bilingual split = {"a Split with the behavior '{}'", "行为为“{}”的 Split"};
  base::Bilingual inverted_split = {"a Split with the behavior '{}', inverted", "行为为“{}”且取反的 Split"};
  base::Bilingual id_range = {"TemplateProcessing: '{}' has the id {}; ids are from 0 to {}",
                              "TemplateProcessing：“{}”的 id 为 {}；id 应为 0 到 {}"};
  base::Bilingual array_of_strings = {"an array of {} strings", "{} 个字符串的数组"};
  base::Bilingual in_class = {"{} in a class", "字符类中的 {}"};
  base::Bilingual while_making = {"while making a tokenizer of '{}'", "由“{}”生成分词器时出错"};
};
inline constexpr TokenizerTexts tokenizer_texts{};

}  // namespace troika::tokenizer
