// Decoding with a cache against the reference in double and against a forward of the whole sequence.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/error.h"
#include "base/random.h"
#include "gpu/host_accelerator_test_support.h"
#include "inference/cached_decoder.h"
#include "kernels/linear.h"
#include "model/decoder_test_support.h"
#include "model/reference_test_support.h"
#include "model/segments.h"
#include "tensor/device.h"
#include "tensor/libtorch_test_support.h"

namespace troika::inference {
namespace {
using namespace model;
using Ids = std::vector<std::int32_t>;

Ids random_ids(const config::ModelSettings& model, std::int64_t count, const std::string& name) {
  const base::Philox random(11, name);
  Ids ids;
  for (std::int64_t i = 0; i < count; ++i)
    ids.push_back(static_cast<std::int32_t>(random.bits(static_cast<std::uint64_t>(i)) %
                                            static_cast<std::uint64_t>(model.vocab)));
  return ids;
}

Ids piece(const Ids& ids, std::int64_t first, std::int64_t count) {
  return {ids.begin() + first, ids.begin() + first + count};
}

Tokens whole(const Ids& ids) {
  Tokens tokens = lay_out({{static_cast<std::int64_t>(ids.size()), 0, 0}}, sharding::ContextGroup(), {});
  tokens.ids_M = at::tensor(std::vector<std::int64_t>(ids.begin(), ids.end()), at::kLong);
  return tokens;
}

// One model with and without a cache.
struct Subject {
  explicit Subject(const config::ModelSettings& m, std::int64_t context = 40, at::ScalarType dtype = at::kFloat)
      : model(m), decoders(make(m, context, dtype)), cached(m, decoders[0].parameters(), context) {}

  static std::vector<Decoder> make(const config::ModelSettings& m, std::int64_t context, at::ScalarType dtype) {
    Decoder::Options options = options_for(context);
    options.dtype = tensor::ours(dtype);
    auto decoders = make_decoders(m, {0, shape::segment_count(m)}, options);
    perturb_vectors(decoders);
    return decoders;
  }

  // After every id, in double: [T, V].
  at::Tensor reference(const Ids& ids) const {
    Weights weights;
    for (const auto& [name, value] : parameters_by_name(decoders)) weights.emplace(name, value.to(at::kDouble));
    return reference_logits(model, weights, whole(ids).ids_M.unsqueeze(0))[0];
  }

  // After the last id, by the segments of training.
  at::Tensor without_cache(const Ids& ids) const {
    Decoder::Options options = options_for(cached.context());
    options.dtype = decoders[0].parameters()[0].dtype();
    const Decoder body(model, 0, shape::segment_count(model) - 1, options);
    for (std::size_t i = 0; i < body.parameters().size(); ++i) {
      at::Tensor own = body.parameters()[i];
      own.copy_(decoders[0].parameters()[i]);
    }
    const at::Tensor x_MD = body.forward({}, whole(ids), shape::SavedActivations::none).y_mD;
    SegmentBuffer head{decoders[0].parameters()[body.parameters().size()], {}, {}};
    if (model.tie_embeddings) head.tied = decoders[0].parameters()[0];
    return head_logits(model, head, x_MD.narrow(0, x_MD.size(0) - 1, 1));
  }

  config::ModelSettings model;
  std::vector<Decoder> decoders;
  CachedDecoder cached;
};

Ids greedy(Ids ids, int count, const std::function<at::Tensor(const Ids&)>& logits) {
  for (int i = 0; i < count; ++i) ids.push_back(static_cast<std::int32_t>(logits(ids).argmax().item<std::int64_t>()));
  return ids;
}

Ids greedy_with_cache(const CachedDecoder& cached, const Ids& prompt, int count) {
  KeyValueCache cache = cached.new_cache();
  return greedy(prompt, count, [&](const Ids& ids) {
    return cached.extend(
        {{&cache, piece(ids, cache.length(), static_cast<std::int64_t>(ids.size()) - cache.length())}});
  });
}

TEST(CachedDecoderParity, LogitsAfterPiecesOfAnySizeAreThoseOfTheReference) {
  for (const config::ModelSettings& m : small_models()) {
    const Subject subject(m);
    const Ids ids = random_ids(m, 40, "ids");
    const at::Tensor want_TV = subject.reference(ids);
    KeyValueCache cache = subject.cached.new_cache();
    for (const std::int64_t count : {1, 1, 7, 1, 17, 2, 1, 10}) {
      const at::Tensor got = subject.cached.extend({{&cache, piece(ids, cache.length(), count)}});
      EXPECT_LT(relative_error(got[0], want_TV[cache.length() - 1]), 1e-5)
          << word_of(m.architecture) << " " << cache.length();
    }
    EXPECT_EQ(cache.length(), 40);
  }
}

TEST(CachedDecoderParity, GreedyTokensAreThoseOfForwardsOfTheWholeSequence) {
  for (const config::ModelSettings& m : small_models()) {
    const Subject subject(m);
    for (const std::int64_t length : {1, 5, 16, 17, 28}) {
      const Ids prompt = random_ids(m, length, "prompt");
      EXPECT_EQ(greedy_with_cache(subject.cached, prompt, 12),
                greedy(prompt, 12, [&](const Ids& ids) { return subject.without_cache(ids); }))
          << word_of(m.architecture) << " after " << length;
    }
  }
}

TEST(CachedDecoderParity, OddSizesAndOneKeyHead) {
  config::ModelSettings m = small_model(false);
  m.layers = 2;
  m.hidden = 35;
  m.heads = 6;
  m.kv_heads = 1;
  m.head_dim = 10;
  m.ffn = 77;
  m.vocab = 101;
  const Subject subject(m);
  const Ids ids = random_ids(m, 30, "ids");
  const at::Tensor want_TV = subject.reference(ids);
  KeyValueCache cache = subject.cached.new_cache();
  for (const std::int64_t count : {20, 1, 1, 8}) {
    const at::Tensor got = subject.cached.extend({{&cache, piece(ids, cache.length(), count)}});
    EXPECT_LT(relative_error(got[0], want_TV[cache.length() - 1]), 1e-5);
  }
}

TEST(CachedDecoderParity, APromptLongerThanOnePassIsComputedInPieces) {
  config::ModelSettings m = small_model(true);
  m.layers = 2;
  const Subject subject(m, 1100);
  const Ids ids = random_ids(m, 1030, "ids");
  KeyValueCache cache = subject.cached.new_cache();
  const at::Tensor got = subject.cached.extend({{&cache, ids}});
  EXPECT_LT(relative_error(got[0], subject.reference(ids)[1029]), 1e-5);
}

// Continues `prompts` together; alone[i] are the logits that prompt i gives by itself.
TEST(CachedDecoderParity, ASequenceHasTheSameBitsAloneAndBesideOthers) {
  for (const config::ModelSettings& m : small_models()) {
    const Subject subject(m);
    constexpr std::int64_t count = kernels::independent_rows + 3;
    std::vector<KeyValueCache> together, alone;
    std::vector<Continuation> prompts;
    for (std::int64_t i = 0; i < count; ++i) {
      together.push_back(subject.cached.new_cache());
      alone.push_back(subject.cached.new_cache());
    }
    const auto caches_of = [&](std::vector<KeyValueCache>& caches, const std::vector<Ids>& ids) {
      std::vector<Continuation> all;
      for (std::size_t i = 0; i < ids.size(); ++i) all.push_back({&caches[i], ids[i]});
      return all;
    };
    for (const std::int64_t added : {0, 1, 1, 2}) {
      std::vector<Ids> ids;
      for (std::int64_t i = 0; i < count; ++i)
        ids.push_back(random_ids(m, added == 0 ? 1 + i : added, std::to_string(i) + "/" + std::to_string(added)));
      const at::Tensor got_BV = subject.cached.extend(caches_of(together, ids));
      const auto one_by_one = caches_of(alone, ids);
      for (std::int64_t i = 0; i < count; ++i)
        EXPECT_TRUE(at::equal(got_BV[i], subject.cached.extend({one_by_one[static_cast<std::size_t>(i)]})[0]))
            << word_of(m.architecture) << " " << i;
    }
  }
}

TEST(CachedDecoderParity, BitsDoNotDependOnThreads) {
  for (const config::ModelSettings& m : {small_model(true), small_gpt2(true)}) {
    const Subject subject(m);
    const auto logits = [&](int threads) {
      tensor::set_threads(threads);
      KeyValueCache first = subject.cached.new_cache(), second = subject.cached.new_cache();
      subject.cached.extend({{&first, random_ids(m, 20, "a")}, {&second, random_ids(m, 9, "b")}});
      const at::Tensor result = subject.cached.extend({{&first, {7}}, {&second, {8}}});
      tensor::set_threads(1);
      return result;
    };
    EXPECT_TRUE(at::equal(logits(1), logits(2)));
    EXPECT_TRUE(at::equal(logits(1), logits(5)));
  }
}

TEST(CachedDecoderParity, AShortenedCacheGoesOnAsIfTheRestHadNeverBeen) {
  const Subject subject(small_model(true));
  const Ids ids = random_ids(subject.model, 30, "ids");
  KeyValueCache cache = subject.cached.new_cache();
  subject.cached.extend({{&cache, piece(ids, 0, 10)}});
  const at::Tensor want = subject.cached.extend({{&cache, {5}}});
  cache.shorten(10);
  subject.cached.extend({{&cache, piece(ids, 10, 20)}});
  cache.shorten(10);
  EXPECT_TRUE(at::equal(subject.cached.extend({{&cache, {5}}}), want));
}

TEST(CachedDecoderParity, HalvesAreAsCloseAsForwardsOfTheWholeSequence) {
  for (const config::ModelSettings& m : {small_model(true), small_gpt2(false)}) {
    for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf}) {
      const Subject subject(m, 40, dtype);
      const Ids ids = random_ids(m, 24, "ids");
      KeyValueCache cache = subject.cached.new_cache();
      subject.cached.extend({{&cache, piece(ids, 0, 20)}});
      at::Tensor got;
      for (int i = 20; i < 24; ++i) got = subject.cached.extend({{&cache, piece(ids, i, 1)}});
      EXPECT_EQ(got.scalar_type(), at::kFloat);
      const at::Tensor exact = subject.reference(ids)[23];
      const double bound = 2 * relative_error(subject.without_cache(ids)[0], exact);
      EXPECT_LT(relative_error(got[0], exact), bound) << word_of(m.architecture);
    }
  }
}

TEST(CachedDecoderParity, ALayerWithAWindowHoldsItAlone) {
  config::ModelSettings m = small_gemma(true);
  m.sliding_window = 20;
  const Subject subject(m, 900);
  const Ids ids = random_ids(m, 900, "ids");
  const at::Tensor want_TV = subject.reference(ids);
  KeyValueCache cache = subject.cached.new_cache();
  while (cache.length() < 900) {
    const std::int64_t count = std::min<std::int64_t>(cache.length() % 3 == 0 ? 40 : 1, 900 - cache.length());
    const at::Tensor got = subject.cached.extend({{&cache, piece(ids, cache.length(), count)}});
    ASSERT_LT(relative_error(got[0], want_TV[cache.length() - 1]), 1e-5) << cache.length();
  }
  EXPECT_LE(cache.bytes(), (cache.capacity() + 3 * 128) * 2 * 2 * 16 * 4);  // one layer in four sees everything
  EXPECT_EQ(cache.continuable(899), 899);
  EXPECT_EQ(cache.continuable(500), 0);
  cache.shorten(0);
  EXPECT_LT(relative_error(subject.cached.extend({{&cache, piece(ids, 0, 30)}})[0], want_TV[29]), 1e-5);
}

TEST(CachedDecoderParity, BytesOfACacheAreThoseOfItsCapacity) {
  const Subject subject(small_model(true), 200);
  KeyValueCache cache = subject.cached.new_cache();
  EXPECT_EQ(cache.bytes(), 0);
  subject.cached.extend({{&cache, random_ids(subject.model, 100, "ids")}});
  EXPECT_GE(cache.capacity(), 100);
  EXPECT_LE(cache.capacity(), 128);
  EXPECT_EQ(cache.bytes(), cache.capacity() * 4 * 2 * 2 * 16 * 4);  // blocks, k and v, heads, width, fp32
}

TEST(CachedDecoderParity, RefusesWhatDoesNotFit) {
  const Subject subject(small_model(true), 16);
  KeyValueCache cache = subject.cached.new_cache();
  EXPECT_THROW(subject.cached.extend({{&cache, random_ids(subject.model, 17, "ids")}}), base::BugError);
  EXPECT_THROW(subject.cached.extend({{&cache, {}}}), base::BugError);
  EXPECT_THROW(subject.cached.extend({{&cache, {259}}}), base::BugError);
  EXPECT_THROW(subject.cached.extend({{&cache, {-1}}}), base::BugError);
  EXPECT_THROW(subject.cached.extend({{&cache, {1}}, {&cache, {2}}}), base::BugError);
  EXPECT_EQ(cache.length(), 0);
  subject.cached.extend({{&cache, random_ids(subject.model, 16, "ids")}});
  EXPECT_THROW(subject.cached.extend({{&cache, {1}}}), base::BugError);
  EXPECT_THROW(cache.shorten(17), base::BugError);
  const config::ModelSettings gpt2 = small_gpt2(true);
  const auto parameters = make_decoders(gpt2, {0, 6}, options_for(40))[0].parameters();
  EXPECT_THROW(CachedDecoder(gpt2, parameters, 41), base::ConfigError);
}

TEST(CachedDecoderParity, ADeviceHasTheLogitsOfTheCpu) {
  gpu::HostAccelerator accelerator;
  for (const config::ModelSettings& m : small_models()) {
    const auto logits = [&](const tensor::Device& device) {
      const auto decoders = make_decoders(m, {0, 6}, options_for(20, device));
      const CachedDecoder cached(m, decoders[0].parameters(), 20);
      KeyValueCache first = cached.new_cache(), second = cached.new_cache();
      cached.extend({{&first, {3, 1, 4, 1, 5}}, {&second, {9, 2}}});
      return cached.extend({{&first, {6}}, {&second, {5}}}).cpu();
    };
    EXPECT_LT(relative_error(logits(tensor::Device(accelerator, 0)), logits({})), 1e-4);
  }
}

}  // namespace
}  // namespace troika::inference
