// Documents that share a sequence and are apart compute what each computes alone.
#include <gtest/gtest.h>

#include <cmath>

#include "model/decoder_test_support.h"
#include "tensor/libtorch_test_support.h"

namespace troika::model {
namespace {

constexpr std::int64_t packed_seq_len = 24;
const std::vector<std::int64_t> lengths{5, 1, 9, 7, 2};  // they fill one sequence

struct Document {
  std::int64_t begin = 0, length = 0;
};

std::vector<Document> documents() {
  std::vector<Document> all;
  std::int64_t begin = 0;
  for (const std::int64_t length : lengths) {
    all.push_back({begin, length});
    begin += length;
  }
  return all;
}

Tokens alone(const Tokens& whole, const Document& d) {
  Tokens tokens = lay_out({{d.length, 0, 0}}, sharding::ContextGroup(), {});
  tokens.ids_M = whole.ids_M.narrow(0, d.begin, d.length);
  tokens.targets_M = whole.targets_M.narrow(0, d.begin, d.length);
  return tokens;
}

Tokens packed(const Tokens& whole) {
  sharding::Sequences sequences;
  for (const Document& d : documents()) sequences.push_back({d.length, 0, d.begin});
  return with_sequences(whole, std::move(sequences));
}

Tokens with_targets_of(const Tokens& all, const Document& d) {
  Tokens tokens = all;
  tokens.targets_M = at::full_like(all.targets_M, -100);
  tensor::theirs(tokens.targets_M.narrow(0, d.begin, d.length)).copy_(all.targets_M.narrow(0, d.begin, d.length));
  return tokens;
}

void add(std::map<std::string, at::Tensor>* sum, const std::map<std::string, at::Tensor>& gradients,
         const Tokens& tokens) {
  for (const auto& [name, gradient] : gradients) {
    at::Tensor& of_name = (*sum)[name];
    const at::Tensor of_sum = gradient * static_cast<double>(tokens.loss_rows);
    of_name = of_name.defined() ? of_name + of_sum : of_sum;
  }
}

void expect_parity(const config::ModelSettings& model, shape::SavedActivations activations) {
  const std::vector<Decoder> decoders =
      make_decoders(model, {0, shape::segment_count(model)}, options_for(packed_seq_len));
  perturb_vectors(decoders);
  const Tokens tokens = packed(make_tokens(model, 1, packed_seq_len, 4, tensor::Device()));
  const auto run = [&](const Tokens& of) { return forward_backward(decoders, of, 42.0, activations); };
  std::map<std::string, at::Tensor> want, got;
  for (const Document& d : documents()) {
    const Tokens own = alone(tokens, d);
    const Gradients by_itself = run(own);
    const auto loss = decoders[0].forward({}, with_targets_of(tokens, d), shape::SavedActivations::none).loss;
    EXPECT_EQ(loss.tokens, by_itself.loss.tokens);
    EXPECT_NEAR(loss.loss, by_itself.loss.loss, 1e-5 * by_itself.loss.loss) << d.begin;
    add(&want, gradients_by_name(decoders, by_itself), own);
  }
  add(&got, gradients_by_name(decoders, run(tokens)), tokens);
  for (const auto& [name, gradient] : want) EXPECT_LT(relative_error(got.at(name), gradient), 1e-5) << name;
}

TEST(PackedParity, DocumentsOfASequenceHaveTheLossesAndGradientsOfEachAlone) {
  for (const config::ModelSettings& model : small_models()) {
    SCOPED_TRACE(word_of(model.architecture));
    expect_parity(model, shape::SavedActivations::all);
  }
  expect_parity(small_model(true), shape::SavedActivations::selective);
}

TEST(PackedParity, OneDocumentOfTheWholeSequenceHasTheBitsOfAPlainSequence) {
  for (const config::ModelSettings& model : {small_model(true), small_llama(false), small_gpt2(true)}) {
    const std::vector<Decoder> decoders =
        make_decoders(model, {0, shape::segment_count(model)}, options_for(packed_seq_len));
    const Tokens plain = make_tokens(model, 1, packed_seq_len, 4, tensor::Device());
    const Gradients want = forward_backward(decoders, plain, 42.0);
    const Gradients got = forward_backward(decoders, with_documents(plain, packed_seq_len), 42.0);
    EXPECT_EQ(got.loss.loss, want.loss.loss);
    for (std::size_t i = 0; i < want.leaves[0].size(); ++i)
      EXPECT_TRUE(at::equal(got.leaves[0][i], want.leaves[0][i])) << i;
  }
}

}  // namespace
}  // namespace troika::model
