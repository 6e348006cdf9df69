// The kernels that run for the embedding and for rows of logits (kernels/vocabulary.h).
#pragma once

#include <cstdint>

#include "cuda/cross_entropy_kernels.h"
#include "cuda/dispatch.h"
#include "cuda/embedding_kernels.h"
#include "cuda/walk.h"

namespace troika::cuda::dispatch {

// x: M x D. Ids outside the part give zero rows.
template <class Run>
void embedding_forward(const Run& run, const EmbeddingTable& table, std::int64_t M, const std::int64_t* ids,
                       const void* weights, void* x) {
  with_vectors(table.dtype, {weights, x}, {table.D}, [&](auto type, auto n) {
    using T = decltype(type);
    run(EmbeddingForward<T, n()>{ids, static_cast<const T*>(weights), static_cast<T*>(x), M, table.first_row, table.v,
                                 table.D});
  });
}

// sorted, order: M each (TokensById). M^2 comparisons, which for 16384 tokens are a third of a millisecond of an H100.
template <class Run>
void sort_tokens(const Run& run, std::int64_t M, const std::int64_t* ids, std::int64_t* sorted, std::int64_t* order) {
  run(SortTokens{ids, sorted, order, M});
}

// Elements of int64 that a backward needs as memory until its work is done.
inline std::int64_t embedding_backward_integers(const EmbeddingTable& table) { return table.v + 1; }

// Writes dtable (v x D, fp32): the sums of the rows of dx (M x D) that name a row, in ascending order in fp32, without
// atomics; zeros where none does. Ids outside the part are ignored.
template <class Run>
void embedding_backward_weight(const Run& run, const EmbeddingTable& table, std::int64_t M, const TokensById& tokens,
                               const void* dx, float* dtable, std::int64_t* workspace) {
  run(EmbeddingBegins{tokens.sorted, workspace, M, table.first_row, table.v});
  with_vectors(table.dtype, {dx, dtable}, {table.D}, [&](auto type, auto n) {
    using T = decltype(type);
    run(EmbeddingBackward<T, n()>{workspace, tokens.order, static_cast<const T*>(dx), dtable, table.v, table.D});
  });
}

// lse[i] = log sum_j exp(x[i][j]); -inf for a row of -inf, and no number or infinity where a logit is. Reads a row
// once: M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax", 2018. `kept`, M x v, dense, of `dtype`, may be
// null: it becomes x[i][j] - lse[i].
template <class Run>
void log_sum_exp(const Run& run, const LogitRows& rows, const float* x, float* lse, Dtype dtype, void* kept) {
  with_number(dtype, [&](auto type) {
    using Kept = decltype(type);
    const std::int64_t dense = kept == nullptr ? 0 : rows.v;
    with_width<float>({x, kept}, {rows.stride, dense}, [&](auto n) {
      run(LogSumExp<Kept, n()>{x, lse, static_cast<Kept*>(kept), rows.M, rows.v, rows.stride});
    });
  });
}

// x[i][j] = weight[i] * (exp(x[i][j] - lse[i]) - [j == column[i]]), in place. A column outside [0, v) is none. x: of `from`; it
// becomes the same, or halves in place of fp32, each row in the first half of its own memory.
template <class Run>
void cross_entropy_gradient(const Run& run, const LogitRows& rows, Dtype from, void* x, const RowTargets& targets,
                            Dtype to) {
  const LogitGradients gradients{targets.lse, targets.column, targets.weight};
  with_number(to, [&](auto type) {
    using T = decltype(type);
    if (from == to) {
      with_width<T>({x}, {rows.stride}, [&](auto n) {
        run(CrossEntropyGradient<T, n()>{static_cast<T*>(x), gradients, rows.M, rows.v, rows.stride});
      });
    } else if constexpr (sizeof(T) < sizeof(float)) {
      with_width<float>({x}, {rows.stride}, [&](auto n) {
        run(NarrowedGradient<T, n()>{static_cast<float*>(x), gradients, rows.M, rows.v, rows.stride});
      });
    }
  });
}

// logit[i] = x[i][column[i]]; 0 where the column is outside [0, v).
template <class Run>
void logits_of_columns(const Run& run, const LogitRows& rows, const float* x, const std::int64_t* column,
                       float* logit) {
  run(EachElement<LogitOfColumn, 1>{{x, column, logit, rows.v, rows.stride}, rows.M});
}

template <class Run>
void columns_of_targets(const Run& run, std::int64_t M, const std::int64_t* target, std::int64_t first,
                        std::int64_t* column) {
  run(EachElement<ColumnOfTarget, 1>{{target, column, first}, M});
}

// `scale`, or 0 where the target is `none`.
template <class Run>
void weights_of_targets(const Run& run, std::int64_t M, const std::int64_t* target, std::int64_t none, float scale,
                        float* weight) {
  run(EachElement<WeightOfTarget, 1>{{target, weight, none, scale}, M});
}

// sum[i] = log(exp(a[i]) + exp(b[i])), -inf included; sum may be a.
template <class Run>
void log_add_exp(const Run& run, std::int64_t count, const float* a, const float* b, float* sum) {
  run(EachElement<LogAddExp, 1>{{a, b, sum}, count});
}

// sum[0] = sum of lse[i] - logit[i], sum[1] = their number, in the order of rows, without those whose target is `none`.
template <class Run>
void loss_sum(const Run& run, std::int64_t M, const float* lse, const float* logit, const std::int64_t* target,
              std::int64_t none, double* sum) {
  run(LossSum{lse, logit, target, sum, M, none});
}

}  // namespace troika::cuda::dispatch
