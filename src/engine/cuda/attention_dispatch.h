// The kernels that run for attention (kernels/attention.h).
#pragma once

#include "cuda/attention_kernels.h"
#include "cuda/dispatch.h"
#include "cuda/walk.h"

namespace troika::cuda::dispatch {

// Scores become weights of `dtype`, each row in the first part of its own memory. lse: the logarithm of the sum of
// exp(scale * score) over the keys that are seen; -inf where none is.
template <class Run>
void softmax(const Run& run, const ScoreRows& rows, float* scores, Dtype dtype, float* lse) {
  with_number(dtype, [&](auto type) {
    using To = decltype(type);
    with_width<float>({scores}, {rows.stride}, [&](auto n) { run(Softmax<To, n()>{rows, scores, lse}); });
  });
}

// Scores become weights, and gradients of weights those of what the keys gave the scores, likewise. dots: head_dots of the
// output and its gradient.
template <class Run>
void softmax_gradient(const Run& run, const ScoreRows& rows, float* scores, float* gradients, Dtype dtype, const float* lse,
                      const float* dots) {
  with_number(dtype, [&](auto type) {
    using To = decltype(type);
    with_width<float>({scores, gradients}, {rows.stride}, [&](auto n) {
      run(SoftmaxGradient<To, n()>{rows, scores, gradients, lse, dots});
    });
  });
}

// dots [B, n, T]: sums of a * b, both [B, T, n, H] of `dtype`, over H.
template <class Run>
void head_dots(const Run& run, const HeadRows& rows, Dtype dtype, const void* a, const void* b, float* dots) {
  with_number(dtype, [&](auto type) {
    using T = decltype(type);
    run(HeadDots<T>{rows, static_cast<const T*>(a), static_cast<const T*>(b), dots});
  });
}

// An output of attention and its log-sum-exp.
struct AttentionPart {
  const float *out = nullptr, *lse = nullptr;
};

// sum: the output of both parts, whose log-sum-exp is lse.
template <class Run>
void sum_of_shares(const Run& run, const HeadRows& rows, const AttentionPart& a, const AttentionPart& b, const float* lse,
                   float* sum) {
  run(EachElement<SumOfShares, 1>{{rows, a.out, b.out, a.lse, b.lse, lse, sum}, rows.B * rows.T * rows.n * rows.H});
}

}  // namespace troika::cuda::dispatch
