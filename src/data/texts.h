// What data are, and what is wrong with them, in both languages.
#pragma once

#include "base/language.h"

namespace troika::data {

struct DataTexts {
  base::Bilingual prepare_again = {"delete it and prepare the data again ('troika data prepare')",
                                   "请删除它并重新准备数据（troika data prepare）"};
  base::Bilingual table = {"'{0}': {1} files are not read; convert it to JSON lines, an object per record",
                           "“{0}”：不读取 {1} 文件；请转换为 JSONL，每条记录一个对象"};
  base::Bilingual no_source = {
      "'{}' does not exist: give a text file, a JSON or JSONL file, a folder of them, or a folder of token shards{}{}",
      "“{}”不存在：请给出文本文件、JSON 或 JSONL 文件、它们的目录，或 token 分片的目录{}{}"};
  base::Bilingual no_name = {"; nor is it a name in '{}/dataset_info.json'",
                             "；“{}/dataset_info.json”中也没有这个名称"};
  base::Bilingual nearest = {" (nearest: {})", "（最接近的是 {}）"};
  base::Bilingual other_format = {
      "data.format is {0}, but '{1}' of '{2}/dataset_info.json' is {3}: leave data.format auto, or change the entry's "
      "formatting",
      "data.format 为 {0}，但“{2}/dataset_info.json”中的“{1}”为 {3}：请将 data.format 保留为 auto，或修改该项的 "
      "formatting"};
  base::Bilingual no_data = {"'{}' names no data", "“{}”没有指定数据"};
  base::Bilingual download = {"nothing is downloaded: put the file beside dataset_info.json and name it in file_name",
                              "不会下载任何内容：请把文件放在 dataset_info.json 旁边，并写入 file_name"};
  base::Bilingual script = {"data set scripts are not run: convert it to JSON lines",
                            "不运行数据集脚本：请转换为 JSONL"};
  base::Bilingual pictures = {"only text is trained on", "只训练文本"};
  base::Bilingual preferences = {"preference training is not supported, only answers (stage sft) and text (stage pt)",
                                 "不支持偏好训练，只支持回答（stage sft）和文本（stage pt）"};
  base::Bilingual has = {"{} has '{}': {}", "{} 含有“{}”：{}"};
  base::Bilingual not_known = {"{0}: '{1}' of '{2}' is not known", "{0}：“{2}”中有未知的“{1}”"};
  base::Bilingual formatting = {"{}: 'formatting' may be alpaca, sharegpt or openai, not '{}'",
                                "{}：“formatting”可取 alpaca、sharegpt 或 openai，而不是“{}”"};
  base::Bilingual leaves = {
      "{}: '{}' is '{}', which leaves the folder of dataset_info.json: put the file there, or a link to it",
      "{}：“{}”为“{}”，超出了 dataset_info.json 所在的目录：请把文件或指向它的链接放在该目录中"};
  base::Bilingual names_nothing = {"{} names '{}', which does not exist: put it there",
                                   "{} 指定了“{}”，但它不存在：请放到那里"};
  base::Bilingual num_samples = {"{}: 'num_samples' must be a whole number above 0, not {}",
                                 "{}：“num_samples”应为大于 0 的整数，而不是 {}"};
  base::Bilingual path_quoted = {"'{}'", "文件“{}”"};
  base::Bilingual of_file = {"'{0}' of '{1}'", "“{1}”中的“{0}”"};
  base::Bilingual line = {"line {0} of '{1}'", "“{1}”第 {0} 行"};
  base::Bilingual element = {"[{0}] of '{1}'", "“{1}”中的第 [{0}] 项"};
  base::Bilingual first_record = {"the first record of '{}'", "“{}”的第一条记录"};
  base::Bilingual within = {"{}: '{}'", "{}的“{}”"};
  base::Bilingual weights = {"data.weights has {} numbers for {} sources of data.train; give one for each",
                             "data.weights 有 {} 个数，而 data.train 有 {} 个数据源；请为每个数据源给出一个"};
  base::Bilingual weight_0 = {"'{}': left out, its weight is 0", "“{}”：不使用，其权重为 0"};
  base::Bilingual kept_for_evaluation = {"samples kept for evaluation: {}", "留作评估的样本：{}"};
  base::Bilingual in_an_epoch = {"samples in an epoch: {}", "每轮的样本：{}"};
  base::Bilingual no_records = {"'{}' has no records: give a file that has some",
                                "“{}”中没有记录：请给出含有记录的文件"};
  base::Bilingual while_detecting = {
      "while finding out what the data are; --data.format says it, and text takes .json files as they are",
      "判断数据格式时出错；可用 --data.format 指明，其中 text 会把 .json 文件当作普通文本"};
  base::Bilingual mixed = {
      "'{0}' holds records ('{1}': {2}) beside text ('{3}'): state --data.format, {4} for its .json and .jsonl files "
      "alone, {5}or put them into folders of their own",
      "“{0}”中既有记录（“{1}”：{2}）又有文本（“{3}”）：请给出 --data.format，{4} 只读取其中的 .json 和 .jsonl "
      "文件，{5}或把它们放入各自的目录"};
  base::Bilingual text_for_all = {"text for all of it as it stands, ", "text 把全部内容当作文本，"};
  base::Bilingual no_json = {"'{}' has no .json or .jsonl files, which {} records need",
                             "“{}”中没有 .json 或 .jsonl 文件，而 {} 记录需要它们"};
  base::Bilingual such = {"such", "这类"};
  base::Bilingual is_file = {"'{}' is a file: name a folder with --out, new or empty",
                             "“{}”是文件：请用 --out 指定一个新的或空的目录"};
  base::Bilingual other_data = {"the folder '{}' already holds other data: choose another --out or remove it",
                                "目录“{}”中已有其他数据：请另选 --out，或删除该目录"};
  base::Bilingual other_tokenizer = {
      "the tokens in '{}' were made by another tokenizer (vocabulary {}, fingerprint {}) than the one given "
      "(vocabulary {}, fingerprint {}): give --data.tokenizer what 'troika data prepare' was given, or prepare again",
      "“{}”中的 token 由另一个分词器生成（词表 {}，指纹 {}），与给出的分词器（词表 {}，指纹 {}）不同：请将 "
      "--data.tokenizer 设为运行 troika data prepare 时所用的分词器，或重新准备"};
  base::Bilingual ends_inside = {"'{}' ends inside its array of records: copy it again",
                                 "“{}”在记录数组中间结束：请重新复制"};
  base::Bilingual text_after = {"'{}' has text after its array of records, at byte {}",
                                "“{}”的记录数组之后还有内容，位于第 {} 字节"};
  base::Bilingual negative_weight = {"data.weights holds {:g}, but weights must be 0 or more; 0 leaves a source out",
                                     "data.weights 中有 {:g}，但权重应为 0 或更大；0 表示不使用该数据源"};
  base::Bilingual no_sample_left = {
      "with these data.weights no sample is left of data.train; the nearest that works: 1 for each",
      "按这样的 data.weights，data.train 中没有剩下样本；最接近的可行值：每个为 1"};
  base::Bilingual valid_share = {
      "data.valid_share {:g} takes {} samples for evaluation, but data.train '{}' has {}, and each source keeps one: "
      "{}",
      "data.valid_share {:g} 会取 {} 个样本用于评估，但 data.train“{}”只有 {} 个，且每个数据源要保留一个：{}"};
  base::Bilingual most_that_works = {"the most that works is {}", "最多可为 {}"};
  base::Bilingual two_at_least = {"one source must have 2 at least", "至少要有一个数据源含有 2 个样本"};
  base::Bilingual other_hash = {"'{}' is damaged: the hash of its contents is {}, its header says {}; {}",
                                "“{}”已损坏：内容的哈希值为 {}，而文件头中写的是 {}；{}"};
  base::Bilingual truncated = {
      "'{}' is truncated: its header ({} tokens, {} documents) asks for {} bytes, the file has {}; {}",
      "“{}”不完整：按其文件头（{} 个 token，{} 篇文档）应有 {} 字节，而文件有 {} 字节；{}"};
  base::Bilingual too_long = {
      "'{}' is too long: its header ({} tokens, {} documents) asks for {} bytes, the file has {}; {}",
      "“{}”过长：按其文件头（{} 个 token，{} 篇文档）应有 {} 字节，而文件有 {} 字节；{}"};
  base::Bilingual last_document = {"'{}' is damaged: its last document ends at token {}, but it has {} tokens; {}",
                                   "“{}”已损坏：最后一篇文档止于第 {} 个 token，但它有 {} 个 token；{}"};
  base::Bilingual id_beyond = {"'{}' is damaged: between tokens {} and {} is the id {}, but the vocabulary has {}; {}",
                               "“{}”已损坏：第 {} 到 {} 个 token 之间有 id {}，但词表大小为 {}；{}"};
  base::Bilingual document_range = {"'{}' is damaged: document {} has tokens {} to {} of {}; {}",
                                    "“{}”已损坏：第 {} 篇文档的 token 为 {} 到 {}，而共有 {} 个；{}"};
  base::Bilingual no_header = {
      "'{}' holds {} bytes, but a token shard begins with a header of {}: it is empty or truncated; {}",
      "“{}”有 {} 字节，但 token 分片以 {} 字节的文件头开始：它是空的或不完整；{}"};
  base::Bilingual no_shard = {
      "'{}' is not a token shard: it does not begin with '{}'; give a text file, a folder or shards made by 'troika "
      "data prepare'",
      "“{}”不是 token 分片：它不以“{}”开头；请给出文本文件、目录，或由 troika data prepare 生成的分片"};
  base::Bilingual shard_version = {
      "'{}' is a token shard of shard_version {}, and this program reads shard_version {}; {}",
      "“{}”是 shard_version {} 的 token 分片，而本程序读取 shard_version {}；{}"};
  base::Bilingual damaged_header = {"the header of '{}' is damaged (its hash is {}, {} is written there); {}",
                                    "“{}”的文件头已损坏（其哈希值为 {}，而其中写的是 {}）；{}"};
  base::Bilingual text_report = {"'{}': text, {} in {}, {} of {} ids",
                                 "“{}”：文本，{}，分布在 {} 中，{}，每个 {} 个 id"};
  base::Bilingual dropped_bytes = {"'{}': bytes left out, as the vocabulary has no token for {} of the 256: {}",
                                   "“{}”：词表中 256 个字节有 {} 个没有 token，因此略去的字节数：{}"};
  base::Bilingual lacking_bytes = {
      "'{}': the vocabulary has no token for {} of the 256 bytes; they are left out of its texts",
      "“{}”：词表中 256 个字节有 {} 个没有 token；文本中的这些字节会被略去"};
  base::Bilingual no_packing = {"'{}': data.packing has no effect, its samples are full already",
                                "“{}”：data.packing 不起作用，其样本已是满的"};
  base::Bilingual max_samples_ignored = {"'{}': data.max_samples is ignored for prepared shards",
                                         "“{}”：对已准备好的分片忽略 data.max_samples"};
  base::Bilingual packed = {"'{}': packed, {} of {} ids with {:.1f} sequences each, {:.1f} % full",
                            "“{}”：打包为 {}，每个 {} 个 id，平均含 {:.1f} 个序列，填充 {:.1f} %"};
  base::Bilingual cut = {
      "note: {0} of {1} samples in '{2}' are longer than {3} ids and are cut to that; a larger --seq-len keeps them "
      "whole",
      "注意：“{2}”的 {1} 个样本中有 {0} 个超过 {3} 个 id，会被截断；增大 --seq-len 可保持完整"};
  base::Bilingual counts = {"'{}': {}{} with {}, {} of them with loss{}", "“{}”：{}{}，含 {}，其中 {} 个计算损失{}"};
  base::Bilingual token_ids = {"token ids, ", "token id 数据，"};
  base::Bilingual from_records = {"{}, {} as ", "{}，由 {}得到 "};
  base::Bilingual one_file = {"'{}': token ids are read from one file with an object per line",
                              "“{}”：token id 从单个文件中读取，每行一个对象"};
  base::Bilingual left_out = {"; left out: {}", "；未使用：{}"};
  base::Bilingual without_label = {"{} without a label within {} ids", "{} 个在前 {} 个 id 内没有标签"};
  base::Bilingual duplicate = {"{} duplicate", "{} 个重复"};
  base::Bilingual duplicates = {"{} duplicates", "{} 个重复"};
  base::Bilingual without_answer = {"{} without an answer", "{} 个没有回答"};
  base::Bilingual late_answers = {"{} whose answers begin after {} ids", "{} 个的回答在 {} 个 id 之后才开始"};
  base::Bilingual all_late = {"every answer of '{}' begins after {} ids: set a larger --seq-len",
                              "“{}”中的所有回答都在 {} 个 id 之后才开始：请增大 --seq-len"};
  base::Bilingual missing_hashes = {
      "'{}' is missing, which index.json names beside its shard: copy the whole folder again, or prepare the data "
      "again ('troika data prepare')",
      "缺少“{}”，而 index.json 在其分片旁列出了它：请重新复制整个目录，或重新准备数据（troika data prepare）"};
  base::Bilingual other_shard = {
      "'{}' is not the shard its index.json describes ({} tokens with hash {}, expected {} with {}): prepare the data "
      "again ('troika data prepare')",
      "“{}”不是其 index.json 描述的分片（{} 个 token，哈希值 {}，应为 {} 个，哈希值 {}）：请重新准备数据（troika data "
      "prepare）"};
  base::Bilingual no_tokens = {"'{}' holds no tokens: prepare it from text", "“{}”中没有 token：请从文本准备"};
  base::Bilingual too_few_tokens = {
      "'{}' holds {} tokens, but one sample of --seq-len {} needs {}: add text, or set --seq-len to at most {}",
      "“{}”有 {} 个 token，但 --seq-len {} 的一个样本需要 {} 个：请增加文本，或将 --seq-len 设为不超过 {}"};
  base::Bilingual too_few_to_evaluate = {"'{}' holds {} tokens, but an evaluation needs 2 at least: add text",
                                         "“{}”有 {} 个 token，但评估至少需要 2 个：请增加文本"};
  base::Bilingual no_answers = {"none of the {0} records of '{1}' has an answer to train on",
                                "“{1}”的 {0} 条记录都没有可训练的回答"};
  base::Bilingual keys = {
      "{}: the keys {} match no known format: known are messages, conversations, instruction with output, input_ids, "
      "and '{}' for text; --data.text-key names another key, --data.format text reads a .json file as plain text",
      "{}：键 {} 不符合任何已知格式：已知的有 messages、conversations、instruction 与 "
      "output、input_ids，以及文本的“{}”；可用 --data.text-key 指定其他键，--data.format text 会把 .json "
      "文件当作普通文本读取"};
  base::Bilingual no_keys = {"(none)", "（无）"};
  base::Bilingual record_object = {"{}: a record must be an object, not {}", "{}：记录应为对象，而不是{}"};
  base::Bilingual twice = {"{}: '{}' appears twice", "{}：“{}”出现了两次"};
  base::Bilingual line_object = {"{}: a line must be an object with 'input_ids', not {}",
                                 "{}：每行应为含有“input_ids”的对象，而不是{}"};
  base::Bilingual only_ids = {"{}: '{}' holds {}, not only ids", "{}：“{}”中有{}，不全是 id"};
  base::Bilingual array_of_ids = {"{}: '{}' must be an array of ids, not {}", "{}：“{}”应为 id 的数组，而不是{}"};
  base::Bilingual id_range = {"{}: {} [{}] is {}, but ids must be from 0 to {}{}",
                              "{}：{} [{}] 为 {}，但 id 应为 0 到 {}{}"};
  base::Bilingual or_no_loss = {", or -100 for no loss", "，或以 -100 表示不计算损失"};
  base::Bilingual labels = {"{}: {} labels for {} input_ids; each id needs one label",
                            "{}：{} 个标签对应 {} 个 input_ids；每个 id 需要一个标签"};
  base::Bilingual file_changed = {
      "sequence {0} of '{1}' has {2} ids, and had {3} when the run began: the file was changed",
      "“{1}”的序列 {0} 有 {2} 个 id，而运行开始时有 {3} 个：文件被改动了"};
  base::Bilingual truth_value = {"a truth value", "布尔值"};
  base::Bilingual an_object = {"an object", "对象"};
  base::Bilingual an_array = {"an array", "数组"};
  base::Bilingual a_string = {"a string", "字符串"};
  base::Bilingual bytes = {"bytes", "二进制数据"};
  base::Bilingual number = {"{}", "数字 {}"};
  base::Bilingual null_value = {"null", "空值 null"};
  base::Bilingual no_object = {"{} is not a JSON object", "{} 不是 JSON 对象"};
  base::Bilingual no_default_template = {"{}: chat_template is neither a string nor a list with a template 'default'",
                                         "{}：chat_template 既不是字符串，也不是含有模板“default”的列表"};
  base::Bilingual no_template = {
      "data.chat_template is auto, but the tokenizer '{}' has no chat template (neither chat_template.jinja nor "
      "chat_template in tokenizer_config.json); give --chat-template chatml, alpaca or a Jinja file",
      "data.chat_template 为 auto，但分词器“{}”没有对话模板（既没有 chat_template.jinja，tokenizer_config.json "
      "中也没有 chat_template）；请给出 --chat-template chatml、alpaca 或一个 Jinja 文件"};
  base::Bilingual template_no_file = {
      "data.chat_template is '{}', which is no file; it takes auto, chatml, alpaca or a Jinja file",
      "data.chat_template 为“{}”，但没有这个文件；可取 auto、chatml、alpaca 或一个 Jinja 文件"};
  base::Bilingual while_rendering = {"while rendering {}", "渲染{}时出错"};
  base::Bilingual while_reading_lines = {
      "while reading JSON lines; each must be an object with the text under '{}' (another key: --data.text-key KEY, or "
      "--text-key KEY of 'troika data')",
      "读取 JSONL 时出错；每行应为对象，文本在“{}”之下（其他键：--data.text-key KEY，或 troika data 的 --text-key "
      "KEY）"};
  base::Bilingual only_empty = {"'{}' holds no text, only empty documents: give a file with text",
                                "“{}”中没有文本，只有空文档：请给出含有文本的文件"};
  base::Bilingual no_array = {"'{}' does not begin with '[', as an array of records does",
                              "“{}”不以“[”开头，而记录数组应以“[”开头"};
  base::Bilingual no_index = {
      "'{}' is missing, so the shards beside it are not a whole data set: prepare the data again ('troika data "
      "prepare')",
      "缺少“{}”，因此旁边的分片不是完整的数据集：请重新准备数据（troika data prepare）"};
  base::Bilingual other_index = {
      "'{}' is not an index of token shards of version {}: prepare the data again ('troika data prepare')",
      "“{}”不是版本 {} 的 token 分片索引：请重新准备数据（troika data prepare）"};
  base::Bilingual no_plain_name = {"'{}' names the shard '{}', which is not a plain file name",
                                   "“{}”列出了分片“{}”，它不是单纯的文件名"};
  base::Bilingual no_room = {"'{}' cannot hold decompressed text: {}; free some space or name another --data.cache",
                             "“{}”放不下解压后的文本：{}；请腾出空间，或用 --data.cache 指定其他目录"};
  base::Bilingual damaged_at = {"'{}' is damaged at byte {}: {}; copy or compress it again",
                                "“{}”在第 {} 字节处损坏：{}；请重新复制或重新压缩"};
  base::Bilingual ends_early = {"'{}' ends after {} bytes in the middle of its compressed data: copy it again",
                                "“{}”在 {} 字节后就结束了，压缩数据不完整：请重新复制"};
  base::Bilingual no_targets = {
      "'{}' has {} samples, but no position with a target: a sample needs two or more ids and, after the first, within "
      "{} ids, a label",
      "“{}”有 {} 个样本，但没有一个位置有训练目标：样本至少需要两个 id，且在前 {} 个 id 之内、第一个之后要有标签"};
  base::Bilingual bad_hashes = {
      "'{}' {}; copy it again with its shard, or delete both and prepare the data again ('troika data prepare')",
      "“{}”{}；请连同其分片重新复制，或两者都删除并重新准备数据（troika data prepare）"};
  base::Bilingual no_hashes = {"holds no hashes of a shard ({} bytes)", "中没有分片的哈希值（{} 字节）"};
  base::Bilingual hashes_of_other = {
      "'{0}' belongs to another shard than '{1}' ({2} pieces of contents with hash {3}, here {4} with {5}): copy both "
      "from one folder, or prepare the data again ('troika data prepare')",
      "“{0}”属于另一个分片，而不是“{1}”（{2} 段，内容哈希值 {3}，这里为 {4} 段，哈希值 "
      "{5}）：请从同一目录复制两者，或重新准备数据（troika data prepare）"};
  base::Bilingual damaged_piece = {
      "'{}' is damaged between bytes {} and {}: their hash is {:016x}, and {:016x} stands in '{}'; copy it again, or "
      "delete it and prepare the data again ('troika data prepare')",
      "“{}”的第 {} 到 {} 字节已损坏：其哈希值为 {:016x}，而 {:016x} "
      "记录在“{}”中；请重新复制，或删除它并重新准备数据（troika data prepare）"};
  base::Bilingual turn = {"{}: a turn of '{}' must be [question, answer], not {} texts",
                          "{}：“{}”的一轮应为 [问题, 回答]，而不是 {} 段文本"};
  base::Bilingual role = {"{}: '{}' is '{}', but may be {}, {}, {}, {} or {}",
                          "{}：“{}”为“{}”，但可取 {}、{}、{}、{} 或 {}"};
  base::Bilingual no_messages = {"{}: '{}' has no messages", "{}：“{}”中没有消息"};
  base::Bilingual only_text_parts = {"{}: '{}' has a part of type '{}'; only text is read, leave the record out",
                                     "{}：“{}”有类型为“{}”的部分；只读取文本，请去掉该记录"};
  base::Bilingual sequence_bytes = {"'{}' has {} bytes, not {}: it is truncated or damaged",
                                    "“{}”有 {} 字节，而不是 {}：它不完整或已损坏"};
  base::Bilingual sequence_hash = {"'{}' is damaged: its contents have another hash than its header says",
                                   "“{}”已损坏：内容的哈希值与文件头不符"};
  base::Bilingual sequence_place = {"'{}' is damaged: sequence {} does not lie in it", "“{}”已损坏：序列 {} 不在其中"};
  base::Bilingual sequence_id = {"'{}' is damaged: sequence {} has the id {}", "“{}”已损坏：序列 {} 有 id {}"};
  base::Bilingual no_sequences = {"'{}' is no sequence file, or its header is damaged",
                                  "“{}”不是序列文件，或其文件头已损坏"};
  base::Bilingual id_bytes = {"'{}' has ids of {} bytes, not 2 or 4", "“{}”的 id 为 {} 字节，而不是 2 或 4"};
  base::Bilingual sequence_version = {"'{}' has sequence_version {}, not {}",
                                      "“{}”的 sequence_version 为 {}，而不是 {}"};
  base::Bilingual empty_file = {"'{}' is empty: give a file that holds text", "“{}”是空的：请给出含有文本的文件"};
  base::Bilingual no_text = {"'{}' is not text (it holds NUL bytes): give text, JSONL or token shards",
                             "“{}”不是文本（含有 NUL 字节）：请给出文本、JSONL 或 token 分片"};
  base::Bilingual no_text_files = {
      "the folder '{}' holds no text files ({} passed over): give a folder with text or .jsonl files",
      "目录“{}”中没有文本文件（跳过了 {} 个二进制文件）：请给出含有文本或 .jsonl 文件的目录"};
  base::Bilingual no_input_file = {
      "'{}' does not exist: give a text file, a .jsonl file, a folder of them, or a folder of token shards",
      "“{}”不存在：请给出文本文件、.jsonl 文件、它们的目录，或 token 分片的目录"};
  base::Bilingual no_input = {"no input was given: name a text file, a .jsonl file or a folder",
                              "没有给出输入：请指定文本文件、.jsonl 文件或目录"};
  base::Bilingual make_room = {"{}; free some space, or choose another folder (--out, --data.cache)",
                               "{}；请腾出空间，或另选目录（--out、--data.cache）"};
  base::Bilingual one_token = {"{} token", "{} 个 token"};
  base::Bilingual tokens = {"{} tokens", "{} 个 token"};
  base::Bilingual one_document = {"{} document", "{} 篇文档"};
  base::Bilingual documents = {"{} documents", "{} 篇文档"};
  base::Bilingual one_sample = {"{} sample", "{} 个样本"};
  base::Bilingual samples = {"{} samples", "{} 个样本"};
  base::Bilingual one_record = {"{} record", "{} 条记录"};
  base::Bilingual records = {"{} records", "{} 条记录"};
  base::Bilingual unhashed = {
      "note: {0} in '{1}' have no hashes of their pieces, so damage shows only where an id is beyond the vocabulary; "
      "'troika data prepare' with the same input and --out checks them once and adds the hashes",
      "注意：“{1}”中有 {0} 没有分段哈希值，只有 id 超出词表时才能发现损坏；以相同的输入和 --out 运行 troika data "
      "prepare "
      "会检查一次并加上哈希值"};
  base::Bilingual own_hash = {"is damaged: its own hash is another", "已损坏：自身的哈希值不符"};
  base::Bilingual hashes_version = {"has version {} and pieces of {} bytes, and this program reads version {} and {}",
                                    "的版本为 {}、每段 {} 字节，而本程序读取版本 {}、每段 {} 字节"};
  base::Bilingual hash_count = {"should hold {} hashes, but has {} bytes", "应有 {} 个哈希值，却有 {} 字节"};
  base::Bilingual not_gzip = {"not gzip data", "不是 gzip 数据"};
};
inline constexpr DataTexts data_texts{};

}  // namespace troika::data
