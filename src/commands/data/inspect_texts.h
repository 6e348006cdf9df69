// What `troika data inspect` shows, and what is wrong with its command line, in both languages.
#pragma once

#include "base/language.h"

namespace troika::commands {

struct InspectTexts {
  base::Bilingual no_data = {
      "data.train is not set; name text, JSON lines or a name of dataset_info.json with --data.train",
      "未设置 data.train；请用 --data.train 指定文本、JSONL 或 dataset_info.json 中的名称"};
  base::Bilingual no_sample = {"--sample {} is not there: the samples are 0 to {}",
                               "没有 --sample {}：样本的编号为 0 到 {}"};
  base::Bilingual tokenizer_of_shards = {"--tokenizer is for prepared shards; that of a run is --data.tokenizer",
                                         "--tokenizer 用于已准备好的分片；运行的分词器是 --data.tokenizer"};
  base::Bilingual of_samples = {"--{} is for the samples of a run; leave it out with prepared shards",
                                "--{} 用于运行的样本；查看已准备好的分片时请去掉"};
  base::Bilingual other_tokenizer = {
      "the tokens in '{}' were made by a tokenizer with the fingerprint {}, but '{}' has {}: give the one that 'troika "
      "data prepare' was given",
      "“{}”中的 token 由指纹为 {} 的分词器生成，而“{}”的指纹为 {}：请给出运行 troika data prepare 时所用的分词器"};

  // A sample of a run.
  base::Bilingual sample = {"sample {} of {}: {} of {}, {} with loss, {}",
                            "样本 {}（共 {} 个）：{} 个 token（最多 {} 个），其中 {} 个计算损失，{} 篇文档"};
  base::Bilingual next_document = {"--- document {} of this sample, from position {} ---",
                                   "--- 本样本的文档 {}，从位置 {} 开始 ---"};

  // Prepared shards.
  base::Bilingual tokens = {"tokens", "token 数"};
  base::Bilingual documents = {"documents", "文档数"};
  base::Bilingual on_average = {"{} ({:.1f} tokens on average)", "{}（平均 {:.1f} 个 token）"};
  base::Bilingual vocabulary = {"vocabulary", "词表"};
  base::Bilingual tokenizer = {"tokenizer", "分词器"};
  base::Bilingual data = {"data", "数据"};
  base::Bilingual shard = {"shard", "分片"};
  base::Bilingual of_shard = {"{}: {}, {}, {}, contents verified", "{}：{} 个 token，{} 篇文档，{}，内容已校验"};
  base::Bilingual document = {"document {} ({}): {}{}", "文档 {}（{} 个 token）：{}{}"};
};
inline constexpr InspectTexts inspect_texts{};

}  // namespace troika::commands
