// Operations on rows: activations, norms, embedding and cross entropy. Formulas: the headers of module kernels. Arrays of void have the
// dtype of the call, statistics and the gradients of weights are fp32.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/arrays.h"

namespace troika::cpu {

struct Rows {
  std::int64_t M = 0, D = 0;  // M contiguous rows of width D
  Dtype dtype = Dtype::fp32;
};

// gate_up: M x 2D, gate first; h = function of gate * up: M x D. Rows of dgate_up begin `stride` elements apart.
enum class Gate { silu, gelu };
void gated_forward(Gate gate, const Rows& rows, const void* gate_up, void* h);
void gated_backward(Gate gate, const Rows& rows, const void* dh, const void* gate_up, void* dgate_up, std::int64_t stride);

// x, y, dy: M x D. Rows of dx begin `stride` elements apart.
void gelu_forward(const Rows& rows, const void* x, void* y);
void gelu_backward(const Rows& rows, const void* dy, const void* x, void* dx, std::int64_t stride);

// The gains w + added.
struct Gains {
  const void* w = nullptr;
  float added = 0;
};

// rstd: M values, may be null.
void rms_norm_forward(const Rows& rows, const void* x, const Gains& gains, double eps, void* y, float* rstd);
// dx = gradient + plus (plus: M x D, may be null); dw is written.
void rms_norm_backward(const Rows& rows, const void* dy, const void* x, const Gains& gains, const float* rstd,
                       const void* plus, void* dx, float* dw);

// mean, rstd: M values each, may both be null.
void layer_norm_forward(const Rows& rows, const void* x, const void* w, const void* bias, double eps, void* y,
                        float* mean, float* rstd);
void layer_norm_backward(const Rows& rows, const void* dy, const void* x, const void* w, const float* mean,
                         const float* rstd, const void* plus, void* dx, float* dw, float* dbias);

// Rows of a table by id.
struct EmbeddingTable {
  std::int64_t first_row = 0, v = 0, D = 0;
  Dtype dtype = Dtype::fp32;  // of weights, x and dx
};

void embedding_forward(const EmbeddingTable& table, std::int64_t M, const std::int64_t* ids, const void* weights,
                       void* x);

// The rows of the table that some ids name: row[i], ascending, is named by order[begin[i]] ... order[begin[i + 1] - 1], ascending.
struct NamedRows {
  std::vector<std::int64_t> row, begin{0}, order;
};
NamedRows named_rows(const EmbeddingTable& table, std::int64_t M, const std::int64_t* ids);

// gradient: a row of D for each of rows.row, the sum of the rows of dx in their order.
void embedding_backward(const NamedRows& rows, const EmbeddingTable& table, const void* dx, float* gradient);

// M rows of v logits, computed with in fp32; row i begins at i * stride.
struct LogitRows {
  std::int64_t M = 0, v = 0, stride = 0;
};

// lse[i] = log sum_j exp(x[i][j]); -inf for rows of -inf.
void log_sum_exp_rows(const LogitRows& rows, const float* x, float* lse);

// The same; and kept[i][j] = x[i][j] - lse[i]. Rows of `kept` are dense.
void log_sum_exp_rows(const LogitRows& rows, const float* x, float* lse, Bf16* kept);

// The gradient of sum_i scale[i] * (lse[i] - x[i][target[i]]), scale[i] * (exp(x[i][j] - lse[i]) - [j == target[i]]), in place
// of the logits: in fp32 in place of fp32 or, a row in the first half of its row, in bf16; in bf16 in place of bf16. A target
// outside [0, v) is in no column.
struct LogitDtypes {
  Dtype logits = Dtype::fp32, gradient = Dtype::fp32;
};
void cross_entropy_gradient_rows(const LogitRows& rows, const LogitDtypes& dtypes, void* x, const float* lse,
                                 const std::int64_t* target, const float* scale);

}  // namespace troika::cpu
