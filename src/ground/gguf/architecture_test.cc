#include "gguf/architecture.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "gguf/gguf_test_support.h"

namespace troika::gguf {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;

TEST(GgufArchitectures, NameTensorsBothWays) {
  const Architecture &llama = *find_architecture("llama"), &gemma3 = *find_architecture("gemma3"),
                     &gpt2 = *find_architecture("gpt2");
  const auto expect_pair = [](const Architecture& a, const std::string& ours, const std::string& theirs) {
    EXPECT_EQ(published_name(a, ours), theirs);
    EXPECT_EQ(gguf_name(a, theirs), ours);
  };
  expect_pair(llama, "token_embd.weight", "model.embed_tokens.weight");
  expect_pair(llama, "blk.12.attn_q.weight", "model.layers.12.self_attn.q_proj.weight");
  expect_pair(llama, "blk.0.ffn_norm.weight", "model.layers.0.post_attention_layernorm.weight");
  expect_pair(llama, "output.weight", "lm_head.weight");
  expect_pair(gemma3, "blk.3.ffn_norm.weight", "model.layers.3.pre_feedforward_layernorm.weight");
  expect_pair(gemma3, "blk.3.post_attention_norm.weight", "model.layers.3.post_attention_layernorm.weight");
  expect_pair(gpt2, "blk.3.attn_qkv.bias", "transformer.h.3.attn.c_attn.bias");
  EXPECT_EQ(published_name(llama, "blk.3.ssm_in.weight"), "");
  EXPECT_EQ(published_name(llama, "blk.attn_q.weight"), "");
  EXPECT_EQ(gguf_name(llama, "model.layers.3.self_attn.rotary_emb.inv_freq"), "");
}

TEST(GgufArchitectures, ArrangeOnlyTheTensorsThatDiffer) {
  const Architecture &llama = *find_architecture("llama"), &qwen2 = *find_architecture("qwen2");
  EXPECT_EQ(arrangement_of(llama, "blk.0.attn_k.weight", 64).order, Order::pairs);
  EXPECT_EQ(arrangement_of(llama, "blk.0.attn_k.weight", 64).head_rows, 64);
  EXPECT_EQ(arrangement_of(llama, "blk.0.attn_v.weight", 64).order, Order::same);
  EXPECT_EQ(arrangement_of(llama, "blk.0.attn_k_norm.weight", 64).order, Order::same);
  EXPECT_EQ(arrangement_of(qwen2, "blk.0.attn_k.weight", 64).order, Order::same);
  const Architecture &gpt2 = *find_architecture("gpt2"), &gemma = *find_architecture("gemma2");
  EXPECT_EQ(arrangement_of(gpt2, "blk.0.ffn_up.weight", 64).order, Order::transposed);
  EXPECT_EQ(arrangement_of(gpt2, "blk.0.ffn_up.bias", 64).order, Order::same);
  EXPECT_EQ(arrangement_of(gpt2, "token_embd.weight", 64).order, Order::same);
  EXPECT_EQ(arrangement_of(gemma, "output_norm.weight", 64).added, 1);
  EXPECT_EQ(arrangement_of(gemma, "output.weight", 64).added, 0);
}

TEST(GgufArchitectures, PublishTensorsOfAFile) {
  Keys keys;
  keys.text("general.architecture", "gpt2");
  const std::string content = testing_support::file_bytes(keys, {{"blk.0.ffn_up.weight", {8, 4}}, {"what", {3}}});
  const Header header(content, "a.gguf");
  const auto published = published_tensors(header);
  ASSERT_EQ(published.size(), 2);
  EXPECT_THAT(published[0].shape, ElementsAre(4, 8));
  EXPECT_EQ(published[1].name, "what");
}

TEST(GgufArchitectures, ThatAreUnknownAreRefusedWithTheListOfTheOthers) {
  Keys keys;
  keys.text("general.architecture", "mamba");
  const std::string content = testing_support::file_bytes(keys, {});
  const Header header(content, "a.gguf");
  try {
    published_tensors(header);
    FAIL();
  } catch (const base::DataError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("architecture 'mamba', which is not read; these are: llama, qwen2, qwen3, gpt2, gemma"));
  }
}

}  // namespace
}  // namespace troika::gguf
