// What data are, and what is wrong with them, in both languages.
#pragma once

#include "base/language.h"

namespace troika::data {

struct DataTexts {
  base::Bilingual prepare_again = {"delete it and prepare the data again ('troika data prepare')",
                                   "请删除它并重新准备数据（troika data prepare）"};
  base::Bilingual silent_maker = {
      "'{}' names {} as the maker of these data, on a file system without locks, and its progress has not moved for {:g} "
      "minutes: remove that file if the process is gone, or keep the data on a local disk with --data.cache",
      "“{}”写明由 {} 制作这些数据，而该文件系统不支持锁，且其进度已有 {:g} 分钟没有变化：若该进程已不在，请删除此文件，或用 "
      "--data.cache 把数据放在本地磁盘"};
  base::Bilingual table = {"'{0}': {1} files are not read: convert it to JSON lines\n  {2}",
                           "“{0}”：不读取 {1} 文件：请转换为 JSONL\n  {2}"};
  base::Bilingual table_beside_text = {
      "'{0}' holds a table ('{1}') beside text ('{2}'): put them into folders of their own",
      "“{0}”中既有表格（“{1}”）又有文本（“{2}”）：请把它们放入各自的目录"};
  base::Bilingual table_head = {"the header of '{}'", "“{}”的表头"};
  base::Bilingual open_quote = {"{}: a quote is opened and never closed: close it, and write a quote within as two",
                                "{}：引号打开后没有关闭：请关闭它，引号内的引号应写作两个"};
  base::Bilingual after_quote = {"{}: text follows a closing quote: write a quote within a field as two",
                                 "{}：关闭的引号之后还有文字：字段内的引号应写作两个"};
  base::Bilingual other_separator = {
      "'{0}' is read as fields with {1} between them, but its header has '{2}': write it with {1}",
      "“{0}”按{1}分隔字段读取，但其表头中用的是“{2}”：请改用{1}"};
  base::Bilingual tabs = {"tabs", "制表符"};
  base::Bilingual commas = {"commas", "逗号"};
  base::Bilingual ragged = {
      "{}: the number of fields is {}, but {} in the header: quote a field that holds a separator or a line break",
      "{}：有 {} 个字段，而表头有 {} 个：含有分隔符或换行的字段应加引号"};
  base::Bilingual large_record = {"{}: a record may have at most {}: split it", "{}：一条记录最多为 {}：请拆分它"};
  base::Bilingual split_object = {
      "{0}: an object begins here that ends on a later line, but each line must hold a whole one: 'jq -c . FILE > NEW' "
      "writes it so",
      "{0}：此处开始的对象到后面的行才结束，但每行应是一个完整的对象：用 jq -c . 文件 > 新文件 可以转换"};
  base::Bilingual comma_alone = {"[{0}] of '{1}' is followed by a comma and no record: remove the comma",
                                 "“{1}”中的第 [{0}] 项之后有逗号却没有记录：请去掉逗号"};
  base::Bilingual no_source = {
      "'{}' does not exist: give a text file, a JSON, JSONL or CSV file, a folder of them, or a folder of token "
      "shards{}{}",
      "“{}”不存在：请给出文本文件、JSON、JSONL 或 CSV 文件、它们的目录，或 token 分片的目录{}{}"};
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
      "{}: '{}' is '{}', which leaves the folder of dataset_info.json: put the file there, or name its path in "
      "data.train",
      "{}：“{}”为“{}”，超出了 dataset_info.json 所在的目录：请把文件放在该目录中，或在 data.train 中写出其路径"};
  base::Bilingual link_leaves = {
      "{} names '{}', a link that leads out of the folder of dataset_info.json: put the file there, or name its path "
      "in data.train",
      "{} 指定了“{}”，这个链接指向 dataset_info.json 所在目录之外：请把文件放在该目录中，或在 data.train 中写出其路径"};
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
  base::Bilingual in_an_epoch = {"samples in an epoch: {} ({})", "每轮的样本：{}（{}）"};
  base::Bilingual no_sample_of = {
      "note: no sample of '{0}' is in an epoch, its weight is too small: raise it in data.weights, or set it to 0",
      "注意：每轮中没有“{0}”的样本，因为其权重太小：请在 data.weights 中增大它，或设为 0"};
  base::Bilingual no_records = {"'{}' has no records: give a file that has some",
                                "“{}”中没有记录：请给出含有记录的文件"};
  base::Bilingual while_detecting = {"while finding out what the data are", "判断数据格式时出错"};
  base::Bilingual mixed = {
      "'{0}' holds records ('{1}': {2}) beside text ('{3}'): state --data.format {2}, which reads its files of records "
      "alone, or put them into folders of their own",
      "“{0}”中既有记录（“{1}”：{2}）又有文本（“{3}”）：请给出 --data.format "
      "{2}，它只读取其中的记录文件，或把它们放入各自的目录"};
  base::Bilingual mixed_text = {
      "'{0}' holds records with a text each ('{1}') beside text ('{2}'): put them into a folder of their own, or give "
      "JSON lines the ending .jsonl",
      "“{0}”中既有各含一段文本的记录（“{1}”）又有文本（“{2}”）：请把它们放入各自的目录，或把 JSONL 文件名的结尾改为 "
      ".jsonl"};
  base::Bilingual no_json = {"'{}' has no .json, .jsonl or .csv files, which {} records need",
                             "“{}”中没有 .json、.jsonl 或 .csv 文件，而 {} 记录需要它们"};
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
  base::Bilingual text_report = {"'{}': text, {} in {}, {} of {} ids{}",
                                 "“{}”：文本，{}，分布在 {} 中，{}，每个 {} 个 id{}"};
  base::Bilingual one_not_utf8 = {
      "note: {1} file of '{0}' is not UTF-8 and is trained on byte by byte ('{2}'): convert it with iconv if it is "
      "text",
      "注意：“{0}”中有 {1} 个文件（“{2}”）不是 UTF-8，将按字节训练：如果是文本，请用 iconv 转换"};
  base::Bilingual several_not_utf8 = {
      "note: {1} files of '{0}' are not UTF-8 and are trained on byte by byte ('{2}', ...): convert them with iconv if "
      "they are text",
      "注意：“{0}”中有 {1} 个文件（“{2}”等）不是 UTF-8，将按字节训练：如果是文本，请用 iconv 转换"};
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
      "note: {0} of {1} samples in '{2}' are longer than {3} ids and are cut to that, which loses their ends and end "
      "marks; a larger --seq-len keeps them whole, --data.too-long drop leaves them out",
      "注意：“{2}”的 {1} 个样本中有 {0} 个超过 {3} 个 id，会被截断，失去结尾和结束标记；增大 --seq-len "
      "可保持完整，--data.too-long drop 则不使用它们"};
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
  base::Bilingual no_answers = {"no record of '{1}' has an answer to train on, of {0} that were read",
                                "“{1}”的 {0} 条记录都没有可训练的回答"};
  base::Bilingual keys = {
      "{}: the keys {} match no known format: known are messages, conversations, instruction with output, input_ids, "
      "and '{}' for text; --data.text-key names another key for text, dataset_info.json other columns for the rest",
      "{}：键 {} 不符合任何已知格式：已知的有 messages、conversations、instruction 与 "
      "output、input_ids，以及文本的“{}”；文本可用 --data.text-key 指定其他键，其余可用 dataset_info.json 指定其他列"};
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
  base::Bilingual no_text = {"'{}' is not text but {}: {}", "“{}”不是文本，而是{}：{}"};
  base::Bilingual not_utf8 = {"'{}' is not UTF-8 but {}: {}", "“{}”不是 UTF-8，而是 {}：{}"};
  base::Bilingual gzip_data = {"gzip data", " gzip 数据"};
  base::Bilingual zstd_data = {"Zstandard data", " Zstandard 数据"};
  base::Bilingual xz_data = {"xz data", " xz 数据"};
  base::Bilingual bzip2_data = {"bzip2 data", " bzip2 数据"};
  base::Bilingual lz4_data = {"lz4 data", " lz4 数据"};
  base::Bilingual zip_archive = {"a ZIP archive", " ZIP 压缩包"};
  base::Bilingual archive = {"an archive", "归档文件"};
  base::Bilingual pdf = {"a PDF", " PDF 文件"};
  base::Bilingual database = {"an SQLite database", " SQLite 数据库"};
  base::Bilingual avro = {"an Avro file", " Avro 文件"};
  base::Bilingual array_file = {"a file of arrays", "数组文件"};
  base::Bilingual parquet = {"a Parquet file", " Parquet 文件"};
  base::Bilingual feather = {"an Arrow file", " Arrow 文件"};
  base::Bilingual lfs_pointer = {"a Git LFS pointer", " Git LFS 指针"};
  base::Bilingual binary_data = {"binary data (it holds NUL bytes)", "二进制数据（含有 NUL 字节）"};
  base::Bilingual give_ending = {"give its name the ending {}, or decompress it", "请把文件名的结尾改为 {}，或先解压"};
  base::Bilingual decompress_it = {"decompress it first; .gz and .zst are read as they are",
                                   "请先解压；.gz 和 .zst 可直接读取"};
  base::Bilingual unpack_it = {"unpack it into a folder and give that", "请解压到一个目录，并给出该目录"};
  base::Bilingual extract_text = {"extract its text first (pdftotext)", "请先提取其中的文本（pdftotext）"};
  base::Bilingual export_it = {"export it as JSON lines or CSV", "请导出为 JSONL 或 CSV"};
  base::Bilingual lfs_pull = {"fetch the file itself (git lfs pull)", "请取回文件本身（git lfs pull）"};
  base::Bilingual convert_by = {"convert it\n  {}", "请转换它\n  {}"};
  base::Bilingual give_text = {"give text, JSONL, CSV or token shards", "请给出文本、JSONL、CSV 或 token 分片"};
  base::Bilingual no_text_files = {"the folder '{}' holds no text files{}: give a folder with text or .jsonl files",
                                   "目录“{}”中没有文本文件{}：请给出含有文本或 .jsonl 文件的目录"};
  base::Bilingual in_brackets = {" (left out: {})", "（未使用：{}）"};
  base::Bilingual pipe = {"'{}' is a pipe, which can be read only once: write its text to a file and give that",
                          "“{}”是管道，只能读取一次：请把内容写入文件，并给出该文件"};
  base::Bilingual special = {"'{}' is neither a file nor a folder: give a text file, a .jsonl file or a folder of them",
                             "“{}”既不是文件也不是目录：请给出文本文件、.jsonl 文件或它们的目录"};
  base::Bilingual is_run = {
      "'{}' is the folder of a run, not of data: give the folder of the data, and --out of a run a folder of its own",
      "“{}”是运行的目录，而不是数据的目录：请给出数据的目录，并用 --out 为运行另设目录"};
  base::Bilingual records_by_content = {
      "'{}' holds JSON records, but its ending is that of text: give its name the ending .jsonl",
      "“{}”中是 JSON 记录，但文件名的结尾表示文本：请把结尾改为 .jsonl"};
  base::Bilingual binary_file = {"{} binary file ('{}')", "{} 个二进制文件（“{}”）"};
  base::Bilingual binary_files = {"{} binary files ('{}', ...)", "{} 个二进制文件（“{}”等）"};
  base::Bilingual encoded_file = {"{} file in another encoding than UTF-8 ('{}')", "{} 个非 UTF-8 编码的文件（“{}”）"};
  base::Bilingual encoded_files = {"{} files in other encodings than UTF-8 ('{}', ...)",
                                   "{} 个非 UTF-8 编码的文件（“{}”等）"};
  base::Bilingual file_without_text = {"{} empty file ('{}')", "{} 个空文件（“{}”）"};
  base::Bilingual files_without_text = {"{} empty files ('{}', ...)", "{} 个空文件（“{}”等）"};
  base::Bilingual link_out = {"{} link that leads out of the folder ('{}')", "{} 个指向目录之外的链接（“{}”）"};
  base::Bilingual links_out = {"{} links that lead out of the folder ('{}', ...)", "{} 个指向目录之外的链接（“{}”等）"};
  base::Bilingual link_nowhere = {"{} link that leads nowhere ('{}')", "{} 个无效链接（“{}”）"};
  base::Bilingual links_nowhere = {"{} links that lead nowhere ('{}', ...)", "{} 个无效链接（“{}”等）"};
  base::Bilingual linked_folder = {"{} link to a folder ('{}')", "{} 个指向目录的链接（“{}”）"};
  base::Bilingual linked_folders = {"{} links to folders ('{}', ...)", "{} 个指向目录的链接（“{}”等）"};
  base::Bilingual special_file = {"{} pipe or device ('{}')", "{} 个管道或设备（“{}”）"};
  base::Bilingual special_files = {"{} pipes or devices ('{}', ...)", "{} 个管道或设备（“{}”等）"};
  base::Bilingual run_folder = {"{} folder of a run ('{}')", "{} 个运行目录（“{}”）"};
  base::Bilingual run_folders = {"{} folders of runs ('{}', ...)", "{} 个运行目录（“{}”等）"};
  base::Bilingual shard_folder = {"{} folder of token shards ('{}')", "{} 个 token 分片目录（“{}”）"};
  base::Bilingual shard_folders = {"{} folders of token shards ('{}', ...)", "{} 个 token 分片目录（“{}”等）"};
  base::Bilingual file_of_text = {"{} file that holds no records ('{}')", "{} 个不含记录的文件（“{}”）"};
  base::Bilingual files_of_text = {"{} files that hold no records ('{}', ...)", "{} 个不含记录的文件（“{}”等）"};
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
