"""The table of the public cases; make.py explains its fields. `wrong` is the reported bug, so that the case is known to show it."""
import math

from make import Entry, T
from wrong import cast, dweight_of_group, instead, kernel, outputs, read_as_dense, swapped, truncated

NAN, INF = math.nan, math.inf
E5, E6, E12 = 1e-5, 1e-6, 1e-12
TINY = 2.0**-126  # the smallest normal number of float32


def ramp(n, start=0.0, step=1.0, period=None):
    """start, start + step, .., with i modulo `period`."""
    return [start + step * (i % period if period else i) for i in range(n)]


def low_precision_overflow():
    yield Entry("rms-f16-row-over-256", "rms_norm", "f16", "onnxruntime#29034, pytorch#133085",
                "mean square in f16 is infinite where the RMS exceeds 256", kernel("f16"),
                x=[[300, -300, 299, 301]], epsilon=E6, weight_offset=0)
    yield Entry("gn-f16-square-over-256", "group_norm", "f16", "brainchop-cli#56 (values ours)",
                "squares in f16 before a f32 sum: infinite from 256 on", kernel(square="f16"),
                x=[[[256, -256], [300, -302]]], groups=2, epsilon=E5)
    yield Entry("cln-f16-deviation-over-256", "channel_layer_norm", "f16", "ConvNeXt#80 (values ours)",
                "(x - mean)^2 in f16, channels first", kernel("f16"),
                x=[[[[900, 20]], [[300, -20]], [[-300, 10]], [[-900, -11]]]], epsilon=E6, layout="nchw")
    yield Entry("gn-f32-above-65504", "group_norm", "f32", "keras#22586 (values ours)",
                "f32 input cast to f16 first: above 65504 it is infinite", cast("f16", "x"),
                x=[[[60000, 64000], [66000, 70000]]], groups=1, epsilon=1e-3)
    yield Entry("rms-f16-count-65792", "rms", "f16", "executorch#16727",
                "the count 65792 in f16 is infinite, the mean 0", outputs(y=0.0), x=T(ramp(65792, 1, 1, 8), shape=[65792]), epsilon=0)
    yield Entry("ln-f16-sum-over-65504", "layer_norm", "f16", "TensorRT#2564, pytorch/TensorRT#3272 (values ours)",
                "sum of a row in f16 is infinite although every element is small", kernel("f16"),
                x=[ramp(48, 1998, 1, 5)], epsilon=E5)
    yield Entry("qk-f16-head-over-256", "qk_norm", "f16", "openvino#36504, openvino#36888 (values ours)",
                "mean square of a head in f16 is infinite", outputs(q_out=0.0),
                q=[[[[400, -300, 200, 500], [1, 2, -1, 3]]]], k=[[[[1, -2, 3, 1]]]], q_weight=[1, 1, 2, 1],
                k_weight=[1, 0.5, 1, 1], epsilon=E6)
    yield Entry("add-rms-f16-over-256", "add_rms_norm", "f16", "onnxruntime#29034 (values ours)",
                "x + residual has an RMS over 256, each alone has not: mean square in f16 is infinite", outputs(y=0.0),
                x=[[200, -210, 190, 205]], residual=[[150, -140, 160, 155]], weight=[1, 1, 0.5, 1], epsilon=E6)
    yield Entry("cos-f16-product-of-squares", "cosine", "f16", "pytorch#69512 (values ours)",
                "product of the two squared lengths in f16 is infinite from 256 * 256 on", outputs(y=0.0),
                a=[[6, 6, 6, 6, 6, 6, 6, 6]], b=[[6, 5, 6, 7, 6, 5, 6, 7]], epsilon_mode="none")


def float32_range():
    yield Entry("l2-1e30", "lp_normalize", "f32", "onnxruntime#32574, openvino#35887",
                "squares leave the range of f32 both ways", outputs(y=[0.0, -0.0, INF, -INF]),
                x=[[1e30, -1e30], [1e-30, -1e-30]], p=2, epsilon=0, epsilon_mode="none")
    yield Entry("lp-norm-1e30", "lp_norm", "f32", "onnxruntime#32574",
                "squares leave the range of f32 both ways", outputs(y=[INF, 0.0]), x=[[1e30, -1e30], [1e-30, -1e-30]], p=2)
    yield Entry("rms-tiny-1e-30", "rms_norm", "f32", "own: square underflow, eps 0",
                "a robust kernel gives 1, -1; standard may lose range", outputs(y=[INF, -INF]),
                x=[[1e-30, -1e-30]], epsilon=0, weight_offset=0)


def cancellation():
    yield Entry("ln-large-mean-40000", "layer_norm", "f32", "onnxruntime#28463",
                "one-pass variance in f32 is -128", kernel(moments="one_pass"), x=[[40000, 40001, 40002, 40003]], epsilon=E5)
    yield Entry("ln-large-mean-80000", "layer_norm", "f32", "tvm#19592",
                "one-pass variance in f32", kernel(moments="one_pass"), x=[[80000, 80001, 80002, 80003]], epsilon=E5)
    yield Entry("ln-mean-1449", "layer_norm", "f32", "mlx#2238 (values ours)",
                "one-pass variance in f32: mean 1449, standard deviation 0.5", kernel(moments="one_pass"),
                x=[[1449.5, 1448.875, 1450.625, 1449.25, 1449.75, 1449.3, 1449.4, 1449.1, 1449.2, 1449.4, 1449.1, 1449.4, 1449.8, 1450.1,
                    1449.7, 1450.4]],
                epsilon=E5)
    yield Entry("ln-mean-plus-millis", "layer_norm", "f32", "burn#5607 (values ours)",
                "mean 1, steps of 0.001: one-pass variance in f32", kernel(moments="one_pass"), x=[ramp(8, 1, 0.001)], epsilon=E5)
    yield Entry("ln-clamped-variance", "layer_norm", "f32", "flax#1545, equinox#314, keras#18795 (values ours)",
                "a one-pass variance clamped at 0 is no NaN and still wrong", kernel(moments="clamped"), x=[[4097, 4099]], epsilon=E5)
    yield Entry("bn-one-pass-variance", "batch_norm", "f32", "flax#1491 (values ours)",
                "one-pass variance of a channel of large images", kernel(moments="one_pass"),
                x=[[[5000, 5001, 5003], [1, 2, 3]], [[5002, 5000, 5001], [3, 2, 1]]], epsilon=E5, training=1)
    yield Entry("bn-bf16-mean-5-std-0.1", "batch_norm", "bf16", "tt-metal#45968 (values ours)",
                "one-pass variance in bf16, mean over deviation 50", kernel("bf16", moments="one_pass"),
                x=[[[4.90625, 5.09375], [-5, -5.125]], [[5, 5.125], [-4.90625, -5.09375]]], epsilon=E5, training=1)
    yield Entry("gn-one-pass-variance", "group_norm", "f32", "equinox#314 (values ours)",
                "one-pass variance of a group in f32, clamped at 0", kernel(moments="clamped"),
                x=[[[4097], [4099], [1], [4]]], groups=2, epsilon=E5)
    yield Entry("in-one-pass-variance", "instance_norm", "f32", "keras#18795 (values ours)",
                "one-pass variance of a channel, clamped at 0", kernel(moments="clamped"),
                x=[[[10000, 10001, 9999, 10000], [1, 2, 3, 4]]], epsilon=E5)
    yield Entry("bn-constant-1e10", "batch_norm", "f32", "pytorch#5410",
                "channels of one large value: a rounded mean gives 1 for 0", kernel(), x=[[[1e10, 3]]] * 16,
                layout="nhwc", epsilon=E5, training=1)
    yield Entry("ln-constant-row-beta", "layer_norm", "f32", "pytorch#108072",
                "a constant row is its bias; a mean summed in bf16 is not the constant", kernel("bf16"), x=[[0.1] * 14],
                weight=[1] * 14, bias=[1] * 14, epsilon=E6)
    yield Entry("dist-close-points", "distance", "f32", "pytorch#42479",
                "|a|^2 + |b|^2 - 2 a b cancels: 0 for 109", outputs(y=0.0), a=[[512695]], b=[[512804]], p=2)


def epsilon():
    yield Entry("ln-f16-zero-row-tiny-eps", "layer_norm", "f16", "pytorch#41527, DeepSpeed#581",
                "epsilon 1e-12 is 0 in f16: 0/0", outputs(y=NAN), x=[[0] * 10], epsilon=E12)
    yield Entry("l2-f16-zero-row-tiny-eps", "lp_normalize", "f16", "pytorch#32137",
                "epsilon 1e-12 is 0 in f16: 0/0", outputs(y=[NAN, NAN, 0.6, 0.8]),
                x=[[0, 0], [3, 4]], p=2, epsilon=E12, epsilon_mode="max_norm")
    yield Entry("cos-f16-zero-tiny-eps", "cosine", "f16", "pytorch#41527, pytorch#32137 (values ours)",
                "epsilon 1e-8 is 0 in f16: 0/0", outputs(y=[NAN, 1.0]), a=[[0, 0], [2, 0]], b=[[1, 0], [1, 0]], epsilon=1e-8,
                epsilon_mode="max_norm")
    yield Entry("cos-zero-eps-product", "cosine", "f32", "burn#5584",
                "the product of two lengths raised to 2^-126 is 0: 0/0", outputs(y=NAN), a=[[0, 0]], b=[[0, 0]], epsilon=TINY,
                epsilon_mode="max_norm")
    yield Entry("l2-eps-inside", "lp_normalize", "f32", "axlearn#21",
                "epsilon left out: 1 for 0.287", instead(epsilon=0), x=[[3e-5]], p=2, epsilon=1e-8, epsilon_mode="add_inside")
    shared = dict(x=[[0.3, -0.4]], p=2, epsilon=0.75)
    yield Entry("l2-eps-max-norm", "lp_normalize", "f32", "llama.cpp#20350 (values ours)",
                "max(|x|, epsilon), not sqrt(max(|x|^2, epsilon))", instead(epsilon_mode="max_square"), epsilon_mode="max_norm", **shared)
    yield Entry("l2-eps-max-square", "lp_normalize", "f32", "openvino#36778 (values ours)",
                "sqrt(max(|x|^2, epsilon)), not sqrt(|x|^2 + epsilon)", instead(epsilon_mode="add_inside"),
                epsilon_mode="max_square", **shared)
    yield Entry("l2-eps-add-outside", "lp_normalize", "f32", "optax#1703 (values ours)",
                "|x| + epsilon, not max(|x|, epsilon)", instead(epsilon_mode="max_norm"), epsilon_mode="add_outside", **shared)
    yield Entry("rms-eps-floor", "rms_norm", "f32", "nntrainer#4318 (values ours)",
                "epsilon beside a mean square of 1e-4", instead(epsilon=0), x=[[0.01, -0.01]], epsilon=E6, weight_offset=0)
    yield Entry("rms-eps-outside", "rms_norm", "f32", "TransformerEngine#364 (values ours)",
                "epsilon inside the root, not added to it", kernel(scale=lambda m, v, e: m.divide(1.0, m.add(m.root(v), e))),
                x=[[0.25, -0.5, 0.125, 0.25]], epsilon=0.25)
    yield Entry("rms-eps-beside-count", "rms_norm", "f32", "LeetCUDA#309 (values ours)",
                "epsilon added to the number of elements",
                kernel(divisor=lambda n, e: n + e, scale=lambda m, v, e: m.divide(1.0, m.root(v))),
                x=[[1, -2, 3, 4]], epsilon=0.5)
    yield Entry("ln-eps-dropped", "layer_norm", "f32", "tensorflow#58863 (values ours)",
                "epsilon dropped", instead(epsilon=0), x=[[0.01, 0.02, 0.03, 0.04]], epsilon=1e-3)
    yield Entry("ln-eps-always-0", "layer_norm", "f32", "TIM-VX#589",
                "epsilon arrives as 0: a constant row is 0/0", outputs(y=[-1, 1, -1, 1, -1, 1] + [NAN] * 6),
                x=[[-2, 2, -2, 2, -2, 2], [2, 2, 2, 2, 2, 2]], epsilon=E5)
    yield Entry("rms-bf16-eps-of-bf16", "rms_norm", "bf16", "pytorch#189581 (cause inferred)",
                "the machine epsilon of bf16, 2^-7, for that of f32, 2^-23", instead(epsilon=2.0**-7),
                x=[[0.058, -0.06, 0.055, 0.059]], epsilon=2.0**-23)
    yield Entry("ln-eps-0-constant-row", "layer_norm", "f32", "tensorflow#61287 (values ours)",
                "epsilon 0: a constant row is 0/0, read as 0 (totalized)", outputs(y=[NAN, NAN, NAN, -1.2247449, 0.0, 1.2247449]),
                x=[[0, 0, 0], [1, 2, 3]], epsilon=0)


def zeros_and_norms():
    yield Entry("l2-zero-row", "lp_normalize", "f32", "onnxruntime#32574, openvino#35887, onnx#7618",
                "a zero row is zero", outputs(y=[NAN, NAN, 0.6, 0.8]), x=[[0, 0], [3, 4]], p=2, epsilon=0, epsilon_mode="none")
    yield Entry("l1-signed", "lp_normalize", "f32", "onnx#8427",
                "sum of x for the sum of |x|", outputs(y=[0.0, 0.0, 2.0, -1.0]), x=[[1, -1], [2, -1]], p=1, epsilon=0, epsilon_mode="none")
    yield Entry("l2-first-axis", "lp_normalize", "f32", "tensorflow#118181, LiteRT#9212",
                "a column normalized along its axis of length 1", outputs(y=1.0), x=[[7], [11], [13]], p=2, epsilon=0,
                epsilon_mode="none", axis=0)
    yield Entry("l-inf-ties", "lp_norm", "f32", "pytorch#41779 (values ours)",
                "p = infinity with ties, taken for a large p: 3 * 2^(1/8)", outputs(y=[3 * 2**0.125, 0.0]), x=[[3, -3, 1], [0, 0, 0]],
                p="inf")
    yield Entry("cos-arange-84", "cosine", "f32", "pytorch#18057, pytorch#78064",
                "a vector beside itself: above 1", outputs(y=1 + 2.0**-23), a=[ramp(84)], b=[ramp(84)], epsilon_mode="none")
    yield Entry("dist-eps-added", "distance", "f32", "pytorch#61538, pytorch#30263 (values ours)",
                "1e-6 added to every difference", outputs(y=[2e-6, 0.0]),
                a=[[1, 2, 3, 4], [0, 0, 0, 0]], b=[[1, 2, 3, 4], [1e-6, 1e-6, 1e-6, 1e-6]], p=2)
    yield Entry("rms-without-count", "rms", "f32", "Futility#92 (values ours)",
                "the root of the sum of squares for that of their mean", outputs(y=5.0), x=[[3, 4]], epsilon=0)
    yield Entry("rmsb-zero-row", "rms_norm_backward", "f32", "keras#23075, pytorch#184575, jax#3058 (values ours)",
                "gradient of a zero row: dy / sqrt(epsilon), no NaN", outputs(dx=[NAN] * 3 + [0.0] * 3),
                x=[[0, 0, 0], [1, 1, 1]], dy=[[1, -2, 0.5], [1, 1, 1]], weight=[1, 1, 1], epsilon=2.0**-40)


def degenerate_shapes():
    yield Entry("ln-one-feature", "layer_norm", "f32", "onnxruntime#25896, tensorflow#118181 (values)",
                "a row of one feature is its bias", outputs(y=2.5), x=[[7], [11], [13]], weight=[2], bias=[0.5], epsilon=E5)
    yield Entry("ln-f16-one-feature", "layer_norm", "f16", "onnxruntime#25896 (values ours)",
                "a row of one feature is its bias: x s - mean s by FMA leaves the rounding error of the product",
                outputs(y=[0.992, 9.8e-4]), x=[[60000], [100]], epsilon=E5)
    yield Entry("in-one-position", "instance_norm", "f32", "pytorch#45687 (values ours)",
                "one position a channel: the bias; the sample variance is 0/0", kernel(divisor=lambda n, e: n - 1.0),
                x=[[[[5]], [[-3]]], [[[2]], [[9]]]], bias=[1, 2], epsilon=E5)
    yield Entry("bn-one-value", "batch_norm", "f32", "tensorflow#34062 (values ours)",
                "one value a channel in training: n / (n - 1) makes the running variance NaN", outputs(running_var_new=NAN),
                x=[[[[3, -2, 7]]]], running_mean=[0, 0, 1], running_var=[1, 2, 4], layout="nhwc", epsilon=1e-3, training=1,
                momentum=0.25, variance="population")
    yield Entry("ln-width-5", "layer_norm", "f32", "openvino#35912 (values ours)",
                "rows shorter than a vector of 8: its padding enters the variance", kernel(lanes=8),
                x=[[5, 6, 7, 8, 9], [-3, 1, 2, 2, 8], [1, 1, 2, 3, 5]], epsilon=E5)


def widths():
    yield Entry("ln-three-features", "layer_norm", "f32", "Liger#518, triton#9838",
                "padded lanes enter the variance; rows of mean 0 hide it", kernel(lanes=4), x=[[1, 2, 3]], epsilon=E5)
    yield Entry("ln-f16-width-48", "layer_norm", "f16", "unsloth#1867 (values ours)",
                "16 padded lanes of a block of 64 enter the variance, mean 10", kernel(lanes=64), x=[ramp(48, 7, 1, 7)], epsilon=E5)
    yield Entry("ln-f16-width-257", "layer_norm", "f16", "mlxcel#830, mlxcel#1033 (values ours)",
                "axis 257..512 in half: a last element that the statistics do not see", kernel(seen=256),
                x=[ramp(256, -3, 1, 7) + [60]], epsilon=E5)
    yield Entry("rms-bf16-width-2048", "rms_norm", "bf16", "vllm#44692",
                "a hidden size other than 4096: NaN at 2048", outputs(y=NAN), x=T(ramp(2048, -2, 1, 5), shape=[1, 2048]), epsilon=E6)
    yield Entry("rms-f16-width-3584", "rms_norm", "f16", "flashinfer#634 (values ours)",
                "3584 wide from an address that is no multiple of 16 bytes", None,
                x=T(ramp(3584, -3, 1, 8), shape=[1, 3584], misalign=8), epsilon=E5)
    yield Entry("lnb-tall-narrow", "layer_norm_backward", "f32", "attorch#17, attorch#18 (values ours)",
                "an odd number of rows of two: the last one missing in dweight and dbias",
                lambda e, exact: {k: v for k, v in instead(dy=[[1, 2], [3, -1], [2, 2], [-1, 4], [0, 0]])(e, exact).items() if k != "dx"},
                x=[[1, 2], [4, 2], [3, 5], [2, 1], [7, 1]], dy=[[1, 2], [3, -1], [2, 2], [-1, 4], [5, 3]], weight=[1, 2], epsilon=1)


def backward():
    yield Entry("rmsb-bf16-dweight-300-rows", "rms_norm_backward", "bf16", "Liger#950 (values ours)",
                "dweight summed in bf16 stops at 256", outputs(dweight=256.0), x=[[1]] * 300, dy=[[1]] * 300, weight=[1], epsilon=0)
    yield Entry("lnb-bf16-dbias-257-rows", "layer_norm_backward", "bf16", "Liger#950 (values ours)",
                "dbias summed in bf16 though it is f32: stops at 256", outputs(dbias=256.0),
                x=[[0, 1]] * 257, dy=[[1, 1]] * 257, weight=T([1, 1], "f32"), epsilon=E5)
    yield Entry("gnb-rank-4", "group_norm_backward", "f32", "Liger#1375 (values ours)",
                "W taken for H W: the sums see one row of an image",
                lambda e, exact: {k: v for k, v in instead(dy=[[[[1, 2], [0, 0]], [[3, 1], [0, 0]]]])(e, exact).items() if k != "dx"},
                x=[[[[1, 3], [2, 5]], [[4, 1], [2, 8]]]], dy=[[[[1, 2], [3, 4]], [[3, 1], [-2, 2]]]], weight=[1, 2], groups=1, epsilon=E5)
    yield Entry("rmsb-rank-4", "rms_norm_backward", "f32", "FlagGems#5392 (values ours)",
                "rank 4, of which the last dimension is the row", None,
                x=[[[[1, 2], [3, -1]], [[2, 2], [5, 1]]]], dy=[[[[1, 0], [2, 1]], [[-1, 3], [1, 1]]]], weight=[0.5, 2], epsilon=E6)
    yield Entry("gnb-batch-129", "group_norm_backward", "f32", "pytorch#178872 (values ours)",
                "dweight and dbias of a batch of more than 128: the rest missing", outputs(dweight=128.0, dbias=128.0),
                x=[[[1, -1], [-1, 1]]] * 129, dy=[[[1, 0], [0, 1]]] * 129, weight=[1, 1], groups=2, epsilon=0)
    yield Entry("gnb-group-of-channel", "group_norm_backward", "f32", "tt-metal#56202 (values ours)",
                "channel c with the statistics of group c % G", dweight_of_group(lambda c, groups: c % groups),
                x=[[[1, 2], [3, 5], [100, 140], [90, 20]]], dy=[[[1, 2], [1, -1], [2, 1], [3, 1]]], weight=[1, 2, 1, 1], groups=2,
                epsilon=E5)
    yield Entry("lnb-swapped-parameters", "layer_norm_backward", "f32", "oneflow#6149 (values ours)",
                "dweight and dbias swapped", swapped("dweight", "dbias"),
                x=[[1, 2, 4], [3, 0, 1]], dy=[[1, 2, -1], [0.5, 1, 3]], weight=[1, 2, 0.5], epsilon=E5)
    yield Entry("rmsb-no-gradient", "rms_norm_backward", "f32", "candle#2168, unsloth#4550 (values ours)",
                "gradients silently absent", outputs(dx=0.0, dweight=0.0), x=[[1, 2, 4], [3, 0, 1]], dy=[[1, 2, -1], [0.5, 1, 3]],
                weight=[1, 2, 0.5], epsilon=E6)
    yield Entry("lnb-zero-weight", "layer_norm_backward", "f32", "Fast-LLM#220 (values ours)",
                "xhat recovered by dividing by the weight: 0/0 where that is 0",
                lambda e, exact: {"dweight": [NAN] + exact["dweight"][1:]}, x=[[1, 2, 4], [3, 0, 1]], dy=[[1, 2, -1], [0.5, 1, 3]],
                weight=[0, 2, 0.5], epsilon=E5)
    yield Entry("bnb-channels-last", "batch_norm_backward", "f32", "pytorch#175189 (values ours)",
                "x with the channels innermost, dy not: their elements paired by address",
                lambda e, exact: {"dweight": instead(x=[[[[1, 3], [2, -2]], [[5, 1], [2, 8]]]])(e, exact)["dweight"]},
                x=T([[[[1, 2], [5, 2]], [[3, -2], [1, 8]]]], strides=[8, 1, 4, 2]), dy=[[[[1, 0], [2, 1]], [[-1, 3], [1, 1]]]],
                weight=[1, 2],
                epsilon=E5)
    yield Entry("inb-nhwc", "instance_norm_backward", "f32", "pytorch#140913 (values ours)",
                "dweight with the channels last: taken for nchw", instead("dweight", layout="nchw"),
                x=[[[[1, 30], [2, 50]], [[4, 10], [2, 80]]]], dy=[[[[1, 2], [3, 4]], [[3, 1], [-2, 2]]]], weight=[1, 2],
                layout="nhwc", epsilon=E5)
    yield Entry("clnb-no-gradient", "channel_layer_norm_backward", "f32", "candle#3011 (values ours)",
                "dweight and dbias silently absent", outputs(dweight=0.0, dbias=0.0), x=[[[[1, 2]], [[4, 3]], [[0, 1]]]],
                dy=[[[[1, -1]], [[2, 0.5]], [[3, 1]]]], weight=[1, 2, 3], epsilon=E6)
    yield Entry("ln-sgd-swapped", "layer_norm_sgd", "f32", "oneflow#6149 (values ours)",
                "a fused update with dweight and dbias swapped",
                lambda e, exact: {"weight_new": [w - b + n for w, b, n in zip([1, 2, 0.5], [0, 1, 0.5], exact["bias_new"])]},
                x=[[1, 2, 4], [3, 0, 1]],
                dy=[[1, 2, -1], [0.5, 1, 3]], weight=[1, 2, 0.5], bias=[0, 1, 0.5], learning_rate=0.25, epsilon=E5)
    yield Entry("rms-sgd-no-gradient", "rms_norm_sgd", "f32", "candle#2168 (values ours)",
                "a step without a gradient leaves the weight as it was", outputs(weight_new=[1.0, 2.0, 0.5]), x=[[1, 2, 4], [3, 0, 1]],
                dy=[[1, 2, -1], [0.5, 1, 3]], weight=[1, 2, 0.5], learning_rate=0.25, epsilon=E6)
    yield Entry("cln-sgd-bf16-300-positions", "channel_layer_norm_sgd", "bf16", "Liger#950 (values ours)",
                "dbias summed in bf16 stops at 256", outputs(bias_new=[-256.0, -256.0]), x=[[[[0] * 300], [[1] * 300]]],
                dy=[[[[1] * 300], [[1] * 300]]], weight=T([1, 1], "f32"), bias=T([0, 0], "f32"), learning_rate=1, epsilon=E5)


def layouts():
    yield Entry("ln-offset", "layer_norm", "f32", "pytorch#131750", "rows 1 and 2 of three: the offset of the view ignored", None,
                x=T([[1, 5, 2, 4], [3, 1, 1, -3]], offset=4), weight=[1, 1, 1, 1], bias=[0, 0, 0, 0], epsilon=E5)
    yield Entry("bn-channels-last-offset", "batch_norm", "f32", "pytorch#174345 (values ours)",
                "inference on a view with the channels innermost and an offset", None,
                x=T([[[[1, 2], [5, 2]], [[3, -2], [1, 8]]]], strides=[8, 1, 4, 2], offset=2), running_mean=[1, 2],
                running_var=[1, 4], epsilon=E5,
                training=0)
    yield Entry("bn-permuted", "batch_norm", "f32", "pytorch#63224", "a permuted image read in the order of its addresses",
                instead(x=[[[[0], [1], [2]], [[3], [4], [5]]]]), x=T([[[[0], [2], [4]], [[1], [3], [5]]]], strides=[6, 1, 2, 1]),
                running_mean=[0, 0], running_var=[1, 1], epsilon=E5, training=0)
    yield Entry("ln-permuted", "layer_norm", "f32", "DirectML#588 (values ours)", "a transposed matrix read in the order of its addresses",
                instead(x=[[[1, -3, 5], [4, 2, 2]]]), x=T([[[1, 5, 2], [-3, 4, 2]]], strides=[6, 1, 2]), weight=[1, 2, 1], bias=[0, 1, 0],
                epsilon=E5)
    yield Entry("rms-last-stride", "rms_norm", "f32", "LightLLM#1467 (values ours)",
                "the last pass reads a row as if its elements were adjacent",
                read_as_dense(1), x=T([[1, 5, 2], [-3, 4, 7]], strides=[1, 2]), epsilon=E6)
    yield Entry("ln-padded-rows", "layer_norm", "f32", "TransformerEngine#1017, kernl#193 (values ours)",
                "rows further apart than they are wide: the padding read as row 1", None, x=T([[1, 3], [7, 2]], strides=[5, 1]), epsilon=E5)
    yield Entry("rmsb-expanded-dy", "rms_norm_backward", "f32", "unsloth#10617 (values ours)",
                "dy expanded over the rows: a stride of 0", None,
                x=[[1, 2, 4], [3, 0, 1]], dy=T([[1, 2, -1], [1, 2, -1]], strides=[0, 1]), weight=[1, 2, 0.5], epsilon=E6)
    yield Entry("lnb-strided-dy", "layer_norm_backward", "f32", "quack#88 (values ours)", "dy with the rows innermost", None,
                x=[[1, 2, 4], [3, 0, 1]], dy=T([[1, 2, -1], [0.5, 1, 3]], strides=[1, 2]), weight=[1, 2, 0.5], epsilon=E5)
    yield Entry("qk-packed-qkv", "qk_norm", "f32", "sgl-kernel-xpu#467 (values ours)", "q and k as slices of packed qkv rows", None,
                q=T([[[[1, 2], [3, -1]], [[0, 4], [2, 2]]]], strides=[16, 8, 2, 1]),
                k=T([[[[5, 1]], [[-2, 3]]]], strides=[16, 8, 2, 1], offset=4),
                q_weight=[1, 2], k_weight=[0.5, 1], epsilon=E6)
    yield Entry("rms-size-1-stride", "rms_norm", "f32", "vllm#26192 (values ours)", "a dimension of size 1 has any stride", None,
                x=T([[1, 2, -2, 4]], strides=[3, 1]), epsilon=E6)
    yield Entry("cln-f16-nhwc-memory", "channel_layer_norm", "f16", "openvino#36649 (values ours)",
                "nchw with the channels innermost in memory: flattened as if they were outermost",
                instead(x=[[[[1, 9, 5]], [[3, 2, 8]]]]), x=T([[[[1, 3, 2]], [[9, 5, 8]]]], strides=[6, 1, 6, 2]), layout="nchw", epsilon=E5)
    yield Entry("rms-f16-misaligned", "rms_norm", "f16", "TransformerEngine#490, onnxruntime#15054 (values ours)",
                "x and weight two bytes off the alignment of vector loads", None,
                x=T([ramp(16, -3, 1, 9)], misalign=2), weight=T(ramp(16, 1, 0.25, 5), misalign=2), epsilon=E6)


def rounding():
    yield Entry("rms-bf16-round-before-weight", "rms_norm", "bf16",
                "vllm#42379, vllm-xpu-kernels#536, TransformerEngine#1132 (values ours)",
                "xhat rounded to bf16 before the weight: projects disagree", kernel(before_weight="bf16"),
                x=[[0.67578125, -1.125, 1.203125, -1.21875]], weight=[1.390625, 0.94921875, 1.109375, 0.953125], epsilon=E6)
    yield Entry("rms-bf16-one-plus-weight", "rms_norm", "bf16", "vllm#29810", "1 + weight in bf16, weights in 8..32",
                kernel(offset_sum="bf16"),
                x=[[7, 1]], weight=[15.8125, 15.8125], epsilon=0, weight_offset=1)
    yield Entry("rms-bf16-one-plus-small-weight", "rms_norm", "bf16", "vllm#53203 (values ours)", "1 + weight in bf16, weights below 0.1",
                kernel(offset_sum="bf16"), x=[[7, 1, -4, 2]], weight=[0.05078125, 0.011474609375, -0.0107421875, 0.0189208984375],
                epsilon=E6,
                weight_offset=1)
    yield Entry("add-rms-bf16-residual", "add_rms_norm", "bf16", "vllm#52104, aiter#2586 (values ours)",
                "x + residual rounded to bf16 before the variance: implementations disagree",
                instead("y", x=[[1.0, -2.0, 3.015625, 4.0]], residual=[[0, 0, 0, 0]]),
                x=[[1.0, -2.0, 3.0, 4.0]], residual=[[0.00390625, 0.0078125, 0.01, 0.015625]], weight=[1, 1, 1, 1], epsilon=E6)
    yield Entry("add-rms-bf16-truncated", "add_rms_norm", "bf16", "aiter#5151 (values ours)", "bf16 cut off instead of rounded", truncated,
                x=[[1.0, -2.0, 3.0, 4.0]], residual=[[0.0068359375, -0.013671875, 0.013671875, 0.02734375]], weight=[1, 1, 1, 1],
                epsilon=E6)
    yield Entry("rms-bf16-f32-weight", "rms_norm", "bf16", "vllm#48324 (values ours)", "a f32 weight rounded to the bf16 of x",
                cast("bf16", "weight"),
                x=[[1, 2, -3, 1.5]], weight=T([1.0039, 0.98926, 1.0117, 2.0078], "f32"), epsilon=E6)
    yield Entry("ln-approximate-rsqrt", "layer_norm", "f32", "ncnn#6903, tt-metal#51420 (values ours)",
                "the bare rsqrt of the instruction set, 2.5e-4 off", kernel(rsqrt_error=2.5e-4), x=[[1, 4, -2, 7, 0, 3, 3, 5]], epsilon=E5)
    yield Entry("ln-root-forgotten", "layer_norm", "f32", "tt-mlir#8561 (values ours)", "divided by the variance, not by its root",
                kernel(scale=lambda m, v, e: m.divide(1.0, m.add(v, e))), x=[[2, 6, -2, 8]], epsilon=E5)
    yield Entry("ln-power-for-root", "layer_norm", "f32", "TPlinker-joint-extraction#37 (values ours)", "** 2 for ** 0.5",
                kernel(scale=lambda m, v, e: m.divide(1.0, m.multiply(m.add(v, e), m.add(v, e)))), x=[[2, 3, 1, 8]], epsilon=E5)


def invariance():
    yield Entry("rms-bf16-row-alone", "rms_norm", "bf16", "vllm#48271, vllm#48391, vllm#57280 (values ours)",
                "the order of a row's sum depends on the number of rows", None,
                law=("bit.row_independence", {"mode": "alone", "seed": "1"}),
                x=[ramp(16, -3, 0.375, 11), ramp(16, 2, -0.25, 13), ramp(16, 0.5, 0.125, 5)], weight=ramp(16, 0.5, 0.125, 9), epsilon=E6)
    yield Entry("ln-twice", "layer_norm", "f32", "Paddle#56100, flash-attention#781, llama.cpp#3057 (values ours)",
                "the same call gives other bits: a missing barrier", None, law=("bit.determinism", {}),
                x=[ramp(32, -3, 0.37, 11), ramp(32, 2, -0.21, 13)], epsilon=E5)


def parameters():
    yield Entry("ln-bias-alone", "layer_norm", "f32", "pytorch#69208, MindAct#2132 (values ours)",
                "a bias without a weight, taken for the weight",
                instead(weight=[2, -1, 0.5], bias=None), x=[[1, 2, 4], [3, 0, 1]], weight=None, bias=[2, -1, 0.5], epsilon=E5)
    yield Entry("ln-weight-alone", "layer_norm", "f32", "onnxruntime#28424 (values ours)", "a weight without a bias, taken for the bias",
                instead(weight=None, bias=[2, -1, 0.5]), x=[[1, 2, 4], [3, 0, 1]], weight=[2, -1, 0.5], bias=None, epsilon=E5)
    yield Entry("ln-axis-minus-1", "layer_norm", "f32", "onnxruntime#26407 (values ours)",
                "axis -1 not resolved: all dimensions normalized",
                instead(normalized_axis=0), x=[[[1, 2, 4], [3, 0, 1]], [[5, 5, 7], [-1, 2, 0]]], normalized_axis=-1, epsilon=E5)
    yield Entry("rms-scale-of-two-dimensions", "rms_norm", "f32", "hip-ep#937, onnxruntime#28971, onnxruntime#25855 (values ours)",
                "rows of [2, 3] with a scale of [2, 3]: the first row's scale for both",
                instead(weight=[[1, 2, 3], [1, 2, 3]]), x=[[[1, 2, 4], [3, 0, 1]]], weight=[[1, 2, 3], [10, 20, 30]],
                normalized_axis=-2, epsilon=E6)
    running = dict(x=[[[1, 2, 3, 4]]], running_mean=[0], running_var=[1], epsilon=E5, training=1, momentum=0.1)
    yield Entry("bn-running-var-sample", "batch_norm", "f32", "tensorflow#55545, mlx#3817, FastNN#11, tt-metal#55438",
                "the population variance for the sample's in the running variance", instead("running_var_new", variance="population"),
                variance="sample", **running)
    yield Entry("bn-running-var-population", "batch_norm", "f32", "tensorflow#55545, mlx#3817",
                "the sample variance for the population's in the running variance", instead("running_var_new", variance="sample"),
                variance="population", **running)
    yield Entry("bn-momentum-of-new", "batch_norm", "f32", "pytorch#18525, pytorch#40074 (values ours)",
                "momentum taken for the weight of the old statistics", instead("running_mean_new", momentum=0.75), x=[[[1, 2, 3, 4]]],
                running_mean=[-1], running_var=[1], epsilon=E5, training=1, momentum=0.25, variance="population")
    yield Entry("bn-training-by-running", "batch_norm", "f32", "onnxruntime#29790 (values ours)",
                "y in training by the running statistics", instead("y", training=0), x=[[[1, 2, 3, 4]]], running_mean=[2], running_var=[4],
                epsilon=E5, training=1, momentum=0.5, variance="population")
    yield Entry("bn-subnormal-variance", "batch_norm", "f32", "llvm-project#192432, ncnn#5272 (values ours)",
                "rsqrt of a subnormal variance: infinite", outputs(y=[INF, -INF, INF]), x=[[[3, 1, 2.5]]], running_mean=[2],
                running_var=[2.0**-130],
                epsilon=0, training=0)
    yield Entry("rms-subnormal-output", "rms_norm", "f32", "anvl#540 (values ours)", "subnormal results flushed to 0", outputs(y=0.0),
                x=[[1, -1, 1, 1]], weight=[2.0**-130, 2.0**-140, 2.0**-128, 2.0**-149], epsilon=0)
    yield Entry("ln-f16-infinite-row", "layer_norm", "f16", "pytorch#173885 (values ours)",
                "a row with an infinity is NaN, its neighbour is not", outputs(y=[0.0, NAN, 0.0, -1.2247, 0.0, 1.2247]),
                x=[[1, INF, 2], [1, 2, 3]], epsilon=E5)


def graphs():
    same_matcher = "onnxruntime#31144, onnxruntime#25855 (same matcher; values ours)"
    graph = dict(weight=[1, 1], bias=[0, 0], epsilon=0)
    yield Entry("graph-exponent-4", "layer_norm_graph", "f32", same_matcher, "a mean of 4th powers taken for the variance",
                instead(pattern="exact"), x=[[0, 4]], pattern="exponent_4", **graph)
    yield Entry("graph-swapped-subtraction", "layer_norm_graph", "f32", same_matcher, "mean - x taken for x - mean",
                instead(pattern="exact"),
                x=[[0, 4]], pattern="swapped_sub", **graph)
    yield Entry("graph-swapped-division", "layer_norm_graph", "f32", same_matcher, "sqrt / d taken for d / sqrt", instead(pattern="exact"),
                x=[[0, 4, 5]], pattern="swapped_div", weight=[1, 1, 1], bias=[0, 0, 0], epsilon=0)
    yield Entry("graph-eps-of-the-graph", "layer_norm_graph", "f32", "onnx-mlir#284 (values ours)",
                "the fused node takes a default epsilon",
                instead(epsilon=E5), x=[[1, 2, 4]], pattern="exact", weight=[1, 2, 1], bias=[0, 1, 0], epsilon=0.5)


FAMILIES = (low_precision_overflow, float32_range, cancellation, epsilon, zeros_and_norms, degenerate_shapes, widths, backward, layouts,
            rounding, invariance, parameters, graphs)
CASES = [entry for family in FAMILIES for entry in family()]
