// Shared by the operators: which dimensions form a row, what shapes the other inputs must have, and the layouts of the outputs.
#pragma once

#include <string_view>

#include "oracles/ops/op.h"

namespace normfuzz::geometry {

// x, a of distance and cosine, q of qk_norm: the input that the rows are of.
const Tensor& first_input(const Case& c);
const char* first_input_name(const Case& c);

// Rows are the trailing dimensions from normalized_axis on (layer_norm, rms_norm and their backwards).
int first_normalized_axis(const Case& c);
Status validate_trailing(const Case& c);
RowView trailing_rows(const Case& c);

// A row is the channels at one position; layout "nchw" (the default; of rank 3: CHW) or "nhwc", rank 2 to 5.
Status validate_channels(const Case& c);
RowView channel_rows(const Case& c);
int channel_axis(const Case& c);

// Images [N, C, positions...] of layout "nchw" (the default), or [N, positions..., C] of "nhwc", rank 2 to 5: there is always a batch.
// A row of group_norm is a group of consecutive channels with all their positions; one of instance_norm (rank >= 3) is one channel of one
// sample.
int image_channel_axis(const Case& c);
Status validate_groups(const Case& c);
RowView group_rows(const Case& c);
Status validate_instances(const Case& c);
RowView instance_rows(const Case& c);

// A row of batch_norm is one channel of all samples. Inference normalizes by running_mean and running_var, both given; training by the
// batch and, given both, a momentum and of "sample" two numbers at least, returns the new ones too.
Status validate_batch(const Case& c);
Status validate_batch_gradient(const Case& c);
RowView batch_rows(const Case& c);
bool normalizes_by_running_statistics(const Case& c);

// Rows of heads: the last dimension of q [B, T, H, D] and k [B, T, Hk, D].
Status validate_heads(const Case& c);
RowView query_rows(const Case& c);
RowView key_rows(const Case& c);

// A row lies along one axis (parameter axis, default -1) of the first input; b of distance and cosine has the shape and dtype of a.
Status validate_axis(const Case& c);
RowView axis_rows(const Case& c);
int reduced_axis(const Case& c);

// y like the first input: its dtype and shape; its strides and offset where those address every element once, dense otherwise.
NamedTensors elements_like_input(const Case& c);
NamedTensors with_running_statistics(const Case& c);  // y and, where they are updated, running_mean_new and running_var_new, dense
NamedTensors with_residual(const Case& c);            // y and residual_new
NamedTensors heads(const Case& c);                    // q_out like q and k_out like k
// y: one element per row, dense; the first input's shape without `axis`.
NamedTensors one_per_row(const Case& c);
// dx like x; with a weight also dweight and, of an op with a bias, dbias: dense, of the weight's shape and dtype.
NamedTensors gradients(const Case& c);
// weight_new and, with a bias, bias_new: dense, of the weight's shape and dtype.
NamedTensors updated_parameters(const Case& c);

}  // namespace normfuzz::geometry
